import type { Migration } from "./migration.ts";

/**
 * An account may have people besides its holder, who need no row. A session acts in one account, and a person's next one
 * begins in the account that was chosen last; null is the person's own account.
 */
export const teams: Migration = {
  version: 21,
  async up(db) {
    await db.schema
      .createTable("memberships")
      .addColumn("account_id", "text", (column) => column.notNull().references("accounts.id"))
      .addColumn("user_id", "text", (column) => column.notNull().references("users.id"))
      .addColumn("role", "text", (column) => column.notNull())
      .addColumn("joined_at", "bigint", (column) => column.notNull())
      .addPrimaryKeyConstraint("memberships_key", ["account_id", "user_id"] as never)
      .execute();
    await db.schema.createIndex("memberships_of_user").on("memberships").column("user_id").execute();
    await db.schema
      .createTable("team_invitations")
      .addColumn("id", "text", (column) => column.primaryKey().notNull())
      .addColumn("token_hash", "text", (column) => column.notNull().unique())
      .addColumn("account_id", "text", (column) => column.notNull().references("accounts.id"))
      .addColumn("role", "text", (column) => column.notNull())
      .addColumn("email", "text")
      .addColumn("created_by", "text", (column) => column.notNull())
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("expires_at", "bigint", (column) => column.notNull())
      .addColumn("used_by", "text")
      .execute();
    await db.schema.createIndex("team_invitations_of_account").on("team_invitations").column("account_id").execute();
    await db.schema.alterTable("sessions").addColumn("account_id", "text").execute();
    await db.schema.alterTable("users").addColumn("current_account_id", "text").execute();
    await db.schema.alterTable("keys").addColumn("created_by", "text").execute();
  },
};
