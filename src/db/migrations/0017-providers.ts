import type { Migration } from "./migration.ts";

/** What administrators set about providers, and the providers' API keys, encrypted. */
export const providers: Migration = {
  version: 17,
  async up(db, engine) {
    await db.schema
      .createTable("providers")
      .addColumn("name", "text", (column) => column.primaryKey().notNull())
      .addColumn("enabled", "integer", (column) => column.notNull())
      .addColumn("priority", "bigint")
      .addColumn("weight", "bigint")
      .addColumn("manifest", "text")
      .addColumn("removed_at", "bigint")
      .execute();
    await db.schema
      .createTable("provider_keys")
      .addColumn("id", "text", (column) => column.primaryKey().notNull())
      .addColumn("provider", "text", (column) => column.notNull())
      .addColumn("secret", engine === "sqlite" ? "blob" : "bytea", (column) => column.notNull())
      .addColumn("secrets_id", "text", (column) => column.notNull())
      .addColumn("last4", "text", (column) => column.notNull())
      .addColumn("set_by", "text", (column) => column.notNull())
      .addColumn("set_at", "bigint", (column) => column.notNull())
      .execute();
  },
};
