import type { DatabaseSync, StatementSync } from "node:sqlite";
import { LRUCache } from "lru-cache";

const keptMax = 200;
/** Longer ones are made of lists, and seldom come again. */
const lengthMax = 4000;

/**
 * Prepared statements by their text: to prepare one takes longer than most take to run. One that is being read from may
 * not be run again before its end, so `take` is for those whose rows are all read at once.
 */
export class StatementCache {
  readonly #database: DatabaseSync;
  readonly #kept = new LRUCache<string, { statement: StatementSync; reads: boolean }>({ max: keptMax });

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  take(sql: string): { statement: StatementSync; reads: boolean } {
    const known = this.#kept.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    const made = { statement, reads: statement.columns().length > 0 };
    if (sql.length <= lengthMax) this.#kept.set(sql, made);
    return made;
  }
}
