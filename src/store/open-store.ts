import { openPostgres } from "./postgres/open-postgres.ts";
import { openSqlite } from "./sqlite/open-sqlite.ts";
import type { Store, StoreOptions } from "./store.ts";

/**
 * Opens the store and brings its schema up to date: PostgreSQL where there is a URL, else the embedded file.
 *
 * @throws {StoreError} When it cannot be opened or reached, is no database of modelgate's, or is newer.
 */
export function openStore({ file, url, patienceMs, journal, now = Date.now }: StoreOptions): Promise<Store> {
  if (url !== undefined) return openPostgres({ url, now, ...(patienceMs !== undefined && { patienceMs }) });
  if (file === undefined) throw new TypeError("Cannot open the store: neither a file nor a URL is named");
  return openSqlite({ file, now, journal });
}
