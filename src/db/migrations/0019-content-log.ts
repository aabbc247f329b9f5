import type { Migration } from "./migration.ts";

/** Prompts and answers that the operator keeps, encrypted, and for which accounts and keys. */
export const contentLog: Migration = {
  version: 19,
  async up(db, engine) {
    await db.schema
      .createTable("content_switches")
      .addColumn("subject", "text", (column) => column.primaryKey().notNull())
      .addColumn("account_id", "text", (column) => column.notNull())
      .addColumn("set_by", "text", (column) => column.notNull())
      .addColumn("set_at", "bigint", (column) => column.notNull())
      .execute();
    await db.schema
      .createTable("contents")
      .addColumn("id", "text", (column) => column.primaryKey().notNull())
      .addColumn("account_id", "text", (column) => column.notNull())
      .addColumn("at", "bigint", (column) => column.notNull())
      .addColumn("body", engine === "sqlite" ? "blob" : "bytea", (column) => column.notNull())
      .addColumn("secrets_id", "text", (column) => column.notNull())
      .addColumn("bytes", "bigint", (column) => column.notNull())
      .addColumn("position", "bigint", (column) => column.notNull())
      .execute();
    const index = (name: string, table: string, columns: string[]) =>
      db.schema.createIndex(name).on(table).columns(columns).execute();
    await index("content_switches_of_account", "content_switches", ["account_id"]);
    await index("contents_by_time", "contents", ["at"]);
    await index("contents_of_account", "contents", ["account_id", "position", "bytes"]);
  },
};
