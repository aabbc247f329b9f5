import { expect, test } from "bun:test";
import { DatabaseSync } from "node:sqlite";
import { temporaryFile, temporaryStore } from "./temporary-store.ts";

test.each([
  [
    "the calls of an account in a time",
    "select id from calls where account_id = ? and opened_at >= ?",
    "calls_of_account",
  ],
  [
    "a page of an account's calls",
    "select * from calls where account_no = ? and opened_at >= ? and opened_at < ? order by opened_at, id_bytes limit 500",
    "calls_of_account",
  ],
  [
    "which are the latest calls of an account",
    "select id, state from calls where account_no = ? order by opened_at desc, id_bytes desc limit 50",
    "calls_of_account",
  ],
  [
    "the latest calls of an account",
    "select id from calls where account_no = ? and opened_at <= ? and (opened_at < ? or id_bytes < ?) order by opened_at desc, id_bytes desc limit 50",
    "calls_of_account",
  ],
  [
    "calls of all accounts before one",
    "select id from calls where id_bytes >= ? and id_bytes < ? order by id_bytes desc limit 50",
    "calls USING INDEX sqlite_autoindex_call_rows_1",
  ],
  [
    "the latest failed calls",
    "select id from calls where error_no is not null order by opened_at desc, id_bytes desc limit 50",
    "calls_failed",
  ],
  [
    "the latest failed calls of an account",
    "select id from calls where error_no is not null and account_no = ? order by opened_at desc, id_bytes desc limit 50",
    "calls_failed_of_account",
  ],
  [
    "the calls of a session",
    "select id from calls where session is not null and session = ? order by opened_at desc, id_bytes desc limit 50",
    "calls_of_session",
  ],
  [
    "where the next part of a session ends",
    "select opened_at, seq from call_rows where session is not null and session = ? and opened_at >= ? and (opened_at > ? or seq > ?) order by opened_at, seq limit 1 offset 4999",
    "calls_of_session",
  ],
  [
    "a call by its client's id",
    "select id from calls where client_request_id is not null and client_request_id = ? order by opened_at desc, id_bytes desc limit 50",
    "calls_by_client_id",
  ],
  [
    "from where a key was used",
    "select network, program, requests from key_callers where key_id = ?",
    "key_callers USING PRIMARY KEY (key_id=?)",
  ],
  [
    "from where keys were used on days that are not kept",
    "select key_id from key_callers where day < ? limit 100",
    "key_callers_by_day",
  ],
  [
    "the latest refused requests of an account",
    "select id from refusals where account_id = ? order by opened_at desc, id desc limit 50",
    "refusals_of_account",
  ],
  [
    "the latest refused requests",
    "select id from refusals order by opened_at desc, id desc limit 50",
    "refusals_by_time",
  ],
  [
    "the vouchers that an account redeemed",
    "select id from vouchers where redeemed_by = ? order by redeemed_at desc",
    "vouchers_of_account",
  ],
  [
    "the vouchers that come behind one, newest first",
    "select * from vouchers where (created_at, id) < (?, ?) order by created_at desc, id desc limit 21",
    "vouchers_by_time",
  ],
  ["content that is too old", "select id from contents where at < ? limit 100", "contents_by_time"],
  [
    "the oldest content of an account",
    "select id from contents where position < ? and account_id = ? limit 100",
    "contents_of_account",
  ],
  [
    "what an account has of content",
    "select count(*), sum(bytes) from contents where account_id = ?",
    "COVERING INDEX contents_of_account",
  ],
  ["sessions that are over", "select id from sessions where expires_at <= ? limit 100", "sessions_by_expiry"],
  [
    "the next account that has calls",
    "select account_id from call_rows where account_id > ? order by account_id limit 1",
    "calls_of_account",
  ],
  [
    "movements of a wallet beside charges",
    "select * from transactions where account_id = ? order by at",
    "transactions_of_account",
  ],
  ["the keys of an account", "select * from keys where account_id = ?", "keys_of_account"],
  [
    "the newest keys of all accounts",
    "select * from keys where (created_at, id) < (?, ?) order by created_at desc, id desc limit 50",
    "keys_by_creation",
  ],
  [
    "the newest accounts",
    "select * from accounts where (created_at, id) < (?, ?) order by created_at desc, id desc limit 50",
    "accounts_by_creation",
  ],
  [
    "a page of all accounts",
    "select * from accounts where (created_at, id) > (?, ?) order by created_at, id limit 50",
    "accounts_by_creation",
  ],
  ["expired blobs", "select id from blobs where expires_at <= ?", "blobs_by_expiry"],
  [
    "expired responses",
    "select id from stored_responses where expires_at <= ? limit 100",
    "stored_responses_by_expiry",
  ],
  [
    "what an account stores, from the index alone",
    "select id, sum(bytes) over (order by expires_at desc, id desc) as total from stored_responses where account_id = ?",
    "COVERING INDEX stored_responses_of_account",
  ],
  [
    "the rows of a response",
    "select id from stored_responses where account_id = ? and response_id = ?",
    "stored_responses_by_response",
  ],
  [
    "expired answers to repeated requests",
    "select id from idempotency_keys where expires_at <= ?",
    "idempotency_keys_by_expiry",
  ],
  [
    "the newest stored answer of an account",
    "select position from idempotency_keys where account_id = ? and position is not null order by position desc limit 1",
    "idempotency_keys_by_position",
  ],
  [
    "the charges of an account since a day",
    "select sum(charged_nanodollars) from daily_charges where account_id = ? and day >= ?",
    "spending USING PRIMARY KEY",
  ],
  [
    "the calls that are not counted yet",
    "select id from calls where seq > (select seq from usage_progress) order by seq limit 200",
    "calls USING INTEGER PRIMARY KEY (rowid>?)",
  ],
  [
    "what is spent of a budget in a period",
    "select sum(spent_nanodollars) from spending where account_id = ? and subject_id = ? and name = ? and day >= ?",
    "spending USING PRIMARY KEY (account_id=? AND subject_id=? AND name=? AND day>?)",
  ],
  [
    "a page of all budgets",
    "select * from budgets where (created_at, id) > (?, ?) order by created_at, id limit 50",
    "budgets_by_creation",
  ],
  [
    "what the names of each budget have spent",
    "select budgets.id, (select max(total) from (select sum(spent_nanodollars) as total from spending where account_id = owner.no and subject_id = budgets.no group by name) as sums) from budgets join payers as owner on owner.id = budgets.account_id",
    "spending USING PRIMARY KEY (account_id=? AND subject_id=?)",
  ],
  [
    "what a session has spent, of its own rows",
    "select max(run) from session_spending where account_id = ? and subject_id = ? and name = ?",
    "spending USING PRIMARY KEY (account_id=? AND subject_id=? AND name=?)",
  ],
  ["the latest quota day", "select * from daily_quota_usage where account_id = ? order by day desc", "PRIMARY KEY"],
])("%s are found by an index", async (_what, query, index) => {
  const file = temporaryFile();
  await temporaryStore(file);
  const database = new DatabaseSync(file, { readOnly: true });
  // In the words of the store, whose parameters decide no plan.
  const plan = database.prepare(`explain query plan ${query.replaceAll("?", "+?")}`).all(
    ...query
      .split("?")
      .slice(1)
      .map(() => 1),
  );
  database.close();
  const detail = plan.map((step) => step.detail).join("; ");
  expect(detail).toContain(index);
  // Only calls of one millisecond are put in order.
  expect(detail.replace("USE TEMP B-TREE FOR LAST TERM OF ORDER BY", "")).not.toContain("TEMP B-TREE");
});

test("a part of a session is summed up from its own rows", async () => {
  const file = temporaryFile();
  await temporaryStore(file);
  const database = new DatabaseSync(file, { readOnly: true });
  const plan = database
    .prepare(
      `explain query plan select agent, parent_agent, key_id, model, count(*), sum(cost_nanodollars) from call_rows
      where session is not null and session = +? and account_id = +? and opened_at >= +? and opened_at <= +? group by 1, 2, 3, 4`,
    )
    .all("s", 1, 1, 2);
  database.close();
  expect(plan.map((step) => step.detail).join("; ")).toContain(
    "calls_of_session (session=? AND opened_at>? AND opened_at<?)",
  );
});
