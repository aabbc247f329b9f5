import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** The second step of a sign-in. Filled by better-auth, whose truths are 0 or 1 in both engines. */
export const secondFactor: Migration = {
  version: 6,
  async up(db, engine) {
    await db.schema
      .alterTable("users")
      .addColumn("two_factor_enabled", "bigint", (column) => column.notNull().defaultTo(0))
      .execute();
    await db.schema
      .createTable("two_factors")
      .addColumn("id", "text", (column) => column.primaryKey().notNull())
      .addColumn("user_id", "text", (column) => column.notNull().unique().references("users.id"))
      .addColumn("secret", "text", (column) => column.notNull())
      .addColumn("backup_codes", "text", (column) => column.notNull())
      .addColumn("verified", "bigint", (column) => column.notNull())
      .modifyEnd(engine === "sqlite" ? sql`without rowid` : sql``)
      .execute();
  },
};
