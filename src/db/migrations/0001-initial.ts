import postgres from "./0001-initial.postgres.sql" with { type: "text" };
import tables from "./0001-initial.sql" with { type: "text" };
import sqlite from "./0001-initial.sqlite.sql" with { type: "text" };
import type { Migration } from "./migration.ts";

/** The first schema. It may change until version 1.0.0 is released. */
export const initial: Migration = {
  version: 1,
  sql: {
    sqlite: `${tables}\n${sqlite}`,
    postgres: `${tables.replaceAll(" without rowid", "").replaceAll(/\bblob\b/g, "bytea")}\n${postgres}`,
  },
};
