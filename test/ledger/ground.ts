import type { Claim, Settlement } from "../../src/contract/index.ts";
import { createLocalLedger, creditWallet, type LocalLedger } from "../../src/ledger/index.ts";
import type { Store } from "../../src/store/index.ts";
import { temporaryStore } from "../store/temporary-store.ts";

/** 2026-01-01T00:00:00Z. */
export const newYear = Date.UTC(2026, 0, 1);
export const dayMs = 86_400_000;

/** A clock that a test moves. */
export interface Clock {
  time: number;
}

/** A store with a ledger over it, both on the same clock. */
export interface Ground {
  store: Store;
  ledger: LocalLedger;
  clock: Clock;
}

export async function ledgerGround(file?: string): Promise<Ground> {
  const clock: Clock = { time: newYear };
  const store = await temporaryStore(file, () => clock.time);
  return { store, clock, ledger: createLocalLedger({ store, now: () => clock.time }) };
}

/** An account with a wallet of this many nanodollars. */
export async function addAccount(store: Store, id: string, nanodollars = 0): Promise<void> {
  const limits = { free_tokens_per_day: null, requests_per_minute: null, tokens_per_minute: null };
  await store.db
    .insertInto("accounts")
    .values({ id, email: `${id}@test`, name: null, created_at: 0, ...limits })
    .execute();
  if (nanodollars !== 0) await creditWallet(store, { accountId: id, nanodollars, note: "start" });
}

/** What a test wants to say of a claim; the rest is a premium call without limits worth the name. */
export interface ClaimFields extends Partial<Omit<Claim, "caller">> {
  accountId?: string;
  freeTokensPerDay?: number;
  requestsPerMinute?: number;
  tokensPerMinute?: number;
}

let claims = 0;

export function claimOf(fields: ClaimFields = {}): Claim {
  const {
    accountId = "acc_1",
    freeTokensPerDay = 100,
    requestsPerMinute = 1e6,
    tokensPerMinute = 1e9,
    ...rest
  } = fields;
  claims += 1;
  return {
    callId: `call_${String(claims).padStart(8, "0")}`,
    caller: { accountId, keyId: "key_1", freeTokensPerDay, limits: { requestsPerMinute, tokensPerMinute } },
    model: "model-1",
    capability: "chat",
    premium: true,
    holdNanodollars: 10,
    holdTokens: 10,
    limitTokens: 1,
    priceVersion: "v1",
    openedAt: newYear,
    ...rest,
  };
}

export function settlementOf(callId: string, fields: Partial<Settlement> = {}): Settlement {
  return {
    callId,
    outcome: "settled",
    route: "openai",
    meters: { inputToken: 1 },
    usageSource: "reported",
    costNanodollars: 10,
    quotaTokens: 10,
    status: 200,
    durationMs: 5,
    ...fields,
  };
}

/** The error a promise ends with. */
export async function errorOf(promise: Promise<unknown>): Promise<Error> {
  const result = await promise.then(
    () => undefined,
    (error: Error) => error,
  );
  if (result === undefined) throw new Error("It succeeded, and a failure was expected");
  return result;
}
