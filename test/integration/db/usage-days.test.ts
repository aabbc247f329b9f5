import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { openStore, type Store } from "../../../src/db/index.ts";
import { newDatabase, queryPostgres, whyNoPostgres } from "../../support/postgres.ts";
import { storeOptions } from "./store-options.ts";
import { temporaryFile } from "./temporary-store.ts";

const released = (name: string) => readFileSync(join(import.meta.dir, "../../fixtures/schemas", name), "utf8");
/** What a gateway of the version before writes: the hour that is there once more, and one of the next day. */
const hours =
  "account_id, hour, model, requests, failures, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, images, audio_ms, characters, call_units, cost_nanodollars, charged_nanodollars, quota_tokens";
const writtenByOlder = [490_896, 490_920].map(
  (hour) => `insert into usage_hours (${hours}) values ('acc_1', ${hour}, 'm', 5, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    on conflict (account_id, hour, model) do update set
    requests = usage_hours.requests + excluded.requests, input_tokens = usage_hours.input_tokens + excluded.input_tokens`,
);

async function daysOf({ db }: Store) {
  const rows = await db
    .selectFrom("usage_days")
    .select(["day", "requests", "failures", "input_tokens", "output_tokens", "charged_nanodollars"])
    .orderBy("day")
    .execute();
  return rows.map((row) => Object.values(row));
}

const before = [20_454, 2, 1, 8, 6, 13];
const after = [
  [20_454, 7, 1, 15, 6, 13],
  [20_455, 5, 0, 7, 0, 0],
];

test("what a gateway of an older version writes after the migration is in the days", async () => {
  const file = temporaryFile();
  const older = new DatabaseSync(file);
  older.exec(released("sqlite-7.sql"));
  const statements = writtenByOlder.map((text) => older.prepare(text));
  const store = await openStore({ file });
  expect(await daysOf(store)).toEqual([before]);
  for (const statement of statements) statement.run();
  older.close();
  expect(await daysOf(store)).toEqual(after);
  await store.close();
});

test.skipIf(whyNoPostgres !== undefined)(
  "what an older one is about to write while PostgreSQL is brought up to date is in the days, and nothing twice",
  async () => {
    const url = await newDatabase();
    await queryPostgres(url, released("postgres-7.sql"));
    const older = new pg.Client({ connectionString: url });
    await older.connect();
    await older.query("begin");
    await older.query(writtenByOlder[0] as string);
    const opening = openStore(storeOptions(url));
    // It has made its table by now, and waits for the hours.
    const waits = "select 1 from pg_locks where not granted and relation = 'usage_hours'::regclass";
    const deadline = Date.now() + 20_000;
    while ((await queryPostgres(url, waits)).length === 0) expect(Date.now()).toBeLessThan(deadline);
    await older.query("commit");
    const store = await opening;
    await older.query(writtenByOlder[1] as string);
    await older.end();
    expect(await daysOf(store)).toEqual(after);
    await store.close();
  },
  60_000,
);
