import type { AdmissionRequest, BudgetState, Caller, QuotaState, WalletState } from "../contract/index.ts";
import type { CallEnded, CallOpened, EmbeddedStore } from "../db/index.ts";
import { type AccountState, AccountStates } from "./account-state.ts";
import { budgetLimitOf, type Held, openRecord } from "./call-record.ts";
import type { CommitQueue } from "./commit-queue.ts";
import { billingUnavailable } from "./limit-errors.ts";

/** The holds of calls on wallets, budgets and free quotas: one implementation for each database. */
export interface CallHolds {
  /**
   * Takes a call's hold and writes it. `quota` is what it holds of the free quota, where something else has judged that.
   *
   * @throws {GatewayError} Naming what does not suffice, or `unavailable` when it could not be written.
   */
  open(admission: AdmissionRequest, quota: Held | undefined, now: number): Promise<CallOpened>;
  /** A call has ended, and its end is about to be written. */
  charge(end: CallEnded): void;
  /** The end is written; `wasInDoubt` when an earlier try failed, which may have been written all the same. */
  written(end: CallEnded, wasInDoubt: boolean): void;
  wallet(accountId: string, now: number): Promise<WalletState>;
  quota(caller: Pick<Caller, "accountId" | "freeTokensPerDay">, now: number): Promise<QuotaState>;
  /** Absent for a key without a budget. */
  budget(caller: Caller, now: number): Promise<BudgetState | undefined>;
}

/** What is said when a hold could not be written. */
export function notWritten(cause: unknown): Error {
  return billingUnavailable("The call could not be written down, so it was not made; try again", cause);
}

/** What is said when an account could not be read. */
export function notRead(cause: unknown): Error {
  return billingUnavailable("The account could not be read; try again", cause);
}

/** Holds over an embedded store, to which this process alone writes calls, so that it judges them in memory. */
export class EmbeddedHolds implements CallHolds {
  readonly #books: AccountStates;
  readonly #queue: CommitQueue;

  constructor(store: EmbeddedStore, queue: CommitQueue, accountsMax: number) {
    this.#books = new AccountStates(store, accountsMax);
    this.#queue = queue;
  }

  /** Up to its write in one go: no other call comes between. */
  async open(admission: AdmissionRequest, _quota: Held | undefined, now: number): Promise<CallOpened> {
    const { accountId, keyId } = admission.caller;
    const book = this.#bookOf(accountId, now, budgetLimitOf(admission) === undefined ? undefined : keyId);
    const open = openRecord(admission, book.take(admission, now));
    const outcome = await this.#queue.add(open);
    if (!outcome?.failures.has(open)) return open;
    book.undo(open);
    throw notWritten(outcome.failures.get(open));
  }

  charge(end: CallEnded): void {
    this.#books.known(end.open.accountId)?.charge(end.open, end);
  }

  written(end: CallEnded, wasInDoubt: boolean): void {
    const book = this.#books.known(end.open.accountId);
    book?.written(end);
    // What was read of the account meanwhile may have the charge already: then it stands twice here, until read anew.
    if (wasInDoubt) book?.invalidate(end.open);
  }

  async wallet(accountId: string, now: number): Promise<WalletState> {
    return this.#bookOf(accountId, now).wallet();
  }

  async quota({ accountId, freeTokensPerDay }: Caller, now: number): Promise<QuotaState> {
    return this.#bookOf(accountId, now).quota(freeTokensPerDay);
  }

  async budget({ accountId, keyId, keyLimits }: Caller, now: number): Promise<BudgetState | undefined> {
    const limit = keyLimits?.budgetNanodollars;
    return limit === undefined ? undefined : this.#bookOf(accountId, now, keyId).budget(keyId, limit, now);
  }

  #bookOf(accountId: string, now: number, budgetOf?: string): AccountState {
    try {
      return this.#books.get(accountId, now, this.#queue.writing, budgetOf);
    } catch (error) {
      throw notRead(error);
    }
  }
}
