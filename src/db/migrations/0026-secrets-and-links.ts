import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * Who made an invitation, because it ends with their right to make it; which secrets key encrypted an alert channel; links
 * that prove an e-mail; and the ended keys that are deleted after a while.
 */
export const secretsAndLinks: Migration = {
  version: 26,
  async up(db) {
    await db.schema.alterTable("invitations").addColumn("created_by", "text").execute();
    await db.schema
      .alterTable("alert_channels")
      .addColumn("secrets_id", "text", (column) => column.notNull().defaultTo(""))
      .execute();
    await db.schema
      .createTable("email_verifications")
      .addColumn("user_id", "text", (column) => column.primaryKey().notNull().references("users.id"))
      .addColumn("token_hash", "text", (column) => column.notNull())
      .addColumn("email", "text", (column) => column.notNull())
      .addColumn("expires_at", "bigint", (column) => column.notNull())
      .execute();
    await sql`create index keys_revoked on keys (revoked_at) where revoked_at is not null`.execute(db);
    await sql`create index keys_expiring on keys (expires_at) where expires_at is not null`.execute(db);
  },
};
