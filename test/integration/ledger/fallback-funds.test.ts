import { afterEach, describe, expect, test } from "bun:test";
import { makeCallId } from "../../../src/contract/index.ts";
import { readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import type { Handlers, Model } from "../../../src/provider/index.ts";
import { unavailable } from "../../unit/kernel/fallback-bench.ts";
import { completionOf } from "../../unit/kernel/streams.ts";
import { callOf, chatModel, createBench, createPlugin, rejectionOf, runCall } from "../../unit/kernel/support.ts";
import { engineNames, type MakeLedger, useEngines } from "./engines.ts";
import { addAccount, type BillingFixture, ledgerFixture, newYear } from "./fixture.ts";

const engines = useEngines();
const cent = 10_000_000;
const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 };
const priceOf = (usd: string) => ({ inputToken: { usd, per: 1_000_000 }, outputToken: { usd, per: 1_000_000 } });

describe.each(engineNames)("the funds of a fallback: %s engine", (name) => {
  const make: MakeLedger = (options) => engines[name](options);
  let fixture: BillingFixture;
  afterEach(() => fixture.ledger.close());

  /** Runs calls for `cheap`, then `dear`, on a wallet of one cent. */
  async function run(count: number, cheap: NonNullable<Handlers["chat"]>, dearUsd: string) {
    fixture = await ledgerFixture(undefined, make);
    await addAccount(fixture.store, "acc_1", cent);
    const asked: string[] = [];
    const dear: NonNullable<Handlers["chat"]> = async ({ model }) => {
      asked.push(model.id);
      return { ...completionOf("From dear"), usage };
    };
    const row = (id: string, usd: string): Model => ({ ...chatModel, id, price: priceOf(usd), outputTokensMax: 100 });
    const { kernel } = createBench([
      createPlugin({ chat: cheap }, { name: "one", models: [row("cheap", "0.01")] }),
      createPlugin({ chat: dear }, { name: "two", models: [row("dear", dearUsd)] }),
    ]);
    const limits = { requestsPerMinute: 1e6, tokensPerMinute: 1e12 };
    const caller = { accountId: "acc_1", keyId: "key_1", limits, freeTokensPerDay: 0 };
    const messages = [{ role: "user" as const, content: "x".repeat(900) }];
    const calls = Array.from({ length: count }, () => {
      const about = { id: makeCallId(newYear), openedAt: newYear, caller, models: ["cheap", "dear"] };
      return runCall({ ...kernel, ledger: fixture.ledger }, callOf("chat", { model: "cheap", messages }, about));
    });
    return { calls, asked };
  }

  const books = async () => {
    expect((await verifyLedger(fixture.store)).differences).toEqual([]);
    return await readWalletState(fixture.store, "acc_1");
  };

  test("one that the wallet does not cover is not asked, and the error names it and what failed before", async () => {
    const { calls, asked } = await run(1, unavailable, "100");
    const error = await rejectionOf(calls[0] as Promise<unknown>);
    expect(error.code).toBe("insufficient_balance");
    expect(error.message).toMatch(/paid model dear: .* \(also tried: 'cheap' \(upstream_error\)\)$/);
    expect(asked).toEqual([]);
    expect(await books()).toEqual({ balanceNanodollars: cent, heldNanodollars: 0 });
  });

  test("one that serves needs no money for the others", async () => {
    const { calls, asked } = await run(1, async () => ({ ...completionOf("From cheap"), usage }), "100");
    expect(await calls[0]).toMatchObject({ model: "cheap" });
    expect(asked).toEqual([]);
    expect(await books()).toEqual({ balanceNanodollars: cent - 11_000, heldNanodollars: 0 });
  });

  test("of many at once whose first model fails, no more are asked than the wallet covers", async () => {
    // The charge of each is 0.22 cents, so four fit.
    const { calls, asked } = await run(32, unavailable, "2");
    const outcomes = await Promise.allSettled(calls);
    const { balanceNanodollars, heldNanodollars } = await books();
    expect(heldNanodollars).toBe(0);
    expect(balanceNanodollars).toBeGreaterThanOrEqual(0);
    expect(balanceNanodollars).toBe(cent - asked.length * 2_200_000);
    expect(asked.length).toBe(4);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(4);
  });
});
