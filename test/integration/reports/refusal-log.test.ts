import { expect, test } from "bun:test";
import { RefusalLog } from "../../../src/reports/index.ts";
import { temporaryStore } from "../db/temporary-store.ts";

function refusalOf(number: number, fields: { account_id?: string; key_id?: string; error_code?: string } = {}) {
  return {
    id: `r${1_000_000 + number}`,
    account_id: "acc_1",
    key_id: "key1",
    opened_at: number,
    endpoint: "POST /x",
    capability: null,
    model: null,
    protocol: null,
    status: 400,
    error_code: "invalid_request",
    message: "",
    session: null,
    tag: null,
    client_request_id: null,
    duration_ms: 0,
    ...fields,
  };
}

async function logOf() {
  const store = await temporaryStore();
  const warnings: unknown[][] = [];
  const log = { warn: (...line: unknown[]) => void warnings.push(line) };
  const refusals = new RefusalLog({ store, retentionDays: 1, now: () => 86_400_000 + 500, log });
  const rows = () => store.db.selectFrom("refusals").selectAll().orderBy("id").execute();
  return { store, refusals, rows, warnings };
}

test("a flood of one account becomes a few rows, which count all of it, and leaves room for others", async () => {
  const { refusals, rows, warnings } = await logOf();
  for (let number = 0; number < 50_000; number++) refusals.add(refusalOf(number));
  refusals.add(refusalOf(50_000, { account_id: "acc_2", key_id: "key2" }));
  await refusals.flush();
  const written = await rows();
  expect(written.map(({ requests }) => requests)).toEqual([...Array(20).fill(1), 50_000 - 20, 1]);
  expect(warnings).toEqual([]);
});

test("a flood of many accounts is bounded too, and what is dropped is counted in the log", async () => {
  const { refusals, rows, warnings } = await logOf();
  for (let number = 0; number < 1000; number++) {
    refusals.add(refusalOf(number, { account_id: `acc_${number}`, key_id: `key${number}` }));
  }
  await refusals.flush();
  expect((await rows()).length).toBe(200);
  expect(warnings).toEqual([["refusals_not_recorded", { requests: 800 }]]);
});

test("a store that fails loses what was told, says how much, and takes what comes after it", async () => {
  const { store, refusals, rows, warnings } = await logOf();
  await refusals.flush();
  refusals.add(refusalOf(1));
  await refusals.flush();
  refusals.add(refusalOf(1));
  await refusals.flush();
  expect(warnings).toEqual([["refusals_not_recorded", { requests: 1, error: expect.any(Error) }]]);
  refusals.add(refusalOf(600));
  await refusals.flush();
  expect((await rows()).map(({ opened_at }) => opened_at)).toEqual([1, 600]);
  expect(await refusals.prune()).toBe(1);
  expect(await store.db.selectFrom("refusals").select("opened_at").execute()).toEqual([{ opened_at: 600 }]);
});
