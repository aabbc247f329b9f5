import type { Funds, Store } from "../store/index.ts";
import { AccountBook } from "./account-book.ts";
import { dayOf } from "./day.ts";

/** How many old accounts are looked at to make room for a new one. */
const probesMax = 32;

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
   * asks meanwhile waits for the same answer.
   */
  get(accountId: string, now: number, settled: boolean): AccountBook | Promise<AccountBook> {
    const book = this.#books.get(accountId);
    if (this.#reading.size > 0) {
      const reading = this.#reading.get(accountId);
      if (reading !== undefined) return reading;
    }
    if (book === undefined) return this.#read(new AccountBook(), accountId, now);
    if (book.revision === this.#store.revision && dayOf(now) <= book.day) return book;
    if (settled || this.#store.shared) return this.#read(book, accountId, now);
    book.turnTo(dayOf(now));
    return book;
  }

  /** Reads an account anew, for what other processes hold of it. */
  reread(accountId: string, now: number): AccountBook | Promise<AccountBook> {
    return this.#reading.get(accountId) ?? this.#read(this.#books.get(accountId) ?? new AccountBook(), accountId, now);
  }

  #read(book: AccountBook, accountId: string, now: number): AccountBook | Promise<AccountBook> {
    const { revision } = this.#store;
    const funds = this.#store.readFunds(accountId);
    if (!(funds instanceof Promise)) return this.#keep(book, accountId, { funds, revision, now });
    const reading = funds
      .then((read) => this.#keep(book, accountId, { funds: read, revision, now }))
      .finally(() => this.#reading.delete(accountId));
    this.#reading.set(accountId, reading);
    return reading;
  }

  #keep(book: AccountBook, accountId: string, read: { funds: Funds; revision: number; now: number }): AccountBook {
    book.refresh(read.funds, dayOf(read.now));
    book.revision = read.revision;
    if (!this.#books.has(accountId)) {
      this.#makeRoom(read.now);
      this.#books.set(accountId, book);
    }
    return book;
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
