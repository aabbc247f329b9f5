import type { Migration } from "./migration.ts";

/** Calls with an Idempotency-Key and their encrypted answers, so that a repeated request is neither run nor charged again. */
export const idempotencyKeys: Migration = {
  version: 13,
  async up(db, engine) {
    await db.schema
      .createTable("idempotency_keys")
      .addColumn("id", "text", (column) => column.primaryKey().notNull())
      .addColumn("account_id", "text", (column) => column.notNull())
      .addColumn("call_id", "text", (column) => column.notNull())
      .addColumn("body_hash", "text", (column) => column.notNull())
      .addColumn("node_id", "text", (column) => column.notNull())
      .addColumn("state", "text", (column) => column.notNull())
      .addColumn("answer", engine === "sqlite" ? "blob" : "bytea")
      .addColumn("position", "bigint")
      .addColumn("expires_at", "bigint", (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex("idempotency_keys_by_position")
      .on("idempotency_keys")
      .columns(["account_id", "position"])
      .execute();
    await db.schema.createIndex("idempotency_keys_by_expiry").on("idempotency_keys").column("expires_at").execute();
  },
};
