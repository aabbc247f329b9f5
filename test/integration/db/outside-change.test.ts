import { expect, test } from "bun:test";
import { sql } from "kysely";
import type { OpenCall } from "../../../src/db/index.ts";
import { addPayers } from "../../support/payers.ts";
import { temporaryFile, temporaryStore } from "./temporary-store.ts";

test("outsideChange tells of another connection's commit once, and counts up the revision", async () => {
  const file = temporaryFile();
  const [mine, other] = [await temporaryStore(file), await temporaryStore(file)];
  mine.pollExternalChange();
  const before = mine.revision;
  await other.setting("a", () => "b");
  expect(mine.pollExternalChange()).toBe(true);
  expect(mine.pollExternalChange()).toBe(false);
  expect(mine.revision).toBe(before + 1);
});

test("outsideChange is silent about writes of its own; touch speaks for those that others keep copies of", async () => {
  const store = await temporaryStore();
  store.pollExternalChange();
  const before = store.revision;
  await store.setting("a", () => "b");
  expect(store.pollExternalChange()).toBe(false);
  expect(store.revision).toBe(before);
  store.bumpRevision();
  expect(store.revision).toBe(before + 1);
});

test("numbers of names that another process gave to others are looked up anew by the next write", async () => {
  const file = temporaryFile();
  const [mine, other] = [await temporaryStore(file), await temporaryStore(file)];
  await addPayers(mine, { acc_1: ["key_1"] });
  await mine.writeLedger([openCall("c1")]);
  // As after a restore of a backup: the numbers are of others, and payers have no rows.
  await sql`update names set name = 'another ' || id where id > 3`.execute(other.db);
  await sql`delete from payers`.execute(other.db);
  await mine.writeLedger([openCall("c2")]);
  const rows = await mine.db.selectFrom("open_calls").select(["model", "account_id"]).where("id", "=", "c2").execute();
  expect(rows).toEqual([{ model: "model-1", account_id: "acc_1" }]);
});

function openCall(callId: string): OpenCall {
  return {
    kind: "open",
    callId,
    accountId: "acc_1",
    keyId: "key_1",
    model: "model-1",
    capability: "chat",
    premium: true,
    openedAt: 0,
    quotaDay: null,
    holdNanodollars: 10,
    holdTokens: 0,
    priceVersion: undefined,
  };
}
