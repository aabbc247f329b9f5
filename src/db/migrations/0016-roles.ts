import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** The first administrator becomes the owner, and the others stay administrators. Sessions tell when they were last used. */
export const roles: Migration = {
  version: 16,
  async up(db) {
    await sql`update users set role = 'owner'
      where id = (select id from users where role = 'admin' order by created_at, id limit 1)`.execute(db);
    await db.schema.alterTable("sessions").addColumn("last_used_at", "bigint").execute();
  },
};
