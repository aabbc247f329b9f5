import {
  type AdmissionRequest,
  type Caller,
  GatewayError,
  type LimitsUsage,
  type QuotaState,
  type WalletState,
} from "../contract/index.ts";
import type { CallEnded, CallOpened, EmbeddedStore } from "../db/index.ts";
import type { AccountState } from "./account-state.ts";
import { AccountStates } from "./account-states.ts";
import { getBudgetLimit, type Held, type Taken, toCallOpened } from "./call-record.ts";
import type { CommitQueue } from "./commit-queue.ts";
import type { BudgetsAsked } from "./key-state.ts";
import { billingUnavailable } from "./limit-errors.ts";

/** The holds of calls on wallets, budgets and free quotas: one implementation for each database. */
export interface CallHolds {
  /**
   * Takes a call's hold and writes it. `quota` is its hold on the free quota if Redis has already decided that.
   *
   * @throws {GatewayError} Naming what does not suffice, or `unavailable` when it could not be written.
   */
  open(admission: AdmissionRequest, quota: Taken | undefined, now: number): Promise<AdmittedCall>;
  /** Replaces the hold of a running call by what its admission now asks; otherwise the same. */
  extend(
    open: CallOpened,
    admission: AdmissionRequest,
    quota: Held | undefined,
    now: number,
  ): CallOpened | Promise<CallOpened>;
  /** A call has ended, and its end is about to be written. */
  charge(end: CallEnded): void;
  /** The end is written; `wasRetried` when an earlier try failed, which may have been written all the same. */
  written(end: CallEnded, wasRetried: boolean): void;
  wallet(accountId: string, now: number): Promise<WalletState>;
  quota(caller: Pick<Caller, "accountId" | "freeTokensPerDay">, now: number): Promise<QuotaState>;
  /** Budgets of a caller's key and account; absent where there is none. */
  budgets(caller: Caller, now: number): Promise<Pick<LimitsUsage, "budget" | "accountBudget">>;
}

/** A call that was admitted, and how much its hold could have been. */
export interface AdmittedCall {
  readonly open: CallOpened;
  readonly available: number;
}

/** The error for a hold that could not be written. */
export function holdNotWritten(cause: unknown): Error {
  return billingUnavailable("The call could not be recorded, so it was not made; try again", cause);
}

/** The error for an account that could not be read. */
export function accountNotRead(cause: unknown): Error {
  return billingUnavailable("The account could not be read; try again", cause);
}

/** Holds in an embedded store. Only this process writes calls, so it decides about holds in memory. */
export class EmbeddedHolds implements CallHolds {
  readonly #accounts: AccountStates;
  readonly #queue: CommitQueue;

  constructor(store: EmbeddedStore, queue: CommitQueue, accountsMax: number) {
    this.#accounts = new AccountStates(store, accountsMax);
    this.#queue = queue;
  }

  /** Runs without a pause until the write, so no other call comes in between. */
  async open(admission: AdmissionRequest, _quota: Taken | undefined, now: number): Promise<AdmittedCall> {
    const { account, taken } = this.#take(admission, now);
    const { available, ...held } = taken;
    const open = toCallOpened(admission, held);
    const outcome = await this.#queue.add(open);
    if (!outcome?.failures.has(open)) return { open, available };
    account.release(open);
    throw holdNotWritten(outcome.failures.get(open));
  }

  /**
   * Decided in memory and written with the next batch, for which nothing waits: a call that a crash ends pays nothing, so
   * its row only tells how much its provider may bill, and the end of a call writes its last hold again.
   */
  extend(open: CallOpened, admission: AdmissionRequest, _quota: Held | undefined, now: number): CallOpened {
    const { available: _, ...held } = this.#getPayer(admission, now).extend(open, admission, now);
    const extended: CallOpened = { ...open, ...held };
    void this.#queue.add({ kind: "extend", open: extended });
    return extended;
  }

  charge(end: CallEnded): void {
    this.#accounts.find(end.open.accountId)?.charge(end.open, end);
  }

  written(end: CallEnded, wasRetried: boolean): void {
    const account = this.#accounts.find(end.open.accountId);
    account?.written(end);
    // The account may have been read with this charge in the meantime, which would count it twice.
    if (wasRetried) account?.invalidate(end.open);
  }

  async wallet(accountId: string, now: number): Promise<WalletState> {
    return this.#getAccount(accountId, now).wallet();
  }

  async quota({ accountId, freeTokensPerDay }: Caller, now: number): Promise<QuotaState> {
    return this.#getAccount(accountId, now).quota(freeTokensPerDay);
  }

  async budgets(caller: Caller, now: number): Promise<Pick<LimitsUsage, "budget" | "accountBudget">> {
    const { keyId, keyLimits, accountBudget } = caller;
    const account = this.#getPayer({ premium: true, caller }, now);
    const limit = keyLimits?.budgetNanodollars;
    return {
      budget: limit === undefined ? undefined : account.budget(keyId, limit, now),
      accountBudget: accountBudget && account.accountBudget(accountBudget),
    };
  }

  /** Another process, such as the command line, may have credited the account since it was read: a refusal reads it again. */
  #take(admission: AdmissionRequest, now: number): { account: AccountState; taken: Taken } {
    const account = this.#getPayer(admission, now);
    try {
      return { account, taken: account.take(admission, now) };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      account.revision = undefined;
      const read = this.#getPayer(admission, now);
      return { account: read, taken: read.take(admission, now) };
    }
  }

  #getPayer({ premium, caller }: Pick<AdmissionRequest, "premium" | "caller">, now: number): AccountState {
    const { accountId, keyId, keyLimits, accountBudget } = caller;
    const hasBudget = getBudgetLimit({ premium, caller }) !== undefined;
    const key = hasBudget ? { keyId, period: keyLimits?.budgetPeriod ?? "month" } : undefined;
    return this.#getAccount(accountId, now, { key, account: premium ? accountBudget?.period : undefined });
  }

  #getAccount(accountId: string, now: number, requested?: BudgetsAsked): AccountState {
    try {
      return this.#accounts.get(accountId, now, this.#queue.writing, requested);
    } catch (error) {
      throw accountNotRead(error);
    }
  }
}
