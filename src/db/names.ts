import type { DatabaseSync } from "node:sqlite";
import { type RawBuilder, sql } from "kysely";
import { MissingNameError } from "./errors.ts";
import type { PinnedConnection } from "./postgres/ordered-connection.ts";

/** More names than a gateway uses at a time. Beyond this number the cache is emptied. */
const cachedMax = 200_000;

/** The numbers of rows of `names`, which never change once they are committed. */
export interface NameNumbers {
  /** Returns the number of a name, or null for no name. @throws If the name's number is unknown and needs a query. */
  of(name: string | null): number | null;
}

/** Names of the embedded store. New ones are inserted by the transaction that is open. */
export class SqliteNames implements NameNumbers {
  readonly #numbers = new Map<string, number>();
  readonly #find: ReturnType<DatabaseSync["prepare"]>;
  readonly #insert: ReturnType<DatabaseSync["prepare"]>;
  /** Names inserted by the open transaction. */
  #added: string[] = [];

  constructor(database: DatabaseSync) {
    this.#find = database.prepare("select id from names where name = ?");
    this.#insert = database.prepare("insert into names (name) values (?)");
  }

  of(name: string | null): number | null {
    return name === null ? null : (this.#numbers.get(name) ?? this.#look(name));
  }

  keep(): void {
    if (this.#added.length > 0) this.#added = [];
  }

  /** After a rollback the names of the transaction are not there. */
  rollBack(): void {
    for (const name of this.#added) this.#numbers.delete(name);
    this.#added = [];
  }

  forget(): void {
    this.#numbers.clear();
  }

  #look(name: string): number {
    if (this.#numbers.size >= cachedMax) this.#numbers.clear();
    const row = this.#find.get(name) as { id: number } | undefined;
    const number = row === undefined ? Number(this.#insert.run(name).lastInsertRowid) : row.id;
    if (row === undefined) this.#added.push(name);
    this.#numbers.set(name, number);
    return number;
  }
}

const findText = "select id, name, proof from names where name = any($1)";

/** A row of `names` used as proof: if it is in the database, every name committed before it is there too. */
interface LastName {
  readonly id: number;
  readonly name: string;
  /** Random, made with the row: no other database, and no later state of an older one, has it. */
  readonly proof: string;
}

/**
 * Names of PostgreSQL. New names are committed before the rows that use them, in the order of their numbers. A database
 * that was reset to an older state may assign the latest numbers to other names. So each statement that writes numbers
 * carries the last name known here and writes nothing if it does not find that row. If the row is there, all earlier
 * names are unchanged.
 */
export class PostgresNames implements NameNumbers {
  readonly #numbers = new Map<string, number>();
  #last: LastName | undefined;

  of(name: string | null): number | null {
    if (name === null) return null;
    const number = this.#numbers.get(name);
    if (number === undefined) throw new MissingNameError(name);
    return number;
  }

  /** The last name that is known. @throws {MissingNameError} When no name is known. */
  get last(): LastName {
    if (this.#last === undefined) throw new MissingNameError();
    return this.#last;
  }

  /** Whether the numbers of all these names are known. */
  has(names: Iterable<string>): boolean {
    if (this.#numbers.size >= cachedMax) this.forget();
    for (const name of names) if (!this.#numbers.has(name)) return false;
    return true;
  }

  /** Looks up the numbers of names, and assigns a number to each name without one. */
  async learn(connection: PinnedConnection, names: Iterable<string>): Promise<void> {
    const unique = [...new Set(names)];
    if (await this.#find(connection, unique)) return;
    await connection.query({ name: "add_names", text: "select add_names($1)", values: [unique] });
    await this.#find(connection, unique);
  }

  forget(): void {
    this.#numbers.clear();
    this.#last = undefined;
  }

  /** Returns whether all have numbers. */
  async #find(connection: PinnedConnection, names: readonly string[]): Promise<boolean> {
    const last = this.#last;
    const values = [last === undefined ? names : [...names, last.name]];
    const { rows } = await connection.query<LastName>({ name: "find_names", text: findText, values });
    // Without the row of the last name this is a different database, and the numbers learned before are invalid.
    if (last !== undefined && !rows.some(({ id, proof }) => id === last.id && proof === last.proof)) this.forget();
    for (const row of rows) {
      this.#numbers.set(row.name, row.id);
      if (this.#last === undefined || row.id > this.#last.id) this.#last = row;
    }
    return names.every((name) => this.#numbers.has(name));
  }
}

/** The number of a name that calls repeat, for a query; no row has one that is unknown. */
export function nameNumber(name: string): RawBuilder<number> {
  return sql`(select id from names where name = ${name})`;
}
