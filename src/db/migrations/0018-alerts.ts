import type { Migration } from "./migration.ts";

/** Alerts: where they are sent, when, what is wrong now, and what is still to be sent. */
export const alerts: Migration = {
  version: 18,
  async up(db, engine) {
    await db.schema
      .createTable("alert_channels")
      .addColumn("id", "text", (column) => column.primaryKey().notNull())
      .addColumn("owner", "text", (column) => column.notNull())
      .addColumn("kind", "text", (column) => column.notNull())
      .addColumn("label", "text", (column) => column.notNull())
      .addColumn("target", engine === "sqlite" ? "blob" : "bytea", (column) => column.notNull())
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("sent_at", "bigint")
      .addColumn("error", "text")
      .addColumn("error_at", "bigint")
      .execute();
    await db.schema.createIndex("alert_channels_of_owner").on("alert_channels").column("owner").execute();
    await db.schema
      .createTable("alert_rules")
      .addColumn("owner", "text", (column) => column.notNull())
      .addColumn("rule", "text", (column) => column.notNull())
      .addColumn("enabled", "bigint", (column) => column.notNull())
      .addColumn("threshold", "bigint")
      .addPrimaryKeyConstraint("alert_rules_key", ["owner", "rule"] as never)
      .execute();
    await db.schema
      .createTable("alerts")
      .addColumn("id", "text", (column) => column.primaryKey().notNull())
      .addColumn("owner", "text", (column) => column.notNull())
      .addColumn("rule", "text", (column) => column.notNull())
      .addColumn("text", "text", (column) => column.notNull())
      .addColumn("level", "bigint", (column) => column.notNull())
      .addColumn("since_at", "bigint", (column) => column.notNull())
      .addColumn("seen_at", "bigint", (column) => column.notNull())
      .addColumn("notified_at", "bigint")
      .addColumn("notified_level", "bigint")
      .execute();
    await db.schema
      .createTable("alert_messages")
      .addColumn("id", "text", (column) => column.primaryKey().notNull())
      .addColumn("channel_id", "text", (column) => column.notNull())
      .addColumn("body", "text", (column) => column.notNull())
      .addColumn("attempts", "bigint", (column) => column.notNull())
      .addColumn("next_at", "bigint", (column) => column.notNull())
      .execute();
    await db.schema.createIndex("alert_messages_by_time").on("alert_messages").column("next_at").execute();
    await db.schema
      .createTable("alert_turns")
      .addColumn("name", "text", (column) => column.primaryKey().notNull())
      .addColumn("next_at", "bigint", (column) => column.notNull())
      .execute();
  },
};
