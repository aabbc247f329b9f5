import {
  type BoundsState,
  type Caller,
  type Claim,
  GatewayError,
  type Hold,
  type Ledger,
  type LimitState,
  type QuotaState,
  type Settlement,
  type WalletState,
} from "../contract/index.ts";
import type { EndWrite, OpenWrite, Store } from "../store/index.ts";
import type { AccountBook } from "./account-book.ts";
import { AccountBooks } from "./account-books.ts";
import { endOf, tokensOf } from "./call-end.ts";
import { checkClaim, openWriteOf } from "./call-open.ts";
import { CommitQueue, fundsGone, type OnCommit } from "./commit-queue.ts";
import { expectEnded } from "./expect-ended.ts";
import { budgetOf } from "./key-book.ts";
import { type Recovery, recover } from "./recover.ts";
import { booksUnavailable } from "./refusals.ts";

/** What {@link createLocalLedger} wants. */
export interface LocalLedgerOptions {
  store: Store;
  /** Milliseconds since 1970; default the system's clock. */
  now?: () => number;
  /** Accounts kept in memory, beside those that are busy; default 20 000. */
  accountsMax?: number;
  onCommit?: OnCommit | undefined;
}

/** The ledger of one process over its store. */
export interface LocalLedger extends Ledger {
  /**
   * Ends the calls that dead processes left open: before the first call is admitted, and over a shared store now and
   * then.
   */
  recover(): Promise<Recovery>;
  /**
   * Picks up credits made by another process, and at once tries again what could not be written. For a timer of the
   * owner.
   *
   * @returns How many ends of calls are still not written.
   */
  sync(): Promise<number>;
  /**
   * Admits no more calls and writes all that is queued.
   *
   * @throws {Error} When ends of calls cannot be written; the next start finds these calls open and recovers them.
   */
  close(): Promise<void>;
}

/** How often a hold is tried anew when other processes were faster. */
const attemptsMax = 8;
const fundsCodes: ReadonlySet<string> = new Set(["insufficient_balance", "quota_exceeded", "budget_exceeded"]);

interface OpenCall {
  readonly book: AccountBook;
  readonly claim: Claim;
  readonly open: OpenWrite;
  end: EndWrite | undefined;
}

/** Makes the ledger that keeps limits, holds and quotas in process and writes every call to the store. */
export function createLocalLedger(options: LocalLedgerOptions): LocalLedger {
  return new ProcessLedger(options);
}

class ProcessLedger implements LocalLedger {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #books: AccountBooks;
  readonly #queue: CommitQueue;
  readonly #calls = new Map<string, OpenCall>();
  #closed = false;

  constructor({ store, now = Date.now, accountsMax = 20_000, onCommit }: LocalLedgerOptions) {
    this.#store = store;
    this.#now = now;
    this.#books = new AccountBooks(store, accountsMax);
    this.#queue = new CommitQueue(store, (end, wasInDoubt) => this.#endWritten(end, wasInDoubt), onCommit);
  }

  async admit(claim: Claim): Promise<Hold> {
    for (let attempts = 1; ; attempts += 1) {
      const now = this.#now();
      const opened = this.#store.shared ? this.#openShared(claim, now) : this.#open(claim, now);
      const call = opened instanceof Promise ? await opened : opened;
      const { book, open } = call;
      const limits = book.limitState(claim.caller, now);
      const failures = await this.#queue.add(open);
      if (!failures?.has(open)) {
        return { callId: claim.callId, heldNanodollars: open.holdNanodollars, heldTokens: open.holdTokens, limits };
      }
      const failure = failures.get(open);
      this.#calls.delete(claim.callId);
      book.undo(claim, open, this.#now());
      if (failure === fundsGone && attempts < attemptsMax) {
        await this.#reread(claim);
        continue;
      }
      throw booksUnavailable("The call could not be written down, so it was not made; try again", failure);
    }
  }

  async settle(settlement: Settlement): Promise<void> {
    const call = this.#calls.get(settlement.callId);
    if (call === undefined) return expectEnded(this.#store, settlement.callId);
    call.end ??= this.#end(call, settlement);
    const failures = await this.#queue.add(call.end);
    if (failures?.has(call.end)) {
      throw booksUnavailable(
        "The charge of the call could not be written yet; it is kept and tried again",
        failures.get(call.end),
      );
    }
  }

  async walletOf(accountId: string): Promise<WalletState> {
    return (await this.#shown(accountId)).wallet();
  }

  async quotaOf(caller: Pick<Caller, "accountId" | "freeTokensPerDay">): Promise<QuotaState> {
    return (await this.#shown(caller.accountId)).quota(caller.freeTokensPerDay);
  }

  async limitsOf(caller: Caller): Promise<LimitState> {
    const now = this.#now();
    return (await this.#bookOf(caller.accountId, now)).limitState(caller, now);
  }

  async boundsOf(caller: Caller): Promise<BoundsState> {
    const budgetKey = caller.own?.budgetNanodollars === undefined ? undefined : caller.keyId;
    return (await this.#shown(caller.accountId, budgetKey)).bounds(caller, this.#now());
  }

  recover(): Promise<Recovery> {
    if (this.#calls.size > 0 && !this.#store.shared)
      throw new Error("Cannot recover: calls of this process are already running");
    return recover(this.#store, this.#now());
  }

  async sync(): Promise<number> {
    this.#store.outsideChange();
    if (this.#queue.unwritten.size > 0) await this.#queue.flush();
    return this.#queue.unwritten.size;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#queue.flush();
    const ids = [...this.#queue.unwritten].map((end) => end.open.callId);
    if (ids.length > 0) throw new Error(`Cannot write the charges of ${ids.length} calls: ${ids.join(", ")}`);
  }

  #open(claim: Claim, now: number): OpenCall | Promise<OpenCall> {
    if (this.#closed) throw booksUnavailable("The gateway is shutting down; try again");
    checkClaim(claim);
    const book = this.#bookOf(claim.caller.accountId, now, budgetKeyOf(claim));
    if (book instanceof Promise) return book.then((read) => this.#take(read, claim, now));
    return this.#take(book, claim, now);
  }

  /** What other processes held when they were last asked about may be free by now, so a refusal is not final. */
  async #openShared(claim: Claim, now: number): Promise<OpenCall> {
    try {
      return await this.#open(claim, now);
    } catch (error) {
      const isFunds = error instanceof GatewayError && fundsCodes.has(error.code);
      if (!isFunds || this.#closed) throw error;
    }
    return this.#take(await this.#reread(claim), claim, now);
  }

  #take(book: AccountBook, claim: Claim, now: number): OpenCall {
    if (this.#calls.has(claim.callId)) throw new Error(`Cannot admit call ${claim.callId}: it is already running`);
    const open = openWriteOf(claim, book.take(claim, now), this.#store.shared);
    const call: OpenCall = { book, claim, open, end: undefined };
    this.#calls.set(claim.callId, call);
    return call;
  }

  #end(call: OpenCall, settlement: Settlement): EndWrite {
    const { book, claim, open } = call;
    const now = this.#now();
    const end = endOf(open, settlement, now);
    book.charge(claim, open, end);
    const tokens = settlement.outcome === "settled" ? tokensOf(settlement.meters) : undefined;
    if (tokens !== undefined) book.countTokens(tokens - claim.limitTokens, claim, now);
    return end;
  }

  #endWritten(end: EndWrite, wasInDoubt: boolean): void {
    const { callId } = end.open;
    const call = this.#calls.get(callId);
    if (call?.end !== end) return;
    this.#calls.delete(callId);
    call.book.written(call.claim, end);
    // What was read of the account meanwhile may hold the charge already: then it stands twice here, until read anew.
    if (wasInDoubt) call.book.doubt(call.claim);
  }

  #bookOf(accountId: string, now: number, budgetOf?: string): AccountBook | Promise<AccountBook> {
    try {
      const book = this.#books.get(accountId, now, !this.#queue.writing, budgetOf);
      return book instanceof Promise ? book.catch(accountUnreadable) : book;
    } catch (error) {
      return accountUnreadable(error);
    }
  }

  /** For whoever looks at it: what other processes spent and hold shows too. */
  async #shown(accountId: string, budgetOf?: string): Promise<AccountBook> {
    if (!this.#store.shared) return this.#bookOf(accountId, this.#now(), budgetOf);
    return this.#rereadOf(accountId, budgetOf);
  }

  #reread(claim: Claim): Promise<AccountBook> {
    return this.#rereadOf(claim.caller.accountId, budgetKeyOf(claim));
  }

  async #rereadOf(accountId: string, budgetOf: string | undefined): Promise<AccountBook> {
    try {
      return await this.#books.reread(accountId, this.#now(), budgetOf);
    } catch (error) {
      return accountUnreadable(error);
    }
  }
}

/** The key whose budget must be known to admit a call; absent where it has none. */
function budgetKeyOf(claim: Claim): string | undefined {
  return budgetOf(claim) === undefined ? undefined : claim.caller.keyId;
}

function accountUnreadable(cause: unknown): never {
  throw booksUnavailable("The account could not be read; try again", cause);
}
