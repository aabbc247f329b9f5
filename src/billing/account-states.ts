import { type EmbeddedStore, monthOf } from "../db/index.ts";
import { AccountState } from "./account-state.ts";
import { dayOf } from "./call-record.ts";
import { IdleMap } from "./idle-map.ts";

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
