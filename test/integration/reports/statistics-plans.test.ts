import { expect, test } from "bun:test";
import { DatabaseSync } from "node:sqlite";
import { Kysely, PostgresDialect, SqliteDialect, sql } from "kysely";
import pg from "pg";
import { type Database, figureColumns, type Store } from "../../../src/db/index.ts";
import { KyselyConnection } from "../../../src/db/sqlite/kysely-connection.ts";
import {
  measureSameHours,
  readGroups,
  readTotals,
  type StatisticsGroup,
  type StatisticsQuery,
} from "../../../src/reports/index.ts";
import { migratedPostgres } from "../../support/migrated-postgres.ts";
import { whyNoPostgres } from "../../support/postgres.ts";
import { temporaryFile, temporaryStore } from "../db/temporary-store.ts";

const firstHour = 20_000 * 24;
const threeDays = Array.from({ length: 3 * 24 }, (_, place) => firstHour + place);

const filters: readonly [StatisticsGroup, StatisticsQuery["filter"]][] = [
  ["account", {}],
  ["account", { model: "m" }],
  ["key", {}],
  ["model", {}],
  ["session", {}],
  ["tag", {}],
  ["key", { accountId: "acc_7" }],
  ["model", { accountId: "acc_7", keyId: "key_7" }],
  ["session", { accountId: "acc_7" }],
];

/** Sums of sessions of some accounts in each hour and day of the three, and of their keys, in hours with the model. */
const fill = (accounts: number, series: (name: string, count: number) => string) => `
  insert into usage_rows select hours, case when kind = 'key' and hours = 1 then 'call' else kind end, ${firstHour} + bucket * hours, 'acc_' || account,
    case when kind = 'key' then 'key_' || account else '' end, '', '', 0,
    case when kind = 'key' then '' else 'session-' || name end, ${figureColumns.map(() => "1")}
  from (select 24 as hours union all select 1) as lengths, (select 'key' as kind union all select 'session') as kinds,
    ${series("bucket", 72)}, ${series("account", accounts)}, ${series("name", 5)}
  where (hours = 1 or bucket < 3) and (kind = 'session' or name = 0)`;

type Asked = { readonly sql: string; readonly parameters: readonly unknown[] };

async function ask(db: Kysely<Database>, asked: Asked[], shared: boolean): Promise<Map<string, Asked[]>> {
  const all = new Map<string, Asked[]>();
  for (const [group, filter] of filters) {
    asked.length = 0;
    const query = { filter, hours: 1, starts: threeDays } as const;
    await readTotals({ db } as Store, query);
    await readGroups({ db, shared } as Store, query, { group, rank: "cost", limit: 50, charted: 6 });
    all.set(`${group} ${JSON.stringify(filter)}`, [...asked]);
  }
  return all;
}

test("a page by the hour reads hours of what it charts alone, and SQLite finds all by the primary key", async () => {
  const file = temporaryFile();
  await temporaryStore(file);
  const database = new DatabaseSync(file);
  const series = (name: string, count: number) =>
    `(with recursive n(i) as (select 0 union all select i + 1 from n where i < ${count - 1}) select i as ${name} from n)`;
  database.exec(fill(2, series));
  const asked: Asked[] = [];
  const db = new Kysely<Database>({
    dialect: new SqliteDialect({ database: new KyselyConnection(database) }),
    log: ({ query }) => void asked.push(query),
  });
  for (const [what, queries] of await ask(db, asked, false)) {
    for (const { sql: text, parameters } of queries) {
      const plan = database.prepare(`explain query plan ${text}`).all(...(parameters as string[]));
      // Not of what the statement itself made, which is as short as its answer.
      const steps = plan.map((step) => String(step.detail)).filter((step) => /(SCAN|SEARCH) (?!\(subquery)/.test(step));
      const key = /from "?accounts/.test(text) ? "id>?" : "hours=? AND kind=? AND hour=? AND account_id";
      expect(steps).toEqual([expect.stringContaining(`PRIMARY KEY (${key}`)]);
    }
    const ofHours = queries.filter(({ sql: text }) => text.includes("hours = 1 "));
    expect([what, ofHours.filter(({ sql: text }) => text.includes(" as rank"))]).toEqual([what, []]);
    expect(queries.length).toBeGreaterThan(ofHours.length);
  }
  await db.destroy();
});

test.skipIf(whyNoPostgres !== undefined)("and so does PostgreSQL", async () => {
  const pool = new pg.Pool({ connectionString: await migratedPostgres() });
  const asked: Asked[] = [];
  const db = new Kysely<Database>({
    dialect: new PostgresDialect({ pool }),
    log: ({ query }) => void asked.push(query),
  });
  await sql`alter table usage_rows set unlogged`.execute(db);
  await sql.raw(fill(200, (name, count) => `generate_series(0, ${count - 1}) as ${name}`)).execute(db);
  // Fewer than are ranked by the day, and enough that their index is worth it.
  await sql`insert into accounts (id, email, created_at)
      select 'acc_' || n, n || '@example.org', 0 from generate_series(1, 5000) as n`.execute(db);
  await sql`analyze usage_rows, accounts`.execute(db);
  for (const [what, queries] of await ask(db, asked, true)) {
    for (const { sql: text, parameters } of queries) {
      const { rows } = await pool.query<Record<string, string>>(`explain ${text}`, [...parameters]);
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      const key = text.includes('"accounts"') ? "accounts_pkey" : "usage_rows_pkey";
      expect([what, plan]).toEqual([what, expect.stringContaining(key)]);
      expect(plan).not.toContain("Seq Scan");
    }
  }
  await db.destroy();
});

test("a rule relative to the same hours before reads its hours alone, by the primary key", async () => {
  const file = temporaryFile();
  await temporaryStore(file);
  const database = new DatabaseSync(file);
  const series = (name: string, count: number) =>
    `(with recursive n(i) as (select 0 union all select i + 1 from n where i < ${count - 1}) select i as ${name} from n)`;
  database.exec(fill(2, series));
  const asked: Asked[] = [];
  const db = new Kysely<Database>({
    dialect: new SqliteDialect({ database: new KyselyConnection(database) }),
    log: ({ query }) => void asked.push(query),
  });
  const now = (firstHour + 71) * 3_600_000;
  for (const filter of [{}, { accountId: "acc_1" }, { keyId: "key_1" }, { model: "m" }, { plugin: "p" }]) {
    for (const minutes of [60, 1440]) {
      await measureSameHours({ db, shared: false } as Store, { filter, minutes, days: 28, isWhole: false, now });
    }
  }
  expect(asked.length).toBeGreaterThan(0);
  for (const { sql: text, parameters } of asked) {
    const plan = database.prepare(`explain query plan ${text}`).all(...(parameters as string[]));
    const steps = plan.map((step) => String(step.detail)).filter((step) => /(SCAN|SEARCH) (?!\(subquery)/.test(step));
    expect(steps).toEqual([expect.stringContaining("PRIMARY KEY (hours=? AND kind=? AND hour=? AND account_id")]);
  }
  await db.destroy();
});
