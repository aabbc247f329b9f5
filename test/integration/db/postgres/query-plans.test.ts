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
    "insert into payers select 100 + n, 'acc_' || n, 100 + n from generate_series(0, 20000) as n",
  );
  await queryPostgres(url, "insert into names (name) select 'model_' || n from generate_series(0, 20000) as n");
  await queryPostgres(
    url,
    `insert into call_rows (id, account_id, key_id, model, capability, premium, state, opened_at, settled_at, hold_nanodollars, hold_tokens)
     select convert_to('call_' || n, 'UTF8'), 100 + n % 200, 1, 1, 1, 1, 1, n::bigint * 60000, n::bigint * 60000, 1, 0
     from generate_series(1, 60000) as n`,
  );
  await queryPostgres(
    url,
    `insert into open_call_rows (id, account_id, key_id, model, capability, premium, opened_at, hold_nanodollars, hold_tokens)
     select convert_to('open_' || n, 'UTF8'), 100 + n % 200, 1, 1, 1, 1, n, 1, 0 from generate_series(1, 2000) as n`,
  );
  await queryPostgres(url, "analyze");
});

postgresTest.each([
  [
    "the list of an account's calls",
    "select * from calls where account_no = 107 and opened_at >= 0 order by opened_at, id_bytes limit 500",
    "calls_of_account",
  ],
  [
    "the next account that has calls",
    "select account_id from call_rows where account_id > 107 order by account_id limit 1",
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
    "call_rows_pkey",
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
  expect(plan).toContain(" on open_call_rows");
  expect(plan).not.toMatch(/ on call_rows\b/);
});
