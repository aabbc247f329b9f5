import { type CreateTableBuilder, type Kysely, sql } from "kysely";
import { writeBooksFunction } from "./0002-write-books.ts";
import type { Engine, Migration } from "./migration.ts";

const openingSums = ["calls", "requests", "failures", "charged_nanodollars", "quota_tokens"];

const meters = [
  "input_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "output_tokens",
  "images",
  "audio_ms",
  "characters",
  "call_units",
  "cost_nanodollars",
];

/** Several processes on one database, and calls that are pruned when they are old. */
export const nodes: Migration = {
  version: 2,
  async up(db, engine) {
    await createOpenings(db, engine);
    await db.schema.alterTable("calls").addColumn("node_id", "text").execute();
    await db.schema
      .createTable("nodes")
      .addColumn("id", "text", (column) => column.primaryKey().notNull())
      .addColumn("seen_at", "bigint", (column) => column.notNull())
      .execute();
    await db.schema
      .createTable("revisions")
      .addColumn("name", "text", (column) => column.primaryKey().notNull())
      .addColumn("revision", "bigint", (column) => column.notNull())
      .execute();
    await sql`insert into revisions (name, revision) values ('copies', 0)`.execute(db);
    if (engine === "postgres") await writeBooksFunction(db);
  },
};

async function createOpenings(db: Kysely<unknown>, engine: Engine): Promise<void> {
  let table = db.schema
    .createTable("openings")
    .addColumn("account_id", "text", (column) => column.primaryKey().notNull())
    .addColumn("before_day", "bigint", (column) => column.notNull()) as CreateTableBuilder<"openings", string>;
  for (const sum of [...openingSums, ...meters]) table = table.addColumn(sum, "bigint", (column) => column.notNull());
  await table.modifyEnd(engine === "sqlite" ? sql`without rowid` : sql``).execute();
}
