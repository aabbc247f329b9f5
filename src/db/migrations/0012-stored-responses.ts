import type { Migration } from "./migration.ts";

/** Answers of POST /responses and their items, encrypted, until they expire. */
export const storedResponses: Migration = {
  version: 12,
  async up(db, engine) {
    await db.schema
      .createTable("stored_responses")
      .addColumn("account_id", "text", (column) => column.notNull())
      .addColumn("id", "text", (column) => column.notNull())
      .addColumn("response_id", "text", (column) => column.notNull())
      .addColumn("body", engine === "sqlite" ? "blob" : "bytea", (column) => column.notNull())
      .addColumn("bytes", "bigint", (column) => column.notNull())
      .addColumn("expires_at", "bigint", (column) => column.notNull())
      .addPrimaryKeyConstraint("stored_responses_key", ["account_id", "id"] as never)
      .execute();
    const index = (name: string, columns: string[]) =>
      db.schema.createIndex(name).on("stored_responses").columns(columns).execute();
    await index("stored_responses_by_expiry", ["expires_at"]);
    await index("stored_responses_of_account", ["account_id", "expires_at", "id", "bytes"]);
    await index("stored_responses_by_response", ["account_id", "response_id"]);
  },
};
