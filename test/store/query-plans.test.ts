import { expect, test } from "bun:test";
import { DatabaseSync } from "node:sqlite";
import { temporaryFile, temporaryStore } from "./temporary-store.ts";

test.each([
  [
    "the calls of an account in a time",
    "select id from calls where account_id = ? and opened_at >= ?",
    "calls_of_account",
  ],
  ["the open calls", "select * from calls where state = 'open'", "calls_open"],
  [
    "what open calls of an account hold",
    "select sum(hold_nanodollars) from calls where account_id = ? and state = 'open'",
    "calls_open",
  ],
  [
    "movements made by hand",
    "select * from entries where account_id = ? and kind <> 'charge' order by at",
    "entries_by_hand",
  ],
  ["the keys of an account", "select * from keys where account_id = ?", "keys_of_account"],
  ["expired blobs", "select id from blobs where expires_at <= ?", "blobs_by_expiry"],
  ["usage of an account in a time", "select * from usage_hours where account_id = ? and hour >= ?", "PRIMARY KEY"],
  ["the latest quota day", "select * from quota_days where account_id = ? order by day desc", "PRIMARY KEY"],
])("%s are found by an index", async (_what, query, index) => {
  const file = temporaryFile();
  await temporaryStore(file);
  const database = new DatabaseSync(file, { readOnly: true });
  const plan = database.prepare(`explain query plan ${query}`).all(
    ...query
      .split("?")
      .slice(1)
      .map(() => 1),
  );
  database.close();
  const detail = plan.map((step) => step.detail).join("; ");
  expect(detail).toContain(index);
  expect(detail).not.toContain("TEMP B-TREE");
});
