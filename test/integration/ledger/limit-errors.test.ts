import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/contract/index.ts";
import { creditWallet } from "../../../src/ledger/index.ts";
import { engineNames, type MakeLedger, useEngines } from "./engines.ts";
import {
  type AdmissionFields,
  addAccount,
  type BillingFixture,
  createAdmission,
  createSettlement,
  dayMs,
  ledgerFixture,
} from "./fixture.ts";

const engines = useEngines();

/** A limit that is used up by `calls` calls: what the next one is told, and what makes it free again. */
interface Row {
  limit: string;
  fields: AdmissionFields;
  calls: number;
  code: string;
  status: number;
  says: string;
  retryAfterMs: number | undefined;
  frees: "time" | "end" | "credit";
}

const free = { premium: false, holdTokens: 0 };
const rows: Row[] = [
  {
    limit: "a key's budget",
    fields: { keyLimits: { budgetNanodollars: 10 } },
    calls: 1,
    code: "budget_exceeded",
    status: 403,
    says: "Monthly budget of this key reached: 0.00000001 USD (set for this key), 0 USD spent and 0.00000001 USD held by running calls, and this request needs up to 0.000000001 USD; it resets at 2026-02-01T00:00:00.000Z",
    retryAfterMs: 31 * dayMs,
    frees: "end",
  },
  {
    limit: "a key's requests a minute",
    fields: { ...free, keyLimits: { requestsPerMinute: 2 } },
    calls: 2,
    code: "rate_limit_exceeded",
    status: 429,
    says: "Request limit reached: 2 requests a minute for this key; try again in 30 s",
    retryAfterMs: 30_000,
    frees: "time",
  },
  {
    limit: "a key's tokens a minute",
    fields: { ...free, limitTokens: 500, keyLimits: { tokensPerMinute: 1000 } },
    calls: 2,
    code: "rate_limit_exceeded",
    status: 429,
    says: "Token limit reached: 1000 tokens a minute for this key, and this request has 500; try again in 30 s",
    retryAfterMs: 30_000,
    frees: "time",
  },
  {
    limit: "a key's calls at once",
    fields: { ...free, keyLimits: { concurrentCalls: 2 } },
    calls: 2,
    code: "rate_limit_exceeded",
    status: 429,
    says: "Concurrency limit reached: 2 calls at once for this key; try again when one of them has ended",
    retryAfterMs: 1000,
    frees: "end",
  },
  {
    limit: "the account's requests a minute",
    fields: { ...free, requestsPerMinute: 2 },
    calls: 2,
    code: "rate_limit_exceeded",
    status: 429,
    says: "Request limit reached: 2 requests a minute for this account; try again in 30 s",
    retryAfterMs: 30_000,
    frees: "time",
  },
  {
    limit: "the account's tokens a minute",
    fields: { ...free, limitTokens: 500, tokensPerMinute: 1000 },
    calls: 2,
    code: "rate_limit_exceeded",
    status: 429,
    says: "Token limit reached: 1000 tokens a minute for this account, and this request has 500; try again in 30 s",
    retryAfterMs: 30_000,
    frees: "time",
  },
  {
    limit: "the account's calls at once",
    fields: { ...free, concurrentCalls: 2 },
    calls: 2,
    code: "rate_limit_exceeded",
    status: 429,
    says: "Concurrency limit reached: 2 calls at once for this account; try again when one of them has ended",
    retryAfterMs: 1000,
    frees: "end",
  },
  {
    limit: "the daily quota",
    fields: { premium: false, holdTokens: 50, freeTokensPerDay: 100 },
    calls: 2,
    code: "quota_exceeded",
    status: 403,
    says: "Daily token quota reached: 100 free tokens a day, 0 used and 100 held by running calls; it resets at 2026-01-02T00:00:00.000Z",
    retryAfterMs: dayMs,
    frees: "time",
  },
  {
    limit: "the wallet",
    fields: { holdNanodollars: 500 },
    calls: 2,
    code: "insufficient_balance",
    status: 403,
    says: "Insufficient balance for the paid model model-1: the wallet has 0.000001 USD with 0.000001 USD held by running calls, and this request needs up to 0.000000001 USD; wait for running calls to end",
    retryAfterMs: undefined,
    frees: "credit",
  },
];

describe.each(engineNames)("%s engine", (name) => {
  const make: MakeLedger = (options) => engines[name](options);

  async function fixture(): Promise<BillingFixture> {
    const made = await ledgerFixture(undefined, make);
    await addAccount(made.store, "acc_1", 1000);
    return made;
  }

  async function refusalOf({ ledger }: BillingFixture, fields: AdmissionFields): Promise<GatewayError> {
    const error = await ledger.admit(createAdmission(fields)).catch((thrown: unknown) => thrown);
    if (error instanceof GatewayError) return error;
    throw new Error(`The call was not refused: ${error}`);
  }

  test.each(rows)("$limit lets in its last call and refuses the next, naming itself and when it frees", async (row) => {
    const { fields, calls, frees } = row;
    const made = await fixture();
    const running = Array.from({ length: calls }, () => createAdmission(fields));
    for (const admission of running) await made.ledger.admit(admission);
    const error = await refusalOf(made, fields);
    expect([error.code as string, error.status, error.retryAfterMs]).toEqual([row.code, row.status, row.retryAfterMs]);
    expect(error.message).toStartWith(row.says);

    if (frees === "end") {
      await made.ledger.settle(createSettlement(running[0]?.callId as string, { outcome: "released", meters: {} }));
    } else if (frees === "credit") {
      await creditWallet(made.store, { accountId: "acc_1", nanodollars: 1, note: "more" });
    } else {
      made.clock.time += (row.retryAfterMs as number) - 1;
      expect((await refusalOf(made, fields)).code as string).toBe(row.code);
      made.clock.time += 1;
    }
    await made.ledger.admit(createAdmission(fields));
  });

  test("of all that block at once one is named, in this order: the key's limits, the account's, the budget, the purse", async () => {
    const all: AdmissionFields = {
      keyLimits: { budgetNanodollars: 10, requestsPerMinute: 1, tokensPerMinute: 1, concurrentCalls: 1 },
      requestsPerMinute: 1,
      tokensPerMinute: 1,
      concurrentCalls: 1,
      holdNanodollars: 1000,
    };
    const wide = { requestsPerMinute: 9, tokensPerMinute: 9, concurrentCalls: 9 };
    const [budget, noKey] = [{ keyLimits: { budgetNanodollars: 10 } }, { keyLimits: undefined }];
    const order: [AdmissionFields, string][] = [
      [{}, "Request limit reached: 1 requests a minute for this key"],
      [
        { keyLimits: { ...budget.keyLimits, tokensPerMinute: 1, concurrentCalls: 1 } },
        "Token limit reached: 1 tokens a minute for this key",
      ],
      [
        { keyLimits: { ...budget.keyLimits, concurrentCalls: 1 } },
        "Concurrency limit reached: 1 calls at once for this key",
      ],
      [budget, "Request limit reached: 1 requests a minute for this account"],
      [{ ...budget, requestsPerMinute: 9 }, "Token limit reached: 1 tokens a minute for this account"],
      [
        { ...budget, requestsPerMinute: 9, tokensPerMinute: 9 },
        "Concurrency limit reached: 1 calls at once for this account",
      ],
      [{ ...budget, ...wide }, "Monthly budget of this key"],
      [{ ...noKey, ...wide }, "Insufficient balance"],
      [{ ...noKey, ...wide, premium: false, freeTokensPerDay: 10 }, "Daily token quota reached"],
    ];
    for (const [fields, says] of order) {
      const made = await fixture();
      await made.ledger.admit(createAdmission({ ...all, ...fields }));
      expect((await refusalOf(made, { ...all, ...fields })).message).toStartWith(says);
    }
  });
});
