import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/contract/index.ts";
import { readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { engineNames, type MakeLedger, useEngines } from "./engines.ts";
import { addAccount, type BillingFixture, createAdmission, createSettlement, ledgerFixture } from "./fixture.ts";

const engines = useEngines();

/**
 * Each row is a story of one account with a wallet of 100 nanodollars and a quota of 100 tokens a day. Steps:
 * `hold N` (premium, answers with what it got), `free N` (non-premium), `settle N`, `release`, `unpriced` (settled at
 * an unknown cost, which is no amount), `balance N`, `held N`, `used N`, `refused CODE` (the step before it, which then is not counted as
 * running), `min N` (the calls from here on must be able to hold so much). A letter after a number names the call; without
 * one it is the last.
 */
const rows = [
  "hold 15 | held 15 | settle 13 | balance 87 | held 0",
  "hold 15 | release | balance 100 | held 0",
  "hold 15 | settle 15 | balance 85",
  "hold 15 | settle 0 | balance 100",
  "hold 15 | settle 20 | balance 80",
  "hold 15 | unpriced | balance 100 | held 0",
  "hold 15 | settle 13 | settle 13 | balance 87",
  "hold 15 | settle 13 | release | balance 87",
  "hold 15 | release | settle 13 | balance 100",
  "hold 60a | hold 60b | held 100 | hold 1 | refused insufficient_balance | settle 60a | held 40 | balance 40 | settle 40b | balance 0",
  "hold 100 | settle 130 | balance -30 | hold 1 | refused insufficient_balance",
  "hold 60a | hold 60b | settle 60a | settle 60b | balance -20",
  "hold 100 | settle 100 | hold 1 | refused insufficient_balance | free 10 | settle 10 | used 10",
  "hold 0 | held 0 | settle 3 | balance 97",
  "hold 60a | hold 60b | settle 10a | held 40 | hold 60c | held 90 | hold 1 | refused insufficient_balance | settle 40b | settle 50c | balance 0",
  "hold 60a | min 41 | hold 60 | refused insufficient_balance | min 40 | hold 60b | held 100 | settle 60a | settle 40b | balance 0",
  "hold 60a | hold 60b | settle 10a | release b | hold 90 | held 90 | settle 90 | balance 0",
  "free 30 | settle 20 | used 20 | balance 100",
  "free 30 | release | used 0",
  "free 30 | settle 40 | used 40",
  "free 60a | free 60b | free 1 | refused quota_exceeded | settle 10a | free 1 | settle 1 | settle 60b | used 71",
  "free 60a | free 60b | settle 10a | free 60c | free 1 | refused quota_exceeded | settle 40b | settle 50c | used 100",
  "free 60a | min 41 | free 60 | refused quota_exceeded | min 40 | free 60b | settle 60a | settle 40b | used 100",
  "free 100 | settle 120 | used 120 | free 1 | refused quota_exceeded | hold 5 | settle 5 | balance 95",
];

async function tell(fixture: BillingFixture, story: string): Promise<void> {
  const calls = new Map<string, string>();
  let failure: Error | undefined;
  let min: number | undefined;
  for (const step of story.split(" | ")) {
    const [verb = "", word = ""] = step.split(" ");
    const amount = Number.parseInt(word, 10);
    const name = word.replace(/^-?\d+/, "");
    if (verb === "refused") {
      expect(failure).toBeInstanceOf(GatewayError);
      expect((failure as GatewayError).code as string, step).toBe(word);
      failure = undefined;
      continue;
    }
    expect(failure, step).toBeUndefined();
    if (verb === "min") min = amount;
    else if (verb === "hold" || verb === "free") {
      const least = min === undefined ? {} : { minNanodollars: min, minTokens: min };
      const hold = { premium: verb === "hold", holdNanodollars: amount, holdTokens: amount, ...least };
      const admission = createAdmission(hold);
      const outcome = await fixture.ledger.admit(admission).catch((error: Error) => error);
      if (outcome instanceof Error) failure = outcome;
      else calls.set("", admission.callId).set(name, admission.callId);
    } else if (verb === "settle" || verb === "release" || verb === "unpriced") {
      const outcome = verb === "release" ? "released" : "settled";
      const cost = verb === "unpriced" ? undefined : Number.isNaN(amount) ? 0 : amount;
      const quotaTokens = Number.isNaN(amount) ? 0 : amount;
      await fixture.ledger.settle(
        createSettlement(calls.get(name) as string, { outcome, costNanodollars: cost, quotaTokens }),
      );
    } else {
      expect(await figure(fixture, verb), step).toBe(amount);
    }
  }
}

async function figure({ ledger }: BillingFixture, verb: string): Promise<number> {
  const wallet = await ledger.readWalletState("acc_1");
  if (verb === "balance") return wallet.balanceNanodollars;
  if (verb === "held") return wallet.heldNanodollars;
  if (verb === "used") return (await ledger.readQuotaState(createAdmission().caller)).usedTokens;
  throw new Error(`No step is called ${verb}`);
}

describe.each(engineNames)("%s engine", (name) => {
  const make: MakeLedger = (options) => engines[name](options);

  test.each(rows)("%s", async (story) => {
    const fixture = await ledgerFixture(undefined, make);
    await addAccount(fixture.store, "acc_1", 100);
    await tell(fixture, story);
    const inMemory = await fixture.ledger.readWalletState("acc_1");
    await fixture.ledger.close();
    expect(await readWalletState(fixture.store, "acc_1")).toEqual(inMemory);
    expect((await verifyLedger(fixture.store)).differences).toEqual([]);
  });

  test("a refusal names the figures and the way out", async () => {
    const { store, ledger } = await ledgerFixture(undefined, make);
    await addAccount(store, "acc_1", 100);
    await ledger.admit(createAdmission({ holdNanodollars: 100 }));
    expect((await errorOf(ledger.admit(createAdmission()))).message).toBe(
      "Insufficient balance for the paid model model-1: the wallet has 0.0000001 USD with 0.0000001 USD held by running calls, and this request needs up to 0.000000001 USD; wait for running calls to end, give them a smaller max_tokens, or credit the wallet",
    );
    expect((await errorOf(ledger.admit(createAdmission({ accountId: "acc_2" })))).message).toEndWith(
      "the wallet has 0 USD with 0 USD held by running calls, and this request needs up to 0.000000001 USD; credit the wallet, or use a free model",
    );
  });

  test("settling a call that was never admitted is a fault of the program, and nothing is written", async () => {
    const { ledger } = await ledgerFixture(undefined, make);
    expect((await errorOf(ledger.settle(createSettlement("call_x")))).message).toBe(
      "Cannot settle call call_x: it was never admitted",
    );
  });

  test.each([
    ["a negative cost", { costNanodollars: -1 }],
    ["half a token", { quotaTokens: 0.5 }],
    ["a negative meter", { meters: { inputToken: -5 } }],
    ["a cost that is not a number", { costNanodollars: Number.NaN }],
    ["a cost beyond 2^53", { costNanodollars: 2 ** 53 }],
  ])("%s is refused and the call can still be settled", async (_what, fields) => {
    const { store, ledger } = await ledgerFixture(undefined, make);
    await addAccount(store, "acc_1", 100);
    const admission = createAdmission();
    await ledger.admit(admission);
    expect(await errorOf(ledger.settle(createSettlement(admission.callId, fields)))).toBeInstanceOf(RangeError);
    await ledger.settle(createSettlement(admission.callId));
    expect(await ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 90, heldNanodollars: 0 });
  });

  test.each([{ holdNanodollars: -1 }, { holdTokens: 0.5 }, { limitTokens: Number.POSITIVE_INFINITY }])(
    "a claim of %j is refused",
    async (fields) => {
      const { store, ledger } = await ledgerFixture(undefined, make);
      await addAccount(store, "acc_1", 100);
      expect(await errorOf(ledger.admit(createAdmission(fields)))).toBeInstanceOf(RangeError);
      expect((await ledger.readWalletState("acc_1")).heldNanodollars).toBe(0);
    },
  );
});
