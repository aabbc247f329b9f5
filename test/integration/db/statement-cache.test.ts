import { expect, test } from "bun:test";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers";
import { Kysely, sql } from "kysely";
import { KyselyConnection, PlannedOnceDialect, StatementCache } from "../../../src/db/sqlite/kysely-connection.ts";

test("a statement is prepared once while it comes again, two hundred of them are kept, and long ones are not", () => {
  const database = new DatabaseSync(":memory:");
  try {
    const cache = new StatementCache(database);
    const first = cache.take("select 1 as one");
    expect(first.reads).toBe(true);
    expect(cache.take("create table if not exists t (a)").reads).toBe(false);
    expect(cache.take("select 1 as one")).toBe(first);
    for (let number = 0; number < 200; number++) cache.take(`select ${number}`);
    expect(cache.take("select 1 as one")).not.toBe(first);
    const long = `select 1 as one /* ${"x".repeat(4000)} */`;
    expect(cache.take(long)).not.toBe(cache.take(long));
    expect(cache.take(long).statement.get()).toEqual({ one: 1 });
  } finally {
    database.close();
  }
});

test("a kept statement sees columns that its table got since", () => {
  const database = new DatabaseSync(":memory:");
  try {
    const cache = new StatementCache(database);
    database.exec("create table t (a); insert into t values (1)");
    expect(cache.take("select * from t").statement.all()).toEqual([{ a: 1 }]);
    database.exec("alter table t add column b default 2");
    expect(cache.take("select * from t").statement.all()).toEqual([{ a: 1, b: 2 }]);
  } finally {
    database.close();
  }
});

test("queries that take long leave the event loop to others in between, a transaction as a whole", async () => {
  const connection = new KyselyConnection(new DatabaseSync(":memory:"));
  const db = new Kysely<unknown>({ dialect: new PlannedOnceDialect({ database: connection }) });
  // Some dozens of milliseconds, where five are too long.
  const count = sql`with recursive n (i) as (select 1 union all select i + 1 from n where i < 200000) select max(i) from n`;
  const quick = sql`select 1`;
  let hasTurned = false;
  const watchTurn = () => {
    hasTurned = false;
    setImmediate(() => {
      hasTurned = true;
    });
  };
  try {
    watchTurn();
    await count.execute(db);
    await quick.execute(db);
    expect(hasTurned).toBe(true);
    await db.transaction().execute(async (transaction) => {
      watchTurn();
      await count.execute(transaction);
      await quick.execute(transaction);
      expect(hasTurned).toBe(false);
    });
  } finally {
    await db.destroy();
  }
});
