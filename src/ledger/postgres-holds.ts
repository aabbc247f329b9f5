import type {
  AccountBudget,
  AdmissionRequest,
  Caller,
  GatewayError,
  QuotaState,
  SubjectBudgetState,
  WalletState,
} from "../contract/index.ts";
import {
  type AccountBalance,
  type BudgetDraw,
  type BudgetFigures,
  type BudgetQuery,
  dayOf,
  type ExtendedHold,
  endOfPeriod,
  type GrantedHold,
  type HoldAmounts,
  type OpenCall,
  type RefusedHold,
  type Store,
  startOfDay,
  startOfPeriod,
} from "../db/index.ts";
import {
  type AdmittedCall,
  accountNotRead,
  type Budgets,
  type CallHolds,
  getBudgetLimit,
  holdNotWritten,
  toOpenCall,
} from "./call-records.ts";
import type { CommitQueue } from "./commit-queue.ts";
import { balanceExceeded, budgetExceeded, quotaExceeded, subjectBudgetExceeded } from "./limit-errors.ts";
import { findDraws, findKnownDraws, toSubjectState } from "./subject-budgets.ts";

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
    return { ...open, ...amounts, draws: requested.draws };
  }

  /**
   * Writes a hold with the next batch.
   *
   * @returns What the store has granted; undefined for a hold that Redis has decided.
   * @throws {GatewayError} Naming what does not suffice, or `unavailable`.
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

  async budgets(caller: Caller, now: number): Promise<Budgets> {
    const [ofOwners, ofSubjects] = await Promise.all([
      this.#budgetsOfOwners(caller, now),
      caller.budgets && this.#budgetsOfSubjects(caller, now),
    ]);
    return { ...ofOwners, budgets: ofSubjects };
  }

  async #budgetsOfSubjects(caller: Caller, now: number): Promise<SubjectBudgetState[]> {
    const draws = findKnownDraws(caller, now);
    if (draws.length === 0) return [];
    try {
      const figures = await this.#store.readBudgets(caller.accountId, draws);
      return draws.map((draw, at) => toSubjectState(draw, figures[at] as BudgetFigures));
    } catch (error) {
      throw accountNotRead(error);
    }
  }

  async #budgetsOfOwners(
    { accountId, keyId, keyLimits, accountBudget }: Caller,
    now: number,
  ): Promise<Pick<Budgets, "budget" | "accountBudget">> {
    const { budgetNanodollars: limit, budgetPeriod: period } = keyLimits ?? {};
    if (limit === undefined && accountBudget === undefined) return {};
    const requested = { keyId, periodStart: startOfPeriod(now, period) };
    const since = accountBudget && startOfPeriod(now, accountBudget.period);
    const [{ budget, held: openHolds }, spent] = await Promise.all([
      this.#read(accountId, dayOf(now), requested),
      since === undefined ? 0 : this.#store.readSpent(accountId, since),
    ]);
    const ofKey = limit !== undefined && {
      limitNanodollars: limit,
      spentNanodollars: budget === undefined ? 0 : budget.spentNanodollars,
      heldNanodollars: budget === undefined ? 0 : budget.othersNanodollars,
      resetsAt: endOfPeriod(budget?.periodStart ?? requested.periodStart, period),
    };
    const ofAccount = accountBudget && {
      limitNanodollars: accountBudget.limitNanodollars,
      spentNanodollars: spent,
      heldNanodollars: openHolds === undefined ? 0 : openHolds.nanodollars,
      resetsAt: endOfPeriod(since as number, accountBudget.period),
    };
    return { budget: ofKey || undefined, accountBudget: ofAccount };
  }

  async #read(accountId: string, today: number, requested?: BudgetQuery): Promise<AccountBalance> {
    try {
      return await this.#store.readBalance(accountId, today, requested);
    } catch (error) {
      throw accountNotRead(error);
    }
  }
}

/** A requested hold for the store to decide about; day and period are the earliest that may pay. */
function undecidedHold(admission: AdmissionRequest, now: number): OpenCall {
  const { premium, holdNanodollars, minNanodollars, holdTokens, minTokens, caller } = admission;
  const budgetLimit = getBudgetLimit(admission);
  const request = {
    quotaDay: premium ? null : dayOf(now),
    holdNanodollars: premium ? holdNanodollars : 0,
    holdTokens: premium ? 0 : holdTokens,
    periodStart: budgetLimit === undefined ? null : startOfPeriod(now, caller.keyLimits?.budgetPeriod),
    draws: findDraws(admission, now),
  };
  return toOpenCall(admission, request, {
    quotaLimit: caller.freeTokensPerDay,
    budgetLimit,
    ...(premium &&
      caller.accountBudget !== undefined && {
        accountLimit: caller.accountBudget.limitNanodollars,
        accountFrom: startOfPeriod(now, caller.accountBudget.period),
      }),
    minHold: premium ? minNanodollars : minTokens,
  });
}

function toGatewayError(
  { refused, there, openHolds, day, periodStart, draw }: RefusedHold,
  admission: AdmissionRequest,
  now: number,
): GatewayError {
  const { keyLimits, accountBudget, freeTokensPerDay: limitTokens } = admission.caller;
  const figures = { spentNanodollars: there, heldNanodollars: openHolds };
  switch (refused) {
    case "balance":
      return balanceExceeded(admission, { balanceNanodollars: there, heldNanodollars: openHolds });
    case "budget": {
      const resetsAt = endOfPeriod(periodStart as number, keyLimits?.budgetPeriod);
      const limitNanodollars = getBudgetLimit(admission) as number;
      return budgetExceeded(admission, { limitNanodollars, ...figures, resetsAt }, now);
    }
    case "account_budget": {
      const { limitNanodollars, period } = accountBudget as AccountBudget;
      const resetsAt = endOfPeriod(startOfPeriod(now, period), period);
      return budgetExceeded(admission, { limitNanodollars, ...figures, resetsAt }, now, "account");
    }
    case "subject_budget": {
      const subject = draw as BudgetDraw;
      return subjectBudgetExceeded(admission, subject.name, toSubjectState(subject, figures), now);
    }
    case "quota": {
      const resetsAt = startOfDay((day as number) + 1);
      return quotaExceeded(admission, { limitTokens, usedTokens: there, heldTokens: openHolds, resetsAt }, now);
    }
  }
}
