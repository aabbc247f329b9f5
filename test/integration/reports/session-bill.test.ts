import { expect, test } from "bun:test";
import { callIdPrefix } from "../../../src/contract/index.ts";
import type { LedgerWrite, OpenCall, Store } from "../../../src/db/index.ts";
import { readAgentUsage, readBranch, readSessionBill } from "../../../src/reports/index.ts";
import { recordCalls } from "../../support/payers.ts";
import { randomBelow } from "../../support/random.ts";
import { endOf, openOf } from "../db/facts.ts";
import { temporaryStore } from "../db/temporary-store.ts";

const at = Date.UTC(2027, 0, 5);
let calls = 0;
const idAt = (openedAt: number) => callIdPrefix(openedAt) + (++calls).toString(16).padStart(20, "0");

/** A call of account `acc_1` and key `key1`, unless another is named. */
function callOf(openedAt: number, names: Partial<OpenCall>, cost = 7): LedgerWrite[] {
  const open = openOf(idAt(openedAt), { openedAt, ...names });
  return [
    open,
    endOf(open, {
      settledAt: openedAt + 10,
      meters: { inputToken: 3, cacheReadToken: 90, cacheWriteToken: 7, outputToken: 5 },
      costNanodollars: cost,
      chargedNanodollars: cost,
      durationMs: 10,
    }),
  ];
}

const bill = async (store: Store, session: string, others: { accountId?: string; keyId?: string } = {}) =>
  await readSessionBill(store, { accountId: "acc_1", session, ...others });

test("the bill of a session of more calls than are summed up at once is that of the ledger", async () => {
  const store = await temporaryStore();
  const below = randomBelow(5);
  const writes: LedgerWrite[] = [];
  let cost = 0;
  for (let call = 0; call < 11_000; call++) {
    const agent = below(9);
    const nanodollars = below(1000);
    cost += nanodollars;
    // Many begin in one millisecond, also where a part ends.
    const names = { session: "long", ...(agent > 0 && { agent: `a${agent}`, parentAgent: `a${below(11)}` }) };
    writes.push(...callOf(at + below(40), names, nanodollars));
  }
  // The same name elsewhere, and another one here.
  writes.push(
    ...callOf(at, { session: "long", accountId: "acc_2", keyId: "key2" }),
    ...callOf(at, { session: "short" }),
  );
  await recordCalls(store, writes);
  const read = await bill(store, "long");
  expect(read?.isComplete).toBe(true);
  expect(read?.figures).toMatchObject({ calls: 11_000, cost_nanodollars: cost, charged_nanodollars: cost });
  expect(read?.figures).toMatchObject({ input_tokens: 33_000, cache_read_tokens: 990_000, cache_write_tokens: 77_000 });
  for (const name of ["calls", "cost_nanodollars", "duration_ms", "cache_read_tokens"] as const) {
    const sum = read?.agents.reduce((total, { figures }) => total + figures[name], 0);
    expect([name, sum]).toEqual([name, read?.figures[name]]);
    expect([name, read?.agents[0]?.branch[name]]).toEqual([name, read?.figures[name]]);
  }
  const usage = await readAgentUsage(store, { accountId: "acc_1", session: "long" });
  expect(usage?.reduce((sum, row) => sum + row.charged_nanodollars, 0)).toBe(cost);
  await store.close();
});

test("a bill is that of one account, or of one key, and no bill where nobody made a call", async () => {
  const store = await temporaryStore();
  await recordCalls(store, [
    ...callOf(at, { session: "s", agent: "a" }),
    ...callOf(at, { session: "s", agent: "b", keyId: "key3" }),
    ...callOf(at, { session: "s", agent: "c", accountId: "acc_2", keyId: "key2" }),
  ]);
  const agentsOf = async (others: object) => (await bill(store, "s", others))?.agents.map(({ agent }) => agent);
  expect(await agentsOf({})).toEqual([undefined, "a", "b"]);
  expect(await agentsOf({ keyId: "key3" })).toEqual([undefined, "b"]);
  expect(await agentsOf({ accountId: "acc_2" })).toEqual([undefined, "c"]);
  expect(await bill(store, "s", { accountId: "acc_3" })).toBeUndefined();
  expect(await bill(store, "t")).toBeUndefined();
  await store.close();
});

test("the parent of an agent is the one that its first call named, also when a later one names another", async () => {
  const store = await temporaryStore();
  await recordCalls(store, [
    ...callOf(at + 3, { session: "s", agent: "c", parentAgent: "b" }),
    ...callOf(at, { session: "s", agent: "a" }),
    ...callOf(at + 1, { session: "s", agent: "b", parentAgent: "a" }),
    ...callOf(at + 2, { session: "s", agent: "c", parentAgent: "a" }),
  ]);
  const read = await bill(store, "s");
  expect(read?.agents.map(({ agent, parent, depth, agentsBelow }) => [agent, parent, depth, agentsBelow])).toEqual([
    [undefined, undefined, 0, 3],
    ["a", undefined, 1, 2],
    ["b", "a", 2, 0],
    ["c", "a", 2, 0],
  ]);
  await store.close();
});

test("a branch has what is below an agent, with calls that run", async () => {
  const store = await temporaryStore();
  const open = (names: Partial<OpenCall>) => openOf(idAt(at + 9), { openedAt: at + 9, session: "s", ...names });
  await recordCalls(store, [
    ...callOf(at, { session: "s", agent: "a" }),
    ...callOf(at, { session: "s", agent: "b", parentAgent: "a" }),
    open({ agent: "c", parentAgent: "b" }),
    open({ agent: "d" }),
    open({}),
  ]);
  const branchOf = async (agent?: string) => {
    const found = await readBranch(store, { accountId: "acc_1", session: "s", agent }, [
      { agent: "e", parentAgent: "c" },
    ]);
    return found && [[...found.agents].sort(), found.running];
  };
  expect(await branchOf("a")).toEqual([["a", "b", "c", "e"], 1]);
  expect(await branchOf("d")).toEqual([["d"], 1]);
  expect(await branchOf()).toEqual([[], 3]);
  expect(await branchOf("z")).toBeUndefined();
  const read = await bill(store, "s");
  expect([read?.running, read?.agents[0]?.running, read?.agents[0]?.branchRunning]).toEqual([3, 1, 3]);
  await store.close();
});
