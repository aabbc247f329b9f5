import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { setImmediate } from "node:timers";
import {
  type DatabaseConnection,
  type SqliteDatabase,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
  SqliteQueryCompiler,
  type SqliteStatement,
} from "kysely";
import { LRUCache } from "lru-cache";

const nothingDone = { changes: 0, lastInsertRowid: 0 };

/** Adapts the one connection of the store to Kysely's SQLite dialect. */
export class KyselyConnection implements SqliteDatabase {
  readonly #database: DatabaseSync;
  readonly #statements: StatementCache;
  #waiting: (() => void)[] = [];
  /** Called before each transaction, and before each statement outside of one that may write. */
  onWrite: (() => void) | undefined = undefined;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#statements = new StatementCache(database);
  }

  /** Resolves once Kysely has no open transaction: then the hot path may begin its own on this connection. */
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
    // A statement within a transaction is written by its commit.
    const mayWrite = !/^\s*select\b/i.test(sql) && !this.#database.isTransaction;
    return {
      reader: reads,
      all: (parameters) => {
        if (mayWrite) this.onWrite?.();
        return statement.all(...(parameters as SQLInputValue[]));
      },
      iterate: (parameters) => this.#database.prepare(text).iterate(...(parameters as SQLInputValue[])),
      run: (parameters) => {
        if (mayWrite) this.onWrite?.();
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

const keptMax = 200;
/** Longer ones are made of lists, and seldom come again. */
const lengthMax = 4000;

/**
 * Prepared statements by their text: preparing a statement takes longer than running most of them. A statement that is
 * being read from may not run again until it is finished, so `take` is for statements whose rows are all read at once.
 */
export class StatementCache {
  readonly #database: DatabaseSync;
  readonly #kept = new LRUCache<string, { statement: StatementSync; reads: boolean }>({ max: keptMax });

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  take(sql: string): { statement: StatementSync; reads: boolean } {
    const cachedStatement = this.#kept.get(sql);
    if (cachedStatement !== undefined) return cachedStatement;
    const statement = this.#database.prepare(sql);
    const made = { statement, reads: statement.columns().length > 0 };
    if (sql.length <= lengthMax) this.#kept.set(sql, made);
    return made;
  }
}

/** How long queries may follow one another in one turn of the event loop. */
const turnMsMax = 5;

/**
 * SQLite answers synchronously, so a page with many queries would block the event loop for one long turn. If a turn has
 * taken long, its next query or transaction waits for the next turn.
 */
class TurnEndingDriver extends SqliteDriver {
  /** When the first query of this turn began. */
  #turnFromMs: number | undefined;

  override async acquireConnection(): Promise<DatabaseConnection> {
    if (this.#turnFromMs !== undefined && performance.now() - this.#turnFromMs > turnMsMax) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (this.#turnFromMs === undefined) {
      this.#turnFromMs = performance.now();
      setImmediate(() => {
        this.#turnFromMs = undefined;
      });
    }
    return super.acquireConnection();
  }
}

/**
 * Kysely's SQLite dialect with `+?` for a parameter instead of `?`. Without the `+`, SQLite plans some prepared
 * statements again for each bound value (in a join, or with both a limit and an order), which takes four times as long
 * as running them.
 */
export class PlannedOnceDialect extends SqliteDialect {
  readonly #config: SqliteDialectConfig;

  constructor(config: SqliteDialectConfig) {
    super(config);
    this.#config = config;
  }

  override createDriver(): SqliteDriver {
    return new TurnEndingDriver(this.#config);
  }

  override createQueryCompiler(): SqliteQueryCompiler {
    return new PlannedOnceCompiler();
  }
}

class PlannedOnceCompiler extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return "+?";
  }
}
