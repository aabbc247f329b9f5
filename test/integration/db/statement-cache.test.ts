import { expect, test } from "bun:test";
import { DatabaseSync } from "node:sqlite";
import { StatementCache } from "../../../src/db/sqlite/kysely-connection.ts";

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
