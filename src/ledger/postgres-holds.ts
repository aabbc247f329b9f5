import type {
  AdmissionRequest,
  BudgetState,
  Caller,
  GatewayError,
  QuotaState,
  WalletState,
} from "../contract/index.ts";
import {
  type AccountBalance,
  type BudgetDraw,
  type BudgetFigures,
  dayOf,
  type ExtendedHold,
  type GrantedHold,
  type HoldAmounts,
  type OpenCall,
  type RefusedHold,
  type Store,
  startOfDay,
} from "../db/index.ts";
import { findDraws, findKnownDraws, toBudgetState } from "./budget-draws.ts";
import { type AdmittedCall, accountNotRead, type CallHolds, holdNotWritten, toOpenCall } from "./call-records.ts";
import type { CommitQueue } from "./commit-queue.ts";
import { balanceExceeded, budgetExceeded, quotaExceeded } from "./limit-errors.ts";

/**
 * Holds in a store that several nodes share. The statement that writes a hold also decides about it, by the writes of
 * all nodes. No account is cached in memory.
 */
export class PostgresHolds implements CallHolds {
  readonly #store: Store;
  readonly #queue: CommitQueue;

  constructor(store: Store, queue: CommitQueue) {
    this.#store = store;
    this.#queue = queue;
  }

  async open(admission: AdmissionRequest, quota: GrantedHold | undefined, now: number): Promise<AdmittedCall> {
    const requested = quota === undefined ? undecidedHold(admission, now) : toOpenCall(admission, quota);
    const granted = await this.#write(requested, admission, now);
    if (quota !== undefined) return { open: requested, available: quota.available };
    const { available, ...amounts } = granted as GrantedHold;
    const open = { ...requested, ...amounts, guard: undefined };
    return { open, available: Math.max(open.holdNanodollars, available) };
  }

  async extend(
    open: OpenCall,
    admission: AdmissionRequest,
    quota: HoldAmounts | undefined,
    now: number,
  ): Promise<OpenCall> {
    const requested = quota === undefined ? undecidedHold(admission, now) : { ...open, ...quota };
    const granted = await this.#write({ kind: "extend", open: requested }, admission, now);
    if (granted === undefined) return requested;
    const { available: _, ...amounts } = granted;
    return { ...open, ...amounts };
  }

  /**
   * Writes a hold with the next batch.
   *
   * @returns The amounts that the store has granted; undefined for a hold that Redis has decided.
   * @throws {GatewayError} Names the amount that is insufficient, or `unavailable`.
   */
  async #write(
    write: OpenCall | ExtendedHold,
    admission: AdmissionRequest,
    now: number,
  ): Promise<GrantedHold | undefined> {
    const outcome = await this.#queue.add(write);
    if (outcome?.failures.has(write)) throw holdNotWritten(outcome.failures.get(write));
    const requested = write.kind === "open" ? write : write.open;
    if (requested.guard === undefined) return undefined;
    const decision = outcome?.decisions.get(requested);
    if (decision === undefined) throw new Error(`The store did not decide about the hold of call ${admission.callId}`);
    if ("refused" in decision) throw toGatewayError(decision, admission, now);
    return decision;
  }

  /** Nothing is cached, so there is nothing to update. */
  charge(): void {}

  written(): void {}

  async wallet(accountId: string, now: number): Promise<WalletState> {
    const { balanceNanodollars, held: openHolds } = await this.#read(accountId, dayOf(now));
    return { balanceNanodollars, heldNanodollars: openHolds === undefined ? 0 : openHolds.nanodollars };
  }

  async quota(
    { accountId, freeTokensPerDay }: Pick<Caller, "accountId" | "freeTokensPerDay">,
    now: number,
  ): Promise<QuotaState> {
    const { quotaDay, usedTokens, held: openHolds } = await this.#read(accountId, dayOf(now));
    const day = Math.max(dayOf(now), quotaDay === undefined ? 0 : quotaDay);
    return {
      limitTokens: freeTokensPerDay,
      usedTokens: quotaDay === day ? usedTokens : 0,
      heldTokens: openHolds?.quotaDay === day ? openHolds.tokens : 0,
      resetsAt: startOfDay(day + 1),
    };
  }

  async budgets(caller: Caller, now: number): Promise<BudgetState[]> {
    const draws = findKnownDraws(caller, now);
    if (draws.length === 0) return [];
    try {
      const figures = await this.#store.readBudgets(caller, draws);
      return draws.map((draw, at) => toBudgetState(draw, figures[at] as BudgetFigures));
    } catch (error) {
      throw accountNotRead(error);
    }
  }

  async #read(accountId: string, today: number): Promise<AccountBalance> {
    try {
      return await this.#store.readBalance(accountId, today);
    } catch (error) {
      throw accountNotRead(error);
    }
  }
}

/** A requested hold for the store to decide about; its day is the earliest that may pay. */
function undecidedHold(admission: AdmissionRequest, now: number): OpenCall {
  const { premium, holdNanodollars, minNanodollars, holdTokens, minTokens, caller } = admission;
  const request = {
    quotaDay: premium ? null : dayOf(now),
    holdNanodollars: premium ? holdNanodollars : 0,
    holdTokens: premium ? 0 : holdTokens,
  };
  return toOpenCall(admission, request, {
    quotaLimit: caller.freeTokensPerDay,
    draws: premium ? findDraws(admission, caller.budgets, now) : [],
    minHold: premium ? minNanodollars : minTokens,
    isBilledAfterwards: caller.isBilledAfterwards,
  });
}

function toGatewayError(
  { refused, there, openHolds, day, draw }: RefusedHold,
  admission: AdmissionRequest,
  now: number,
): GatewayError {
  switch (refused) {
    case "balance":
      return balanceExceeded(admission, { balanceNanodollars: there, heldNanodollars: openHolds });
    case "budget": {
      const scarcest = draw as BudgetDraw;
      const state = toBudgetState(scarcest, { spentNanodollars: there, heldNanodollars: openHolds });
      return budgetExceeded(admission, scarcest.name, state, now);
    }
    case "quota": {
      const quota = {
        limitTokens: admission.caller.freeTokensPerDay,
        usedTokens: there,
        heldTokens: openHolds,
        resetsAt: startOfDay((day as number) + 1),
      };
      return quotaExceeded(admission, quota, now);
    }
  }
}
