import { beforeAll, expect } from "bun:test";
import { sql } from "kysely";
import type { Store } from "../../../../src/db/index.ts";
import { openElsewhere } from "../../../../src/ledger/remote-calls.ts";
import { queryPostgres, whyNoPostgres } from "../../../support/postgres.ts";
import { node, postgresTest } from "./fixture.ts";

let url: string;
let store: Store;

/** A ledger of a size at which an index pays: the planner counts before it chooses. */
beforeAll(async () => {
  if (whyNoPostgres !== undefined) return;
  ({ url, store } = await node());
  await queryPostgres(
    url,
    `insert into calls (id, account_id, key_id, model, capability, premium, state, opened_at, settled_at, hold_nanodollars, hold_tokens)
     select 'call_' || n, 'acc_' || n % 200, 'k', 'm', 'chat', 1, 'settled', n::bigint * 60000, n::bigint * 60000, 1, 0
     from generate_series(1, 60000) as n`,
  );
  await queryPostgres(
    url,
    `insert into open_calls (id, account_id, key_id, model, capability, premium, opened_at, hold_nanodollars, hold_tokens)
     select 'open_' || n, 'acc_' || n % 200, 'k', 'm', 'chat', 1, n, 1, 0 from generate_series(1, 2000) as n`,
  );
  await queryPostgres(url, "analyze");
}, 60_000);

postgresTest.each([
  [
    "the list of an account's calls",
    "select * from calls where account_id = 'acc_7' and opened_at >= 0 order by opened_at, id limit 500",
    "calls_of_account",
  ],
  [
    "the next account that has calls",
    "select account_id from calls where account_id > 'acc_7' order by account_id limit 1",
    "calls_of_account",
  ],
  [
    "what open calls of an account hold",
    "select sum(hold_nanodollars) from open_calls where account_id = 'acc_0'",
    "open_calls_of_account",
  ],
  [
    "what is not counted yet",
    "select id from calls where seq > (select seq from usage_progress) order by seq limit 200",
    "calls_pkey",
  ],
])("%s is found by an index", async (_what, query, index) => {
  const rows = await queryPostgres<Record<string, string>>(url, `explain ${query}`);
  const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
  expect(plan).toContain(index);
  // The progress of the roll-up is one row.
  expect(plan.replace("Seq Scan on usage_progress", "")).not.toContain("Seq Scan");
});

postgresTest("the open calls of other nodes are found without those that have ended", async () => {
  const { rows } = await sql<Record<string, string>>`explain ${openElsewhere(store)}`.execute(store.db);
  const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
  expect(plan).toContain(" on open_calls");
  expect(plan).not.toMatch(/ on calls\b/);
});
