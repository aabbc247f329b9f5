import { expect, test } from "bun:test";
import { DatabaseSync } from "node:sqlite";
import { Kysely, PostgresDialect, SqliteDialect } from "kysely";
import pg from "pg";
import { type Database, figureColumns, type Store } from "../../../../src/db/index.ts";
import { KyselyConnection } from "../../../../src/db/sqlite/kysely-connection.ts";
import { readUsageBuckets } from "../../../../src/reports/index.ts";
import { migratedPostgres } from "../../../support/migrated-postgres.ts";
import { queryPostgres, whyNoPostgres } from "../../../support/postgres.ts";
import { temporaryFile, temporaryStore } from "../../db/temporary-store.ts";

const year = { period: "monthly", startDay: 20_089, endDay: 20_453 } as const;

/** What is asked of a database for a year of an account's usage, as it is asked. */
async function askedFor(dialect: SqliteDialect | PostgresDialect): Promise<{ sql: string; parameters: unknown[] }> {
  const asked: { sql: string; parameters: unknown[] }[] = [];
  const db = new Kysely<Database>({
    dialect,
    log: ({ query }) => void asked.push({ sql: query.sql, parameters: [...query.parameters] }),
  });
  await readUsageBuckets({ db } as Store, "acc_7", year);
  await db.destroy();
  expect(asked).toHaveLength(2);
  return asked[1] as { sql: string; parameters: unknown[] };
}

test("a year of usage is one question, which SQLite answers from the days of the account and what is not in them yet", async () => {
  const file = temporaryFile();
  await temporaryStore(file);
  const { sql, parameters } = await askedFor(
    new SqliteDialect({ database: new KyselyConnection(new DatabaseSync(file)) }),
  );
  const database = new DatabaseSync(file, { readOnly: true });
  const plan = database.prepare(`explain query plan ${sql}`).all(...(parameters as string[]));
  database.close();
  const detail = plan.map((step) => String(step.detail)).join("; ");
  expect(detail).toContain("SEARCH usage USING PRIMARY KEY (hours=? AND kind=? AND hour=? AND account_id=?)");
  expect(detail).toContain("SEARCH calls USING INTEGER PRIMARY KEY (rowid>?)");
  expect(detail).not.toMatch(/SCAN (?:calls|usage )/);
});

test.skipIf(whyNoPostgres !== undefined)("and so does PostgreSQL", async () => {
  const url = await migratedPostgres();
  // The hours of a month and the days of a year, beside those of others, and calls of which the last ones are not counted.
  await queryPostgres(
    url,
    `insert into usage_rows select hours, 'call', 20089 * 24 + n * hours, 'acc_' || account, 'key', 'm', 'p', 200, '', ${figureColumns.map(() => "1").join(", ")}
     from generate_series(1, 20) as account, generate_series(0, 743) as n, (values (1), (24)) as lengths (hours)
     where hours = 1 or n < 365`,
  );
  await queryPostgres(url, "insert into payers select 100 + n, 'acc_' || n, 100 + n from generate_series(0, 19) as n");
  await queryPostgres(
    url,
    `insert into call_rows (id, account_id, key_id, model, capability, premium, state, opened_at, settled_at, hold_nanodollars, hold_tokens)
     select convert_to('call_' || n, 'UTF8'), 100 + n % 20, 1, 1, 1, 1, 1, n, n, 1, 0 from generate_series(1, 60000) as n`,
  );
  await queryPostgres(url, "update usage_progress set seq = 59000");
  await queryPostgres(url, "analyze");
  const pool = new pg.Pool({ connectionString: url });
  const { sql, parameters } = await askedFor(new PostgresDialect({ pool }));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<Record<string, string>>(`explain ${sql}`, parameters);
  await client.end();
  const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
  expect(plan).toContain("usage_rows_pkey");
  expect(plan).toContain("call_rows_pkey");
  expect(plan).not.toMatch(/Seq Scan on (?:call_rows|usage_rows\b)/);
});
