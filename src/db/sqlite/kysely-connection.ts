import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { SqliteDatabase, SqliteStatement } from "kysely";
import { StatementCache } from "./statement-cache.ts";

const nothingDone = { changes: 0, lastInsertRowid: 0 };

/** What Kysely's SQLite dialect wants of a driver, over the one connection of the store. */
export class KyselyConnection implements SqliteDatabase {
  readonly #database: DatabaseSync;
  readonly #statements: StatementCache;
  #waiting: (() => void)[] = [];

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#statements = new StatementCache(database);
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
