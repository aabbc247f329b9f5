import { sql } from "kysely";
import { writeBudgetsFunction } from "./0005-write-books.ts";
import type { Migration } from "./migration.ts";

/** Keys with a monthly budget and limits of their own, and calls that say that they hold less than they may cost. */
export const budgets: Migration = {
  version: 5,
  async up(db, engine) {
    for (const column of ["concurrent_calls", "budget_nanodollars"]) {
      await db.schema.alterTable("keys").addColumn(column, "bigint").execute();
    }
    for (const column of ["budget_month", "partial"]) {
      await db.schema.alterTable("calls").addColumn(column, "bigint").execute();
    }
    await db.schema
      .alterTable("openings")
      .addColumn("budget_nanodollars", "bigint", (column) => column.notNull().defaultTo(0))
      .execute();
    await db.schema
      .createTable("key_months")
      .addColumn("account_id", "text", (column) => column.notNull())
      .addColumn("key_id", "text", (column) => column.notNull())
      .addColumn("month", "bigint", (column) => column.notNull())
      .addColumn("spent_nanodollars", "bigint", (column) => column.notNull())
      .addPrimaryKeyConstraint("key_months_key", ["account_id", "key_id", "month"] as never)
      .modifyEnd(engine === "sqlite" ? sql`without rowid` : sql``)
      .execute();
    // Whoever seeds an account elsewhere asks for the months of all its keys.
    await db.schema.createIndex("key_months_of_account").on("key_months").columns(["account_id", "month"]).execute();
    if (engine === "postgres") await writeBudgetsFunction(db);
  },
};
