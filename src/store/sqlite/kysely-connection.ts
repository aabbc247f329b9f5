import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { SqliteDatabase, SqliteStatement } from "kysely";
import { shownMark } from "../shown.ts";
import { StatementCache } from "./statement-cache.ts";

/** A name that means something else costs little; a table of the books that is missing here would be read stale. */
const asksBooks = /^begin$|\b(calls|entries|wallets|quota_days|key_months|usage_hours|usage_days|openings)\b/;

const nothingDone = { changes: 0, lastInsertRowid: 0 };

/** What Kysely's SQLite dialect wants of a driver, over the one connection of the store. */
export class KyselyConnection implements SqliteDatabase {
  readonly #database: DatabaseSync;
  readonly #statements: StatementCache;
  readonly #beforeBooks: (isShown: boolean) => void;
  #waiting: (() => void)[] = [];

  /**
   * `beforeBooks` is called before each statement that may ask the books, and before each transaction; it is told
   * whether the answer is only shown.
   */
  constructor(database: DatabaseSync, beforeBooks: (isShown: boolean) => void) {
    this.#database = database;
    this.#statements = new StatementCache(database);
    this.#beforeBooks = beforeBooks;
  }

  /** Resolves once no transaction of Kysely's is open, so that the hot path may begin its own on this connection. */
  async free(): Promise<void> {
    while (this.#database.isOpen && this.#database.isTransaction) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
  }

  prepare(sql: string): SqliteStatement {
    if (asksBooks.test(sql)) this.#beforeBooks(sql.endsWith(shownMark));
    // A transaction that reads before it writes can find its snapshot outdated, and SQLite does not wait for that.
    const text = sql === "begin" ? "begin immediate" : sql;
    const { statement, reads } = this.#statements.take(text);
    const ends = sql === "commit" || sql === "rollback";
    return {
      reader: reads,
      all: (parameters) => statement.all(...(parameters as SQLInputValue[])),
      iterate: (parameters) => this.#database.prepare(text).iterate(...(parameters as SQLInputValue[])),
      run: (parameters) => {
        // A full disk has SQLite roll back by itself; that there is nothing left to do must not hide why.
        const isDone = sql === "rollback" && !this.#database.isTransaction;
        const result = isDone ? nothingDone : statement.run(...(parameters as SQLInputValue[]));
        if (ends) this.#wake();
        return result;
      },
    };
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
