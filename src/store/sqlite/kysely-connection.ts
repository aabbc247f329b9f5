import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { SqliteDatabase, SqliteStatement } from "kysely";

/** What Kysely's SQLite dialect wants of a driver, over the one connection of the store. */
export class KyselyConnection implements SqliteDatabase {
  readonly #database: DatabaseSync;
  #waiting: (() => void)[] = [];

  constructor(database: DatabaseSync) {
    this.#database = database;
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
    const statement = this.#database.prepare(sql === "begin" ? "begin immediate" : sql);
    const ends = sql === "commit" || sql === "rollback";
    return {
      reader: statement.columns().length > 0,
      all: (parameters) => statement.all(...(parameters as SQLInputValue[])),
      iterate: (parameters) => statement.iterate(...(parameters as SQLInputValue[])),
      run: (parameters) => {
        const result = statement.run(...(parameters as SQLInputValue[]));
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
