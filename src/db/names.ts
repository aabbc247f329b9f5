import type { DatabaseSync } from "node:sqlite";
import { type RawBuilder, sql } from "kysely";
import type { PinnedConnection } from "./postgres/ordered-connection.ts";

/** More than a gateway is asked for at a time; beyond it the cache begins anew. */
const cachedMax = 200_000;

/** The numbers of rows of `names`, which never change once they are committed. */
export interface NameNumbers {
  /** The number of a name, or null for none. @throws When it has none yet and the engine has to be asked. */
  of(name: string | null): number | null;
}

/** Names of the embedded store. New ones are inserted by the transaction that is open. */
export class SqliteNames implements NameNumbers {
  readonly #numbers = new Map<string, number>();
  readonly #find: ReturnType<DatabaseSync["prepare"]>;
  readonly #insert: ReturnType<DatabaseSync["prepare"]>;
  /** Those of the open transaction. */
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

  /** Another process has written, which may have put another database in the place of this one. */
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

const findText = "select id, name from names where name = any($1)";
/** In the order of the names, so that two nodes do not wait for each other. */
const insertText = `insert into names (name) select name from unnest($1::text[]) as given (name) order by name
  on conflict (name) do nothing`;

/**
 * Names of PostgreSQL. New ones are committed before what is written with them. What was learned holds for one connection: the
 * server behind the next one may have lost the last names, and given their numbers to others.
 */
export class PostgresNames implements NameNumbers {
  readonly #numbers = new Map<string, number>();

  of(name: string | null): number | null {
    if (name === null) return null;
    const number = this.#numbers.get(name);
    if (number === undefined) throw new Error(`Cannot write the name ${name}: it was not looked up`);
    return number;
  }

  /** Names whose numbers are not known yet. */
  findUnknown(names: Iterable<string>): ReadonlySet<string> | undefined {
    if (this.#numbers.size >= cachedMax) this.#numbers.clear();
    let unknown: Set<string> | undefined;
    for (const name of names) {
      if (this.#numbers.has(name)) continue;
      unknown ??= new Set();
      unknown.add(name);
    }
    return unknown;
  }

  /** Looks up the numbers of names, and gives numbers to those that have none. */
  async learn(connection: PinnedConnection, names: ReadonlySet<string>): Promise<void> {
    const values = [[...names]];
    if ((await this.#find(connection, values)) === names.size) return;
    await connection.query({ name: "add_names", text: insertText, values });
    await this.#find(connection, values);
  }

  forget(): void {
    this.#numbers.clear();
  }

  async #find(connection: PinnedConnection, values: string[][]): Promise<number> {
    const statement = { name: "find_names", text: findText, values };
    const { rows } = await connection.query<{ id: number; name: string }>(statement);
    for (const { id, name } of rows) this.#numbers.set(name, id);
    return rows.length;
  }
}

/** The number of a name that calls repeat, for a query; no row has one that is unknown. */
export function nameNumber(name: string): RawBuilder<number> {
  return sql`(select id from names where name = ${name})`;
}
