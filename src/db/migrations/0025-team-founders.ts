import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** Who founded a team; null for an account that an administrator created, or a person's own. */
export const teamFounders: Migration = {
  version: 25,
  async up(db) {
    await db.schema.alterTable("accounts").addColumn("founded_by", "text").execute();
    await sql`create index accounts_of_founder on accounts (founded_by) where founded_by is not null`.execute(db);
  },
};
