import { type BudgetAsked, type Funds, monthOf, type Store } from "../store/index.ts";
import { AccountBook } from "./account-book.ts";
import { dayOf } from "./day.ts";

/** How many old accounts are looked at to make room for a new one. */
const probesMax = 32;

interface Read {
  readonly funds: Funds;
  readonly revision: number;
  readonly now: number;
  readonly asked: BudgetAsked | undefined;
}

/** The accounts in memory: read from the store at first use, forgotten when idle and others need the room. */
export class AccountBooks {
  readonly #store: Store;
  readonly #accountsMax: number;
  readonly #books = new Map<string, AccountBook>();
  readonly #reading = new Map<string, Promise<AccountBook>>();

  constructor(store: Store, accountsMax: number) {
    this.#store = store;
    this.#accountsMax = accountsMax;
  }

  /**
   * The account as it stands now. `settled` says that no write is under way: in the middle of one it cannot be told
   * whether the embedded store's figures have it already, so that they are read at the next occasion. A shared store
   * answers in the order in which it is asked, so that there it is always known; it answers later, and everybody who
   * asks meanwhile waits for the same answer. `budgetOf` is the id of a key whose budget is to be known too.
   */
  get(accountId: string, now: number, settled: boolean, budgetOf?: string): AccountBook | Promise<AccountBook> {
    const book = this.#books.get(accountId);
    if (this.#reading.size > 0) {
      const reading = this.#reading.get(nameOf(accountId, budgetOf));
      if (reading !== undefined) return reading;
    }
    if (book === undefined) return this.#read(accountId, now, budgetOf);
    const { revision } = this.#store;
    const isKnown = book.revision === revision && dayOf(now) <= book.day;
    if (isKnown && (budgetOf === undefined || book.knowsBudget(budgetOf, revision, now))) return book;
    if (settled || this.#store.shared) return this.#read(accountId, now, budgetOf);
    book.turnTo(dayOf(now));
    if (budgetOf !== undefined) this.#turnBudget(book, accountId, budgetOf, now);
    return book;
  }

  /** Reads an account anew, for what other processes hold of it. */
  reread(accountId: string, now: number, budgetOf?: string): AccountBook | Promise<AccountBook> {
    return this.#reading.get(nameOf(accountId, budgetOf)) ?? this.#read(accountId, now, budgetOf);
  }

  #read(accountId: string, now: number, budgetOf: string | undefined): AccountBook | Promise<AccountBook> {
    const { revision } = this.#store;
    const asked = budgetOf === undefined ? undefined : { keyId: budgetOf, month: monthOf(now) };
    const funds = this.#store.readFunds(accountId, asked);
    if (!(funds instanceof Promise)) return this.#keep(accountId, { funds, revision, now, asked });
    const name = nameOf(accountId, budgetOf);
    const reading = funds
      .then((read) => this.#keep(accountId, { funds: read, revision, now, asked }))
      .finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }

  /** Two answers may have been under way for an account that was not known: its book is the one kept first. */
  #keep(accountId: string, { funds, revision, now, asked }: Read): AccountBook {
    let book = this.#books.get(accountId);
    if (book === undefined) {
      book = new AccountBook();
      this.#makeRoom(now);
      this.#books.set(accountId, book);
    }
    book.refresh(funds, dayOf(now));
    book.revision = revision;
    if (asked !== undefined && funds.budget !== undefined) {
      book.refreshBudget(asked.keyId, funds.budget, { month: asked.month, revision, now });
    }
    return book;
  }

  /** A budget that was never read is read also in the middle of a write: nothing of it can be on its way. */
  #turnBudget(book: AccountBook, accountId: string, keyId: string, now: number): void {
    const month = monthOf(now);
    if (book.turnBudget(keyId, month)) return;
    const { revision } = this.#store;
    const funds = this.#store.readFunds(accountId, { keyId, month });
    if (funds instanceof Promise || funds.budget === undefined) return;
    book.refreshBudget(keyId, funds.budget, { month, revision, now });
  }

  /** Busy accounts go to the end of the queue and are kept, also beyond the bound. */
  #makeRoom(now: number): void {
    let probes = this.#books.size < this.#accountsMax ? 0 : probesMax;
    for (const [accountId, book] of this.#books) {
      if (probes-- <= 0) return;
      this.#books.delete(accountId);
      if (book.isIdle(now)) return;
      this.#books.set(accountId, book);
    }
  }
}

/** Names what is read. */
function nameOf(accountId: string, budgetOf: string | undefined): string {
  return budgetOf === undefined ? accountId : `${accountId} ${budgetOf}`;
}
