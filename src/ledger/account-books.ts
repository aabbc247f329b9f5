import type { Store } from "../store/index.ts";
import { AccountBook } from "./account-book.ts";
import { dayOf } from "./day.ts";

/** How many old accounts are looked at to make room for a new one. */
const probesMax = 32;

/** The accounts in memory: read from the store at first use, forgotten when idle and others need the room. */
export class AccountBooks {
  readonly #store: Store;
  readonly #accountsMax: number;
  readonly #books = new Map<string, AccountBook>();

  constructor(store: Store, accountsMax: number) {
    this.#store = store;
    this.#accountsMax = accountsMax;
  }

  /**
   * The account as it stands now. `settled` says that no write is under way: in the middle of one it cannot be told
   * whether the store's figures have it already, so that they are read at the next occasion.
   */
  get(accountId: string, now: number, settled: boolean): AccountBook {
    let book = this.#books.get(accountId);
    if (book === undefined) {
      book = new AccountBook();
      this.#read(book, accountId, now);
      this.#makeRoom(now);
      this.#books.set(accountId, book);
    } else if (book.revision !== this.#store.revision || dayOf(now) > book.day) {
      if (settled) this.#read(book, accountId, now);
      else book.turnTo(dayOf(now));
    }
    return book;
  }

  #read(book: AccountBook, accountId: string, now: number): void {
    const { revision } = this.#store;
    book.refresh(this.#store.readFunds(accountId), dayOf(now));
    book.revision = revision;
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
