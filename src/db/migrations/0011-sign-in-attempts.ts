import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** Attempts to sign in are counted in the database, so that all processes share one count. */
export const signInAttempts: Migration = {
  version: 11,
  async up(db, engine) {
    await db.schema
      .createTable("sign_in_attempts")
      .addColumn("key", "text", (column) => column.primaryKey().notNull())
      .addColumn("attempts", "bigint", (column) => column.notNull())
      .addColumn("ends_at", "bigint", (column) => column.notNull())
      .modifyEnd(engine === "sqlite" ? sql`without rowid` : sql``)
      .execute();
    await db.schema.createIndex("sign_in_attempts_by_expiry").on("sign_in_attempts").column("ends_at").execute();
  },
};
