import type { DatabaseSync } from "node:sqlite";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { OrderedConnection } from "./postgres/ordered-connection.ts";
import type { Database } from "./schema.ts";

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

  /** After a rollback the names of the transaction are not there. */
  forget(): void {
    for (const name of this.#added) this.#numbers.delete(name);
    this.#added = [];
  }

  keep(): void {
    if (this.#added.length > 0) this.#added = [];
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

/** Names of PostgreSQL. New ones are committed before what is written with them. */
export class PostgresNames implements NameNumbers {
  readonly #numbers = new Map<string, number>();
  readonly #connection: OrderedConnection;

  constructor(connection: OrderedConnection) {
    this.#connection = connection;
  }

  of(name: string | null): number | null {
    if (name === null) return null;
    const number = this.#numbers.get(name);
    if (number === undefined) throw new Error(`Cannot write the name ${name}: it was not looked up`);
    return number;
  }

  /** Looks up what is not known yet. */
  async learn(names: Iterable<string>): Promise<void> {
    const unknown = new Set<string>();
    for (const name of names) if (!this.#numbers.has(name)) unknown.add(name);
    if (unknown.size === 0) return;
    if (this.#numbers.size >= cachedMax) {
      this.#numbers.clear();
      for (const name of names) unknown.add(name);
    }
    const values = [[...unknown]];
    if ((await this.#find(values)) === unknown.size) return;
    await this.#connection.query({ name: "add_names", text: insertText, values });
    await this.#find(values);
  }

  /** Looks all up again after a connection has failed: a replica may lack the last names. */
  forget(): void {
    this.#numbers.clear();
  }

  async #find(values: string[][]): Promise<number> {
    const statement = { name: "find_names", text: findText, values };
    const { rows } = await this.#connection.query<{ id: number; name: string }>(statement);
    for (const { id, name } of rows) this.#numbers.set(name, id);
    return rows.length;
  }
}

/** The number of a name that calls repeat, for a query; no row has one that is unknown. */
export function nameNumber(name: string): RawBuilder<number> {
  return sql`(select id from names where name = ${name})`;
}

/** Gives a name its number if it has none yet. */
export async function addName(db: Kysely<Database>, name: string): Promise<void> {
  await db
    .insertInto("names")
    .values({ name })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
}
