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
  type CallOpened,
  dayOf,
  endOfMonth,
  type HoldDecision,
  monthOf,
  type Store,
  startOfDay,
} from "../db/index.ts";
import { getBudgetLimit, type Held, toCallOpened } from "./call-record.ts";
import type { CommitQueue } from "./commit-queue.ts";
import { accountNotRead, type CallHolds, holdNotWritten } from "./embedded-holds.ts";
import { balanceExceeded, budgetExceeded, quotaExceeded } from "./limit-errors.ts";

/**
 * Holds in a store that several nodes share. The statement that writes a hold also decides about it, by what all nodes
 * have written. No account is cached in memory.
 */
export class PostgresHolds implements CallHolds {
  readonly #store: Store;
  readonly #queue: CommitQueue;

  constructor(store: Store, queue: CommitQueue) {
    this.#store = store;
    this.#queue = queue;
  }

  async open(admission: AdmissionRequest, quota: Held | undefined, now: number): Promise<CallOpened> {
    const requested = quota === undefined ? undecidedHold(admission, now) : toCallOpened(admission, quota);
    const outcome = await this.#queue.add(requested);
    if (outcome?.failures.has(requested)) throw holdNotWritten(outcome.failures.get(requested));
    if (requested.guard === undefined) return requested;
    const decision = outcome?.decisions.get(requested);
    if (decision === undefined) throw new Error(`The store did not decide about the hold of call ${admission.callId}`);
    if ("refused" in decision) throw toGatewayError(decision, admission, now);
    return { ...requested, ...decision, guard: undefined };
  }

  /** Nothing is cached, so there is nothing to update. */
  charge(): void {}

  written(): void {}

  async wallet(accountId: string): Promise<WalletState> {
    const { balanceNanodollars, held } = await this.#read(accountId);
    return { balanceNanodollars, heldNanodollars: held === undefined ? 0 : held.nanodollars };
  }

  async quota(
    { accountId, freeTokensPerDay }: Pick<Caller, "accountId" | "freeTokensPerDay">,
    now: number,
  ): Promise<QuotaState> {
    const { quotaDay, usedTokens, held } = await this.#read(accountId);
    const day = Math.max(dayOf(now), quotaDay === undefined ? 0 : quotaDay);
    return {
      limitTokens: freeTokensPerDay,
      usedTokens: quotaDay === day ? usedTokens : 0,
      heldTokens: held?.quotaDay === day ? held.tokens : 0,
      resetsAt: startOfDay(day + 1),
    };
  }

  async budget({ accountId, keyId, keyLimits }: Caller, now: number): Promise<BudgetState | undefined> {
    const limitNanodollars = keyLimits?.budgetNanodollars;
    if (limitNanodollars === undefined) return undefined;
    const requested = { keyId, month: monthOf(now) };
    const { budget } = await this.#read(accountId, requested);
    return {
      limitNanodollars,
      spentNanodollars: budget === undefined ? 0 : budget.spentNanodollars,
      heldNanodollars: budget === undefined ? 0 : budget.othersNanodollars,
      resetsAt: endOfMonth(budget?.month ?? requested.month),
    };
  }

  async #read(accountId: string, requested?: { keyId: string; month: number }): Promise<AccountBalance> {
    try {
      return await this.#store.readBalance(accountId, requested);
    } catch (error) {
      throw accountNotRead(error);
    }
  }
}

/** A requested hold for the store to decide about; day and month are the earliest that may pay. */
function undecidedHold(admission: AdmissionRequest, now: number): CallOpened {
  const { premium, holdNanodollars, minNanodollars, holdTokens, minTokens, caller } = admission;
  const budgetLimit = getBudgetLimit(admission);
  const wanted = {
    quotaDay: premium ? null : dayOf(now),
    holdNanodollars: premium ? holdNanodollars : 0,
    holdTokens: premium ? 0 : holdTokens,
    budgetMonth: budgetLimit === undefined ? null : monthOf(now),
  };
  return toCallOpened(admission, wanted, {
    quotaLimit: caller.freeTokensPerDay,
    budgetLimit,
    minHold: premium ? minNanodollars : minTokens,
  });
}

function toGatewayError(
  decision: Extract<HoldDecision, { refused: string }>,
  admission: AdmissionRequest,
  now: number,
): GatewayError {
  switch (decision.refused) {
    case "balance":
      return balanceExceeded(admission, decision);
    case "budget": {
      const { spentNanodollars, heldNanodollars, month } = decision;
      const limitNanodollars = getBudgetLimit(admission) as number;
      const budget = { limitNanodollars, spentNanodollars, heldNanodollars, resetsAt: endOfMonth(month) };
      return budgetExceeded(admission, budget, now);
    }
    case "quota": {
      const { usedTokens, heldTokens, day } = decision;
      const limitTokens = admission.caller.freeTokensPerDay;
      return quotaExceeded(admission, { limitTokens, usedTokens, heldTokens, resetsAt: startOfDay(day + 1) }, now);
    }
  }
}
