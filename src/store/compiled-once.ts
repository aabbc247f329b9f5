import type { CompiledQuery, Kysely } from "kysely";
import type { Database } from "./database.ts";

/** A query that is asked again and again, put together once for each store; its parameters are set by whoever asks. */
export function compiledOnce<Row>(
  compile: (db: Kysely<Database>) => CompiledQuery<Row>,
): (db: Kysely<Database>) => CompiledQuery<Row> {
  const compiled = new WeakMap<Kysely<Database>, CompiledQuery<Row>>();
  return (db) => {
    let query = compiled.get(db);
    if (query === undefined) {
      query = compile(db);
      compiled.set(db, query);
    }
    return query;
  };
}
