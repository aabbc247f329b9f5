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
  type Judgement,
  monthOf,
  type Store,
  startOfDay,
} from "../db/index.ts";
import { type CallHolds, notRead, notWritten } from "./call-holds.ts";
import { budgetLimitOf, type Held, openRecord } from "./call-record.ts";
import type { CommitQueue } from "./commit-queue.ts";
import { balanceExceeded, budgetExceeded, quotaExceeded } from "./limit-errors.ts";

/**
 * Holds over a store that several nodes share: it is the statement that writes a hold which judges it, by what all nodes
 * wrote before. Nothing of an account is kept in memory.
 */
export class SharedHolds implements CallHolds {
  readonly #store: Store;
  readonly #queue: CommitQueue;

  constructor(store: Store, queue: CommitQueue) {
    this.#store = store;
    this.#queue = queue;
  }

  async open(admission: AdmissionRequest, quota: Held | undefined, now: number): Promise<CallOpened> {
    const asked = quota === undefined ? guardedRecord(admission, now) : openRecord(admission, quota);
    const outcome = await this.#queue.add(asked);
    if (outcome?.failures.has(asked)) throw notWritten(outcome.failures.get(asked));
    if (asked.guard === undefined) return asked;
    const judgement = outcome?.judgements.get(asked);
    if (judgement === undefined) throw new Error(`The store did not judge the hold of call ${admission.callId}`);
    if ("refused" in judgement) throw refusalOf(judgement, admission, now);
    return { ...asked, ...judgement, guard: undefined };
  }

  /** What stands in the store is all that counts. */
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
    const asked = { keyId, month: monthOf(now) };
    const { budget } = await this.#read(accountId, asked);
    return {
      limitNanodollars,
      spentNanodollars: budget === undefined ? 0 : budget.spentNanodollars,
      heldNanodollars: budget === undefined ? 0 : budget.othersNanodollars,
      resetsAt: endOfMonth(budget?.month ?? asked.month),
    };
  }

  async #read(accountId: string, asked?: { keyId: string; month: number }): Promise<AccountBalance> {
    try {
      return await this.#store.readBalance(accountId, asked);
    } catch (error) {
      throw notRead(error);
    }
  }
}

/** What a call wants to hold, for the store to judge; day and month are the earliest that may pay. */
function guardedRecord(admission: AdmissionRequest, now: number): CallOpened {
  const { premium, holdNanodollars, holdTokens, caller } = admission;
  const budgetLimit = budgetLimitOf(admission);
  const wanted = {
    quotaDay: premium ? null : dayOf(now),
    holdNanodollars: premium ? holdNanodollars : 0,
    holdTokens: premium ? 0 : holdTokens,
    budgetMonth: budgetLimit === undefined ? null : monthOf(now),
    partial: false,
  };
  return openRecord(admission, wanted, { quotaLimit: caller.freeTokensPerDay, budgetLimit });
}

function refusalOf(
  judgement: Extract<Judgement, { refused: string }>,
  admission: AdmissionRequest,
  now: number,
): GatewayError {
  switch (judgement.refused) {
    case "balance":
      return balanceExceeded(admission.model, judgement.balanceNanodollars, judgement.heldNanodollars);
    case "budget": {
      const { spentNanodollars, heldNanodollars, month } = judgement;
      const limitNanodollars = budgetLimitOf(admission) as number;
      return budgetExceeded({ limitNanodollars, spentNanodollars, heldNanodollars, resetsAt: endOfMonth(month) }, now);
    }
    case "quota": {
      const { usedTokens: used, heldTokens: held, day } = judgement;
      return quotaExceeded({ limit: admission.caller.freeTokensPerDay, used, held }, startOfDay(day + 1), now);
    }
  }
}
