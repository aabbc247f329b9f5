import { expect } from "bun:test";
import { type BudgetDraw, moveWallet, type OpenCall, type Store, toPayerNumber } from "../../../../src/db/index.ts";
import { addPayers } from "../../../support/payers.ts";
import { node, postgresTest } from "./fixture.ts";

const guard = { quotaLimit: 100, minHold: 20, draws: [] };

/** What a call of the first key draws on. */
function drawOf(limitNanodollars: number): BudgetDraw {
  const budget = { id: "bud_1", subject: "key", name: "key_1", limitNanodollars, period: "day" } as const;
  const sums = { subjectNo: toPayerNumber("key_1"), name: "", from: 0, until: 1, today: 0 };
  return { budget, name: "key_1", limitNanodollars, sums };
}

function openOf(callId: string, fields: Partial<OpenCall> = {}): OpenCall {
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
    holdNanodollars: 0,
    holdTokens: 0,
    priceVersion: undefined,
    guard,
    ...fields,
  };
}

const setWallet = (store: Store, nanodollars: number) => store.change((db) => moveWallet(db, "acc_1", nanodollars));

postgresTest(
  "a batch is decided in its order: each hold by what those before it left, and none below its minimum",
  async () => {
    const { store } = await node();
    await addPayers(store, { acc_1: ["key_1", "key_2"] });
    await setWallet(store, 100);
    const wants = [50, 40, 60, 20].map((holdNanodollars, index) =>
      openOf(`c${index}`, { holdNanodollars, session: `s${index}` }),
    );
    const judged = openOf("judged elsewhere", { holdNanodollars: 5, guard: undefined });
    const said = await store.writeLedger([judged, ...wants]);
    const left = { quotaDay: null, holdTokens: 0 };
    expect(wants.map((open) => said?.get(open))).toEqual([
      { ...left, holdNanodollars: 50, available: 95 },
      { ...left, holdNanodollars: 40, available: 45 },
      expect.objectContaining({ refused: "balance", there: 100, openHolds: 95 }),
      expect.objectContaining({ refused: "balance", there: 100, openHolds: 95 }),
    ]);
    expect(said?.has(judged)).toBe(false);
    const rows = await store.db
      .selectFrom("open_calls")
      .select(["id", "hold_nanodollars", "session"])
      .orderBy("id")
      .execute();
    expect(rows.map((row) => [row.id, row.hold_nanodollars, row.session])).toEqual([
      ["c0", 50, "s0"],
      ["c1", 40, "s1"],
      ["judged elsewhere", 5, null],
    ]);
  },
);

postgresTest("a budget, a quota and a wallet of one batch are each their own, exact to 2^53", async () => {
  const { store } = await node();
  await addPayers(store, { acc_1: ["key_1", "key_2"] });
  const max = Number.MAX_SAFE_INTEGER;
  await setWallet(store, max);
  const budget = { guard: { quotaLimit: 100, draws: [drawOf(10)], minHold: 1 } };
  const free = { premium: false, quotaDay: 7, holdTokens: 80 };
  const opens = [
    openOf("in the budget", { ...budget, holdNanodollars: 4 }),
    openOf("the rest of it", { ...budget, holdNanodollars: 9 }),
    openOf("beyond it", { ...budget, holdNanodollars: 1 }),
    openOf("of another key", { holdNanodollars: Number.MAX_SAFE_INTEGER - 20, keyId: "key_2" }),
    openOf("free", free),
    openOf("the rest of the day", free),
    openOf("beyond the day", free),
  ];
  const said = await store.writeLedger(opens);
  const money = { quotaDay: null, holdTokens: 0 };
  const tokens = { quotaDay: 7, holdNanodollars: 0 };
  expect(opens.map((open) => said?.get(open))).toEqual([
    { ...money, holdNanodollars: 4, available: 10 },
    { ...money, holdNanodollars: 6, available: 6 },
    expect.objectContaining({ refused: "budget", there: 0, openHolds: 10, draw: drawOf(10) }),
    { ...money, holdNanodollars: max - 20, available: max - 10 },
    { ...tokens, holdTokens: 80, available: 100 },
    { ...tokens, holdTokens: 20, available: 20 },
    expect.objectContaining({ refused: "quota", there: 0, openHolds: 100, day: 7 }),
  ]);
});

postgresTest(
  "an extension that is refused keeps its old hold, which counts for those behind it in the batch",
  async () => {
    const { store } = await node();
    await addPayers(store, { acc_1: ["key_1", "key_2"] });
    await setWallet(store, 100);
    const budget = { draws: [drawOf(90)], quotaLimit: 100, minHold: 1 };
    const paid = [60, 10].map((holdNanodollars, index) =>
      openOf(`paid ${index}`, { holdNanodollars, guard: budget }),
    ) as [OpenCall, OpenCall];
    const free = [50, 10].map((holdTokens, index) =>
      openOf(`free ${index}`, { premium: false, quotaDay: 7, holdTokens, guard: { ...guard, minHold: 1 } }),
    ) as [OpenCall, OpenCall];
    await store.writeLedger([...paid, ...free]);
    const extend = (open: OpenCall, fields: Partial<OpenCall>, minHold: number) =>
      ({ kind: "extend", open: { ...open, guard: { ...budget, minHold }, ...fields } }) as const;
    const extensions = [
      extend(paid[0], { holdNanodollars: 200 }, 95),
      extend(paid[1], { holdNanodollars: 200 }, 11),
      extend(free[0], { holdTokens: 200 }, 95),
      extend(free[1], { holdTokens: 200 }, 11),
    ] as const;
    const behind = [
      openOf("paid behind", { holdNanodollars: 40, keyId: "key_2", guard: { ...guard, minHold: 1 } }),
      openOf("free behind", { premium: false, quotaDay: 7, holdTokens: 40, guard: { ...guard, minHold: 1 } }),
    ] as const;
    const said = await store.writeLedger([
      extensions[1],
      extensions[0],
      behind[0],
      extensions[3],
      extensions[2],
      behind[1],
    ]);
    const decisions = [...extensions.map(({ open }) => open), ...behind].map((open) => said?.get(open));
    expect(decisions).toMatchObject([
      expect.objectContaining({ refused: "budget", there: 0, openHolds: 30, draw: drawOf(90) }),
      { holdNanodollars: 30 },
      expect.objectContaining({ refused: "quota", there: 0, openHolds: 50, day: 7 }),
      { holdTokens: 50 },
      { holdNanodollars: 10 },
      expect.objectContaining({ refused: "quota", there: 0, openHolds: 100, day: 7 }),
    ]);
    const rows = await store.db
      .selectFrom("open_calls")
      .select(["id", "hold_nanodollars", "hold_tokens"])
      .orderBy("id")
      .execute();
    expect(rows.map((row) => [row.id, row.hold_nanodollars, row.hold_tokens])).toEqual([
      ["free 0", 0, 50],
      ["free 1", 0, 50],
      ["paid 0", 60, 0],
      ["paid 1", 30, 0],
      ["paid behind", 10, 0],
    ]);
  },
);
