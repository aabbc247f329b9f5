import { expect, test } from "bun:test";
import { DatabaseSync } from "node:sqlite";
import { Kysely, PostgresDialect, SqliteDialect } from "kysely";
import pg from "pg";
import { readUsage } from "../../../../src/billing/index.ts";
import type { Database, Store } from "../../../../src/db/index.ts";
import { KyselyConnection } from "../../../../src/db/sqlite/kysely-connection.ts";
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
  await readUsage({ db } as Store, "acc_7", year);
  await db.destroy();
  expect(asked).toHaveLength(1);
  return asked[0] as { sql: string; parameters: unknown[] };
}

test("a year of usage is one question, which SQLite answers from the days of the account alone", async () => {
  const file = temporaryFile();
  await temporaryStore(file);
  const { sql, parameters } = await askedFor(
    new SqliteDialect({ database: new KyselyConnection(new DatabaseSync(file)) }),
  );
  const database = new DatabaseSync(file, { readOnly: true });
  const plan = database.prepare(`explain query plan ${sql}`).all(...(parameters as string[]));
  database.close();
  const detail = plan.map((step) => String(step.detail)).join("; ");
  expect(detail).toContain("SEARCH usage_days USING PRIMARY KEY (account_id=? AND day>? AND day<?)");
  expect(detail).not.toMatch(/SCAN|calls|usage_hours/);
});

test.skipIf(whyNoPostgres !== undefined)(
  "and so does PostgreSQL",
  async () => {
    const url = await migratedPostgres();
    // As many hours as ten million calls of one account in a year could make, beside those of others.
    await queryPostgres(
      url,
      `insert into usage_hours select 'acc_' || account, 20089 * 24 + hour, 'm', 1, 0, ${Array(15).fill("1").join(", ")}
     from generate_series(1, 20) as account, generate_series(1, 8760) as hour`,
    );
    await queryPostgres(url, "analyze");
    const pool = new pg.Pool({ connectionString: url });
    const { sql, parameters } = await askedFor(new PostgresDialect({ pool }));
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query<Record<string, string>>(`explain ${sql}`, parameters);
    await client.end();
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan).toContain("usage_days_pkey");
    expect(plan).not.toMatch(/Seq Scan|calls|usage_hours/);
  },
  60_000,
);
