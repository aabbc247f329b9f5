import { openSqlite } from "./sqlite/open-sqlite.ts";
import type { Store, StoreOptions } from "./store.ts";

/**
 * Opens the store and brings its schema up to date: PostgreSQL where there is a URL, else the embedded file.
 *
 * @throws {StoreError} When it cannot be opened or reached, is not a database of modelgate's, or is newer.
 */
export async function openStore({
  file,
  url,
  timeoutMs,
  deadAfterMs,
  lockWaitMs,
  synchronous,
  report = () => undefined,
  now = Date.now,
}: StoreOptions): Promise<Store> {
  if (url !== undefined) {
    // Its client, some 10 MB of memory, is loaded only where there is such a database.
    const { openPostgres } = await import("./postgres/open-postgres.ts");
    return openPostgres({ url, now, timeoutMs, deadAfterMs, report });
  }
  if (file === undefined) throw new TypeError("Cannot open the store: neither a file nor a URL is named");
  return openSqlite({ file, now, lockWaitMs, synchronous });
}
