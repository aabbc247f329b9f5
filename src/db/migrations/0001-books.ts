import { type CreateTableBuilder, type Kysely, sql } from "kysely";
import type { Engine, Migration } from "./migration.ts";

/** SQLite keeps tables whose key is text in the order of that key: one tree instead of two. */
const endOf = (engine: Engine) => (engine === "sqlite" ? sql`without rowid` : sql``);

const meters = [
  "input_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "output_tokens",
  "images",
  "audio_ms",
  "characters",
  "call_units",
];

/** The first schema: accounts, keys, calls and the books. */
export const books: Migration = {
  version: 1,
  async up(db, engine) {
    await createAccounts(db, engine);
    await createCalls(db, engine);
    await createWallets(db, engine);
    await createSums(db, engine);
    await createRest(db, engine);
  },
};

async function createAccounts(db: Kysely<unknown>, engine: Engine): Promise<void> {
  await db.schema
    .createTable("accounts")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("email", "text", (column) => column.notNull().unique())
    .addColumn("name", "text")
    .addColumn("free_tokens_per_day", "bigint")
    .addColumn("requests_per_minute", "bigint")
    .addColumn("tokens_per_minute", "bigint")
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .modifyEnd(endOf(engine))
    .execute();
  await db.schema
    .createTable("keys")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("account_id", "text", (column) => column.notNull().references("accounts.id"))
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("secret_hash", "text", (column) => column.notNull())
    .addColumn("allowed_models", "text")
    .addColumn("requests_per_minute", "bigint")
    .addColumn("tokens_per_minute", "bigint")
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("expires_at", "bigint")
    .addColumn("revoked_at", "bigint")
    .modifyEnd(endOf(engine))
    .execute();
  await db.schema.createIndex("keys_of_account").on("keys").column("account_id").execute();
}

/** No foreign keys here: a look-up a call, and the caller was just authenticated. */
async function createCalls(db: Kysely<unknown>, engine: Engine): Promise<void> {
  let table = db.schema
    .createTable("calls")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("account_id", "text", (column) => column.notNull())
    .addColumn("key_id", "text", (column) => column.notNull())
    .addColumn("model", "text", (column) => column.notNull())
    .addColumn("capability", "text", (column) => column.notNull())
    .addColumn("premium", "bigint", (column) => column.notNull())
    .addColumn("state", "text", (column) => column.notNull())
    .addColumn("opened_at", "bigint", (column) => column.notNull())
    .addColumn("settled_at", "bigint")
    .addColumn("quota_day", "bigint")
    .addColumn("hold_nanodollars", "bigint", (column) => column.notNull())
    .addColumn("hold_tokens", "bigint", (column) => column.notNull()) as CreateTableBuilder<"calls", string>;
  for (const meter of meters) table = table.addColumn(meter, "bigint");
  await table
    .addColumn("usage_source", "text")
    .addColumn("cost_nanodollars", "bigint")
    .addColumn("charged_nanodollars", "bigint")
    .addColumn("quota_tokens", "bigint")
    .addColumn("price_version", "text")
    .addColumn("route", "text")
    .addColumn("status", "bigint")
    .addColumn("error_code", "text")
    .addColumn("first_byte_ms", "bigint")
    .addColumn("duration_ms", "bigint")
    .modifyEnd(endOf(engine))
    .execute();
  await db.schema.createIndex("calls_of_account").on("calls").columns(["account_id", "opened_at"]).execute();
  await sql`create index calls_open on calls (account_id) where state = 'open'`.execute(db);
}

async function createWallets(db: Kysely<unknown>, engine: Engine): Promise<void> {
  await db.schema
    .createTable("entries")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("account_id", "text", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("amount_nanodollars", "bigint", (column) => column.notNull())
    .addColumn("note", "text")
    .addColumn("at", "bigint", (column) => column.notNull())
    .modifyEnd(endOf(engine))
    .execute();
  await sql`create index entries_by_hand on entries (account_id, at) where kind <> 'charge'`.execute(db);
  await db.schema
    .createTable("wallets")
    .addColumn("account_id", "text", (column) => column.primaryKey().notNull())
    .addColumn("balance_nanodollars", "bigint", (column) => column.notNull())
    .modifyEnd(endOf(engine))
    .execute();
}

async function createSums(db: Kysely<unknown>, engine: Engine): Promise<void> {
  await db.schema
    .createTable("quota_days")
    .addColumn("account_id", "text", (column) => column.notNull())
    .addColumn("day", "bigint", (column) => column.notNull())
    .addColumn("used_tokens", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("quota_days_key", ["account_id", "day"] as never)
    .modifyEnd(endOf(engine))
    .execute();
  let table = db.schema
    .createTable("usage_hours")
    .addColumn("account_id", "text", (column) => column.notNull())
    .addColumn("hour", "bigint", (column) => column.notNull())
    .addColumn("model", "text", (column) => column.notNull()) as CreateTableBuilder<"usage_hours", string>;
  const sums = ["requests", "failures", ...meters, "cost_nanodollars", "charged_nanodollars", "quota_tokens"];
  for (const sum of sums) table = table.addColumn(sum, "bigint", (column) => column.notNull());
  await table
    .addPrimaryKeyConstraint("usage_hours_key", ["account_id", "hour", "model"])
    .modifyEnd(endOf(engine))
    .execute();
}

async function createRest(db: Kysely<unknown>, engine: Engine): Promise<void> {
  await db.schema
    .createTable("blobs")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("media_type", "text", (column) => column.notNull())
    .addColumn("bytes", engine === "sqlite" ? "blob" : "bytea", (column) => column.notNull())
    .addColumn("expires_at", "bigint", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("blobs_by_expiry").on("blobs").column("expires_at").execute();
  await db.schema
    .createTable("settings")
    .addColumn("name", "text", (column) => column.primaryKey().notNull())
    .addColumn("value", "text", (column) => column.notNull())
    .execute();
}
