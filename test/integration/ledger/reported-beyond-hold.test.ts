import { afterEach, describe, expect, test } from "bun:test";
import { type Caller, GatewayError, makeCallId } from "../../../src/contract/index.ts";
import { readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import { type Call, type ChatChunk, fromIterable, type Model } from "../../../src/provider/index.ts";
import { callOf, chatModel, createBench, createPlugin, runCall, startMs } from "../../unit/kernel/support.ts";
import { engineNames, type MakeLedger, useEngines } from "./engines.ts";
import { addAccount, type BillingFixture, budgetOfKey, ledgerFixture, newYear } from "./fixture.ts";

const engines = useEngines();
const cent = 10_000_000;
const million = 1_000_000;
const reportedTokens = 32_000;
/** A token of output costs $0.000005, so an answer $0.16. */
const price = { inputToken: { usd: "1", per: million }, outputToken: { usd: "5", per: million } };

/** A provider that shows two bytes of each answer and reports far more, once all streams have begun. */
function createProvider(streams: number, tokens: number, row: Partial<Model>, left = false) {
  const all = Promise.withResolvers<void>();
  let begun = 0;
  async function* stream(): AsyncGenerator<ChatChunk> {
    yield { choices: [{ index: 0, delta: { content: "Hi" } }] };
    if (++begun === streams) all.resolve();
    await all.promise;
    yield { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
    const usage = { prompt_tokens: 10, completion_tokens: tokens, total_tokens: 10 + tokens };
    yield { choices: [], usage };
  }
  const models = [{ ...chatModel, id: "m", contextTokens: 200_000, outputTokensMax: reportedTokens, price, ...row }];
  const chat = async ({ warn }: Pick<Call<unknown>, "warn">) => {
    if (left) warn("Left out max_tokens, which this server does not take", "max_tokens");
    return fromIterable(stream());
  };
  return createPlugin({ chat: Object.assign(chat, { omits: () => [] }) }, { models });
}

describe.each(engineNames)("a stream whose provider reports more than it shows: %s engine", (name) => {
  const make: MakeLedger = (options) => engines[name](options);
  let fixture: BillingFixture;
  let calls = 0;
  afterEach(() => fixture.ledger.close());

  /** Runs streams at once; each ends as `served` or by the code of its error. */
  async function serve(streams: number, options: ServeOptions = {}) {
    const { row = {}, tokens = reportedTokens, caller = {}, limit = {}, leftOut = [] } = options;
    const { kernel, log } = createBench([createProvider(streams, tokens, row, options.left)]);
    const limits = { requestsPerMinute: 1e6, tokensPerMinute: 1e12 };
    const by: Caller = { accountId: "acc_1", keyId: "key_1", limits, freeTokensPerDay: 100_000, ...caller };
    const outcomes = await Promise.all(
      Array.from({ length: streams }, async () => {
        const sink = { open: () => undefined, write: () => undefined, pass: () => undefined };
        const request = { model: "m", stream: true, messages: [{ role: "user" as const, content: "Hello" }], ...limit };
        const about = {
          id: makeCallId(newYear + calls++),
          openedAt: newYear,
          startedMs: startMs,
          caller: by,
          sink,
          leftOut,
        };
        return await runCall({ ...kernel, ledger: fixture.ledger }, callOf("chat", request, about)).then(
          () => "served",
          (error) => (error instanceof GatewayError ? error.code : String(error)),
        );
      }),
    );
    expect((await verifyLedger(fixture.store)).differences).toEqual([]);
    expect((await fixture.ledger.readWalletState("acc_1")).heldNanodollars).toBe(0);
    return { outcomes, log };
  }

  const balanceOf = async () => (await readWalletState(fixture.store, "acc_1")).balanceNanodollars;
  const costOf = (outputTokens: number) => 10 * 1000 + outputTokens * 5000;

  test("is charged all of it where the call can have used it, below zero too, and no other call follows", async () => {
    fixture = await ledgerFixture(undefined, make);
    await addAccount(fixture.store, "acc_1", 30 * cent);
    const { outcomes } = await serve(8);
    expect(outcomes).toEqual(Array.from({ length: 8 }, () => "served"));
    expect(await balanceOf()).toBe(30 * cent - 8 * costOf(reportedTokens));
    expect((await serve(1)).outcomes).toEqual(["insufficient_balance"]);
    expect(await balanceOf()).toBe(30 * cent - 8 * costOf(reportedTokens));
  });

  test("is charged the most of the call where it cannot, and the rest is shown to the operator", async () => {
    fixture = await ledgerFixture(undefined, make);
    await addAccount(fixture.store, "acc_1", 30 * cent);
    const { outcomes, log } = await serve(1, { tokens: 10 * reportedTokens });
    expect(outcomes).toEqual(["served"]);
    expect(await balanceOf()).toBe(30 * cent - costOf(reportedTokens));
    const unchargedUsd = (9 * reportedTokens * 5) / million;
    expect(log.lines).toContainEqual(
      expect.objectContaining({ event: "usage_implausible", fields: expect.objectContaining({ unchargedUsd }) }),
    );
  });

  test("is charged what it reports where the provider was not sent the limit, however many fields the caller loses", async () => {
    fixture = await ledgerFixture(undefined, make);
    await addAccount(fixture.store, "acc_1", 30 * cent);
    const limit = { max_tokens: 100 };
    for (const [left, leftOut] of [
      [true, []],
      [true, Array.from({ length: 60 }, (_, index) => `unknown_${index}`)],
      [false, []],
    ] as const) {
      const before = await balanceOf();
      expect((await serve(1, { tokens: 3000, left, limit, leftOut })).outcomes).toEqual(["served"]);
      expect([left, before - (await balanceOf())]).toEqual([left, costOf(left ? 3000 : 100)]);
    }
  });

  test("holds all of its output where a part may be hidden, so that nothing is overdrawn", async () => {
    for (const row of [{ reasoning: true }, { reasoning: undefined }] as Partial<Model>[]) {
      fixture = await ledgerFixture(undefined, make);
      await addAccount(fixture.store, "acc_1", 30 * cent);
      const { outcomes } = await serve(1, { row });
      expect(outcomes).toEqual(["served"]);
      expect(await balanceOf()).toBe(30 * cent - costOf(reportedTokens));
      await fixture.ledger.close();
      fixture = await ledgerFixture(undefined, make);
      await addAccount(fixture.store, "acc_1", 2 * cent);
      // The limit of the output is lowered to what is left, before a call is refused.
      expect((await serve(1, { row, tokens: 3000 })).outcomes).toEqual(["served"]);
      expect(await balanceOf()).toBe(2 * cent - costOf(3000));
      await fixture.ledger.close();
    }
    fixture = await ledgerFixture(undefined, make);
  });

  test("counts against the daily quota in full, and nothing is left of it", async () => {
    fixture = await ledgerFixture(undefined, make);
    await addAccount(fixture.store, "acc_1");
    const { outcomes } = await serve(6, { row: { premium: false } });
    expect(outcomes).toEqual(Array.from({ length: 6 }, () => "served"));
    const quota = await fixture.ledger.readQuotaState({ accountId: "acc_1", freeTokensPerDay: 100_000 });
    expect(quota).toMatchObject({ usedTokens: 6 * (10 + reportedTokens), heldTokens: 0 });
    expect((await serve(1, { row: { premium: false } })).outcomes).toEqual(["quota_exceeded"]);
  });

  test("counts against the budget of its key in full", async () => {
    fixture = await ledgerFixture(undefined, make);
    await addAccount(fixture.store, "acc_1", 1000 * cent);
    const caller = { budgets: [budgetOfKey(30 * cent)] };
    expect(new Set((await serve(4, { caller })).outcomes)).toEqual(new Set(["served"]));
    expect(await balanceOf()).toBe(1000 * cent - 4 * costOf(reportedTokens));
    expect((await serve(1, { caller })).outcomes).toEqual(["budget_exceeded"]);
  });
});

interface ServeOptions {
  row?: Partial<Model>;
  /** The tokens of output that each reports. */
  tokens?: number;
  caller?: Partial<Caller>;
  /** The limit of the output that each requests, and whether the provider's handler leaves it out. */
  limit?: { max_tokens?: number };
  left?: boolean;
  /** Other fields that a translation has left out. */
  leftOut?: readonly string[];
}
