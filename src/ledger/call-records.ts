import {
  type AdmissionRequest,
  type BudgetState,
  type Caller,
  isAmount,
  meterNames,
  type QuotaState,
  type Settlement,
  sumTokens,
  type WalletState,
} from "../contract/index.ts";
import {
  type EndedCall,
  type GrantedHold,
  type HoldAmounts,
  type OpenCall,
  type Store,
  toCallKey,
} from "../db/index.ts";
import { ledgerUnavailable } from "./limit-errors.ts";

/** The holds of calls on wallets, budgets and free quotas: one implementation for each database. */
export interface CallHolds {
  /**
   * Takes a call's hold and writes it. `quota` is its hold on the free quota if Redis has already decided that.
   *
   * @throws {GatewayError} Names the amount that is insufficient; `unavailable` when the hold could not be written.
   */
  open(admission: AdmissionRequest, quota: GrantedHold | undefined, now: number): Promise<AdmittedCall>;
  /**
   * Replaces the hold of a running call with the amount that its admission now requests; otherwise like {@link open}.
   */
  extend(
    open: OpenCall,
    admission: AdmissionRequest,
    quota: HoldAmounts | undefined,
    now: number,
  ): OpenCall | Promise<OpenCall>;
  /** Called when a call has ended and its end is about to be written. */
  charge(end: EndedCall): void;
  /**
   * Called when the end is written; `wasRetried` is set if an earlier try failed, although that try may have been
   * written.
   */
  written(end: EndedCall, wasRetried: boolean): void;
  wallet(accountId: string, now: number): Promise<WalletState>;
  quota(caller: Pick<Caller, "accountId" | "freeTokensPerDay">, now: number): Promise<QuotaState>;
  /** The states of the budgets whose subject is known without a call. */
  budgets(caller: Caller, now: number): Promise<BudgetState[]>;
}

/** A call that was admitted, and how much its hold could have been. */
export interface AdmittedCall {
  readonly open: OpenCall;
  readonly available: number;
}

/** The error for a hold that could not be written. */
export function holdNotWritten(cause: unknown): Error {
  return ledgerUnavailable("The call could not be recorded, so it was not made; try again", cause);
}

/** The error for an account that could not be read. */
export function accountNotRead(cause: unknown): Error {
  return ledgerUnavailable("The account could not be read; try again", cause);
}

/** @throws {RangeError} When a figure is not a whole number from 0 to 2^53 − 1: a negative one would mint money. */
export function validateAdmission(admission: AdmissionRequest): void {
  const { callId, holdNanodollars, minNanodollars, holdTokens, minTokens, limitTokens } = admission;
  const areAmounts =
    isAmount(holdNanodollars) &&
    isAmount(minNanodollars) &&
    isAmount(holdTokens) &&
    isAmount(minTokens) &&
    isAmount(limitTokens);
  if (areAmounts) return;
  throw new RangeError(
    `Cannot admit call ${callId}: a hold of ${holdNanodollars} nanodollars, ${holdTokens} tokens and ${limitTokens} tokens of the minute's limit is not in whole numbers from 0 to 2^53 - 1`,
  );
}

/** Creates the record of an admitted call, or with `guard` of one that the store decides about. */
export function toOpenCall(admission: AdmissionRequest, amounts: HoldAmounts, guard?: OpenCall["guard"]): OpenCall {
  const { caller } = admission;
  return {
    kind: "open",
    callId: admission.callId,
    accountId: caller.accountId,
    keyId: caller.keyId,
    model: admission.model,
    capability: admission.capability,
    premium: admission.premium,
    openedAt: admission.openedAt,
    priceVersion: admission.priceVersion,
    markupBasisPoints: admission.markupBasisPoints,
    session: admission.session,
    tag: admission.tag,
    endUser: admission.endUser,
    agent: admission.agent,
    parentAgent: admission.parentAgent,
    quotaDay: amounts.quotaDay,
    holdNanodollars: amounts.holdNanodollars,
    holdTokens: amounts.holdTokens,
    guard,
  };
}

/**
 * Makes the record of a call's end. A premium call pays its cost, also beyond its hold. A cost that is not known is no amount: where
 * nothing that was used has a rate, nothing is charged. A released call pays nothing.
 *
 * @throws {RangeError} When a figure is not a whole number from 0 to 2^53 − 1: a negative one would mint money.
 */
export function toEndedCall(open: OpenCall, settlement: Settlement, settledAt: number): EndedCall {
  const { costNanodollars, outcome } = settlement;
  checkAmounts(settlement);
  const settled = outcome === "settled";
  return {
    ...settlement,
    kind: "end",
    open,
    settledAt,
    chargedNanodollars: settled && open.premium && costNanodollars !== undefined ? costNanodollars : 0,
    quotaTokens: settled && !open.premium ? settlement.quotaTokens : 0,
  };
}

/**
 * The end of a call that was refused because it is unknown whether its hold was written. Without it a written hold would
 * stay until this process ends.
 */
export function unsentEnd(open: OpenCall): EndedCall {
  return {
    kind: "end",
    open,
    unmade: true,
    outcome: "released",
    settledAt: open.openedAt,
    meters: {},
    usageSource: "none",
    costNanodollars: undefined,
    chargedNanodollars: 0,
    quotaTokens: 0,
    plugin: undefined,
    status: 503,
    errorCode: "unavailable",
    durationMs: 0,
  };
}

/**
 * Tokens of an ended call, by their weights, beyond those that were counted against the minute when it was admitted; negative
 * if it used fewer, and 0 if it was not metered in tokens.
 */
export function additionalTokens({ limitTokens }: AdmissionRequest, { outcome, meters }: EndedCall): number {
  if (outcome !== "settled") return -limitTokens;
  const tokens = sumTokens(meters);
  return tokens === undefined ? 0 : tokens - limitTokens;
}

/** @throws {Error} When the store does not know the call: settling it is an error of the program. */
export async function assertEnded(store: Store, callId: string): Promise<void> {
  for (const table of ["open_calls", "calls"] as const) {
    const [row] = await store.ask(
      store.db.selectFrom(table).select("id").where("id_bytes", "=", toCallKey(callId)).compile(),
    );
    if (row !== undefined) return;
  }
  throw new Error(`Cannot settle call ${callId}: it was never admitted`);
}

function checkAmounts({
  callId,
  quotaTokens,
  meters,
  cache,
  costNanodollars,
  providerCostNanodollars,
}: Settlement): void {
  if (cache !== undefined) {
    expectIfKnown(callId, "missedTokens", cache.miss?.tokens);
    expectIfKnown(callId, "lostNanodollars", cache.lostNanodollars);
    expectIfKnown(callId, "savedNanodollars", cache.savedNanodollars);
  }
  expectIfKnown(callId, "costNanodollars", costNanodollars);
  expectIfKnown(callId, "providerCostNanodollars", providerCostNanodollars);
  expectAmount(callId, "quotaTokens", quotaTokens);
  for (const name of meterNames) expectIfKnown(callId, name, meters[name]);
}

function expectIfKnown(callId: string, name: string, value: number | undefined): void {
  if (value !== undefined) expectAmount(callId, name, value);
}

function expectAmount(callId: string, name: string, value: number): void {
  if (isAmount(value)) return;
  throw new RangeError(`Cannot settle call ${callId}: ${name} is ${value}, expected a whole number from 0 to 2^53 - 1`);
}
