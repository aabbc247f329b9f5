import { afterEach, describe, expect, test } from "bun:test";
import { type Caller, GatewayError, makeCallId } from "../../../src/contract/index.ts";
import { readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import { type ChatChunk, fromIterable, type Model } from "../../../src/provider/index.ts";
import { callOf, chatModel, createBench, createPlugin, runCall, startMs } from "../../unit/kernel/support.ts";
import { engineNames, type MakeLedger, useEngines } from "./engines.ts";
import { addAccount, type BillingFixture, budgetOfKey, ledgerFixture, newYear, statesOf } from "./fixture.ts";

const engines = useEngines();
const cent = 10_000_000;
/** A byte of it is a token, which is the most it can be. */
const text = "x".repeat(64);
const outputTokensMax = 20_000;
const promptTokens = 11;

/** What the provider sends and bills: all that it is allowed, in chunks of so many pieces. */
async function* stream(n: number, max: number, piecesPerChunk: number): AsyncGenerator<ChatChunk> {
  let sent = 0;
  const piece = text.repeat(piecesPerChunk);
  for (; sent + piece.length <= max; sent += piece.length) {
    for (let index = 0; index < n; index++) yield { choices: [{ index, delta: { content: piece } }] };
  }
  for (let index = 0; index < n; index++) yield { choices: [{ index, delta: {}, finish_reason: "length" }] };
  const usage = { prompt_tokens: promptTokens, completion_tokens: n * sent, total_tokens: promptTokens + n * sent };
  yield { choices: [], usage };
}

describe.each(engineNames)("64 streams at once that use all they may: %s engine", (name) => {
  const make: MakeLedger = (options) => engines[name](options);
  let fixture: BillingFixture;
  afterEach(() => fixture.ledger.close());

  /** How each ended: `length`, or the code of its error; and how many chunks came before an error. */
  async function race(fields: { n?: number; premium?: boolean; piecesPerChunk?: number; caller?: Partial<Caller> }) {
    const { n = 1, premium = true, piecesPerChunk = 4, caller } = fields;
    const row: Model = { ...chatModel, id: "m", premium, contextTokens: 200_000, outputTokensMax };
    const plugin = createPlugin(
      {
        chat: async ({ request }) =>
          fromIterable(stream(request.n ?? 1, request.max_tokens ?? outputTokensMax, piecesPerChunk)),
      },
      { models: [row], maxChoices: { chat: 128 } },
    );
    const { kernel, log } = createBench([plugin]);
    const limits = { requestsPerMinute: 1e6, tokensPerMinute: 1e12 };
    const by: Caller = { accountId: "acc_1", keyId: "key_1", limits, freeTokensPerDay: 100_000, ...caller };
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, async (_, index) => {
        let chunks = 0;
        const sink = { open: () => undefined, write: () => void chunks++, pass: () => undefined };
        const request = { model: "m", n, stream: true, messages: [{ role: "user" as const, content: "Hello" }] };
        const about = { id: makeCallId(newYear + index), openedAt: newYear, startedMs: startMs, caller: by, sink };
        const call = callOf("chat", request, about);
        return await runCall({ ...kernel, ledger: fixture.ledger }, call).then(
          () => ({ outcome: "served", chunks, lowered: call.run?.lowered !== undefined }),
          (error) => ({ outcome: error instanceof GatewayError ? error.code : String(error), chunks, lowered: false }),
        );
      }),
    );
    expect(log.lines.filter(({ level }) => level === "error")).toEqual([]);
    expect((await verifyLedger(fixture.store)).differences).toEqual([]);
    expect(Object.values(await statesOf(fixture.store))).not.toContain("open");
    expect((await fixture.ledger.readWalletState("acc_1")).heldNanodollars).toBe(0);
    return outcomes;
  }

  const codesOf = (outcomes: { outcome: string }[]) => new Set(outcomes.map(({ outcome }) => outcome));

  test.each([
    ["one choice", {}, true],
    ["four choices", { n: 4 }, true],
    // All hold a first part, and for none there is enough left for its first chunk.
    ["chunks larger than a step", { piecesPerChunk: 100 }, false],
  ])("a small wallet pays for all that was sent, and no more: %s", async (_, fields, hasBegun) => {
    fixture = await ledgerFixture(undefined, make);
    // Some 50 000 tokens of output: two and a half answers.
    await addAccount(fixture.store, "acc_1", 10 * cent);
    const outcomes = await race(fields);
    expect([...codesOf(outcomes)].filter((code) => code !== "served")).toEqual(["insufficient_balance"]);
    // Some had begun, and ended when nothing was left.
    if (hasBegun) expect(outcomes.some(({ outcome, chunks }) => outcome !== "served" && chunks > 0)).toBe(true);
    const { balanceNanodollars } = await readWalletState(fixture.store, "acc_1");
    expect(balanceNanodollars).toBeGreaterThanOrEqual(0);
    expect(balanceNanodollars).toBeLessThan(10 * cent);
  });

  test("one alone gets all that the wallet can pay, by a lowered limit", async () => {
    fixture = await ledgerFixture(undefined, make);
    await addAccount(fixture.store, "acc_1", 2 * cent);
    const outcomes = await race({});
    expect(outcomes.length).toBe(64);
    const { balanceNanodollars } = await readWalletState(fixture.store, "acc_1");
    expect(balanceNanodollars).toBeGreaterThanOrEqual(0);
  });

  test("a budget of a key is never exceeded", async () => {
    fixture = await ledgerFixture(undefined, make);
    await addAccount(fixture.store, "acc_1", 1000 * cent);
    const outcomes = await race({ caller: { budgets: [budgetOfKey(10 * cent)] } });
    expect([...codesOf(outcomes)].filter((code) => code !== "served")).toEqual(["budget_exceeded"]);
    expect(outcomes.some(({ outcome, chunks }) => outcome !== "served" && chunks > 0)).toBe(true);
    expect((await readWalletState(fixture.store, "acc_1")).balanceNanodollars).toBeGreaterThanOrEqual(990 * cent);
  });

  test("a daily quota is never exceeded", async () => {
    fixture = await ledgerFixture(undefined, make);
    await addAccount(fixture.store, "acc_1");
    const outcomes = await race({ premium: false });
    expect([...codesOf(outcomes)].filter((code) => code !== "served")).toEqual(["quota_exceeded"]);
    expect(outcomes.some(({ outcome, chunks }) => outcome !== "served" && chunks > 0)).toBe(true);
    const { usedTokens, heldTokens } = await fixture.ledger.readQuotaState({
      accountId: "acc_1",
      freeTokensPerDay: 100_000,
    });
    expect(heldTokens).toBe(0);
    expect(usedTokens).toBeLessThanOrEqual(100_000);
    expect(usedTokens).toBeGreaterThan(10_000);
  });
});
