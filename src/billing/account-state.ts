import type { AdmissionRequest, BudgetState, QuotaState, WalletState } from "../contract/index.ts";
import {
  type AccountBalance,
  type BudgetBalance,
  type CallEnded,
  type CallOpened,
  dayOf,
  type EmbeddedStore,
  monthOf,
  startOfDay,
} from "../db/index.ts";
import { budgetLimitOf, type Held } from "./call-record.ts";
import { IdleMap } from "./idle-map.ts";
import { KeyState } from "./key-state.ts";
import { balanceExceeded, budgetExceeded, quotaExceeded } from "./limit-errors.ts";

/** Keys of an account beside which idle ones are forgotten. */
const keysMax = 1000;

/**
 * Wallet, budgets and free quota of one account of an embedded store, in memory: what is written, what is held, and what
 * is charged but not yet written. Each method runs in one go, which is what makes admission atomic.
 */
export class AccountState {
  #balance = 0;
  #held = 0;
  /** Never goes back, so that a clock that does mints no quota. */
  #day = 0;
  #usedTokens = 0;
  #heldTokens = 0;
  #unwritten = 0;
  #unwrittenTokens = 0;
  #openCalls = 0;
  /** Running calls that hold less than they may cost: one of each kind at a time. */
  #partials = 0;
  #partialDraws = 0;
  /** Keys that have a budget; absent while none was seen. */
  #keys: IdleMap<KeyState> | undefined;
  /** The store's revision that was last read; absent before the first. */
  revision: number | undefined;

  get day(): number {
    return this.#day;
  }

  /** Takes over what is written, beside what is still on its way there. */
  refresh(funds: AccountBalance, today: number): void {
    this.#balance = funds.balanceNanodollars - this.#unwritten;
    this.turnTo(funds.quotaDay === undefined ? today : Math.max(today, funds.quotaDay));
    this.#usedTokens = this.#unwrittenTokens + (funds.quotaDay === this.#day ? funds.usedTokens : 0);
  }

  /** Begins a new day's quota; holds and unwritten draws of an older day no longer count. */
  turnTo(day: number): void {
    if (day <= this.#day) return;
    this.#day = day;
    this.#usedTokens = 0;
    this.#heldTokens = 0;
    this.#partialDraws = 0;
    this.#unwrittenTokens = 0;
  }

  /**
   * Takes a call's hold, or nothing.
   *
   * @throws {GatewayError} Naming what does not suffice.
   */
  take(admission: AdmissionRequest, now: number): Held {
    const held = admission.premium ? this.#takeMoney(admission, now) : this.#takeQuota(admission, now);
    this.#openCalls += 1;
    return held;
  }

  /** Gives back all that {@link take} took, as if the call had never come. */
  undo(open: CallOpened): void {
    this.#giveBack(open);
    this.#openCalls -= 1;
    this.#budgetOf(open)?.undo(open);
  }

  /** Turns a hold into a charge that is still to be written. */
  charge(open: CallOpened, { chargedNanodollars: nanodollars, quotaTokens }: CallEnded): void {
    this.#budgetOf(open)?.charge(open, nanodollars);
    this.#giveBack(open);
    this.#balance -= nanodollars;
    this.#unwritten += nanodollars;
    if (open.quotaDay !== this.#day) return;
    this.#usedTokens += quotaTokens;
    this.#unwrittenTokens += quotaTokens;
  }

  /** The charge of a call is written. */
  written({ open, chargedNanodollars, quotaTokens }: CallEnded): void {
    this.#budgetOf(open)?.written(open.budgetMonth, chargedNanodollars);
    this.#unwritten -= chargedNanodollars;
    if (open.quotaDay === this.#day) this.#unwrittenTokens -= quotaTokens;
    this.#openCalls -= 1;
  }

  /** It is not certain what is written of this call, so that what is known of the account and its key is read anew. */
  invalidate(open: CallOpened): void {
    this.revision = undefined;
    const key = this.#budgetOf(open);
    if (key !== undefined) key.revision = undefined;
  }

  /** Whether the budget of a key as it is known holds for this moment. */
  knowsBudget(keyId: string, revision: number, now: number): boolean {
    return this.#keys?.get(keyId)?.knowsBudget(revision, now) === true;
  }

  /** Begins a new month for a key; `false` when nothing is known of its budget. */
  turnBudget(keyId: string, month: number): boolean {
    const key = this.#keys?.get(keyId);
    if (key?.revision === undefined) return false;
    key.turnTo(month);
    return true;
  }

  /** Takes over what is written of a key's budget. */
  refreshBudget(keyId: string, funds: BudgetBalance, at: { month: number; revision: number; now: number }): void {
    const key = this.#keyOf(keyId, at.now);
    key.refresh(funds, at.month);
    key.revision = at.revision;
  }

  /** Whether forgetting this account loses nothing. */
  isIdle(): boolean {
    return this.#openCalls === 0;
  }

  wallet(): WalletState {
    return { balanceNanodollars: this.#balance, heldNanodollars: this.#held };
  }

  quota(limitTokens: number): QuotaState {
    const resetsAt = startOfDay(this.#day + 1);
    return { limitTokens, usedTokens: this.#usedTokens, heldTokens: this.#heldTokens, resetsAt };
  }

  budget(keyId: string, limitNanodollars: number, now: number): BudgetState {
    return this.#keyOf(keyId, now).budget(limitNanodollars);
  }

  #keyOf(keyId: string, now: number): KeyState {
    this.#keys ??= new IdleMap(keysMax, () => new KeyState());
    return this.#keys.getOrMake(keyId, now);
  }

  /** That of a call that draws on one. */
  #budgetOf({ budgetMonth, keyId }: CallOpened): KeyState | undefined {
    return budgetMonth === null ? undefined : this.#keys?.get(keyId);
  }

  #takeMoney(admission: AdmissionRequest, now: number): Held {
    const available = this.#balance - this.#held;
    const limit = budgetLimitOf(admission);
    const key = limit === undefined ? undefined : this.#keyOf(admission.caller.keyId, now);
    const inBudget = key === undefined || limit === undefined ? available : key.available(limit);
    const holdNanodollars = Math.min(available, inBudget, admission.holdNanodollars);
    const partial = holdNanodollars < admission.holdNanodollars;
    const isBlocked = available <= 0 || (partial && this.#partials > 0);
    if (key !== undefined && limit !== undefined && (inBudget <= 0 || (isBlocked && inBudget < available))) {
      throw budgetExceeded(key.budget(limit), now);
    }
    if (isBlocked) throw balanceExceeded(admission.model, this.#balance, this.#held);
    if (partial) this.#partials += 1;
    this.#held += holdNanodollars;
    const budgetMonth = key === undefined ? null : key.take(holdNanodollars);
    return { quotaDay: null, holdNanodollars, holdTokens: 0, budgetMonth, partial };
  }

  #takeQuota(admission: AdmissionRequest, now: number): Held {
    const limit = admission.caller.freeTokensPerDay;
    const held = this.#heldTokens;
    const available = limit - this.#usedTokens - held;
    const holdTokens = Math.min(available, admission.holdTokens);
    const partial = holdTokens < admission.holdTokens;
    if (available <= 0 || (partial && this.#partialDraws > 0)) {
      throw quotaExceeded({ limit, used: this.#usedTokens, held }, startOfDay(this.#day + 1), now);
    }
    if (partial) this.#partialDraws += 1;
    this.#heldTokens += holdTokens;
    return { quotaDay: this.#day, holdNanodollars: 0, holdTokens, budgetMonth: null, partial };
  }

  #giveBack(held: Held): void {
    this.#held -= held.holdNanodollars;
    if (held.partial && held.quotaDay === null) this.#partials -= 1;
    if (held.quotaDay !== this.#day) return;
    this.#heldTokens -= held.holdTokens;
    if (held.partial) this.#partialDraws -= 1;
  }
}

/** The accounts in memory: read from the store at first use, forgotten when idle and others need the room. */
export class AccountStates {
  readonly #store: EmbeddedStore;
  readonly #books: IdleMap<AccountState>;

  constructor(store: EmbeddedStore, accountsMax: number) {
    this.#store = store;
    this.#books = new IdleMap(accountsMax, () => new AccountState());
  }

  /** The account of a call that runs. */
  known(accountId: string): AccountState | undefined {
    return this.#books.get(accountId);
  }

  /**
   * The account as it stands now. While a write is under way it cannot be told whether the store's figures have it
   * already, so that they are read at the next occasion. `budgetOf` is the id of a key whose budget is to be known too.
   */
  get(accountId: string, now: number, isWriting: boolean, budgetOf?: string): AccountState {
    const book = this.#books.get(accountId);
    if (book === undefined) return this.#read(accountId, now, budgetOf);
    const { revision } = this.#store;
    const isKnown = book.revision === revision && dayOf(now) <= book.day;
    if (isKnown && (budgetOf === undefined || book.knowsBudget(budgetOf, revision, now))) return book;
    if (!isWriting) return this.#read(accountId, now, budgetOf);
    book.turnTo(dayOf(now));
    if (budgetOf !== undefined) this.#turnBudget(book, accountId, budgetOf, now);
    return book;
  }

  #read(accountId: string, now: number, budgetOf: string | undefined): AccountState {
    const { revision } = this.#store;
    const asked = budgetOf === undefined ? undefined : { keyId: budgetOf, month: monthOf(now) };
    const funds = this.#store.readBalance(accountId, asked);
    const book = this.#books.getOrMake(accountId, now);
    book.refresh(funds, dayOf(now));
    book.revision = revision;
    if (asked !== undefined && funds.budget !== undefined) {
      book.refreshBudget(asked.keyId, funds.budget, { month: asked.month, revision, now });
    }
    return book;
  }

  /** A budget that was never read is read also in the middle of a write: nothing of it can be on its way. */
  #turnBudget(book: AccountState, accountId: string, keyId: string, now: number): void {
    const month = monthOf(now);
    if (book.turnBudget(keyId, month)) return;
    const { revision } = this.#store;
    const { budget } = this.#store.readBalance(accountId, { keyId, month });
    if (budget !== undefined) book.refreshBudget(keyId, budget, { month, revision, now });
  }
}
