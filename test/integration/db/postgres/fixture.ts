import { afterAll, test } from "bun:test";
import { openStore, type Store, type StoreOptions } from "../../../../src/db/index.ts";
import { newDatabase, whyNoPostgres } from "../../../support/postgres.ts";

if (whyNoPostgres !== undefined) console.warn(`Tests over PostgreSQL are skipped: ${whyNoPostgres}`);

/** A test that needs PostgreSQL; skipped, with the reason printed once, where there is none. */
export const postgresTest = test.skipIf(whyNoPostgres !== undefined);

/** More than any test has at once; each takes a few of the server's connections. */
const storesMax = 6;
const stores: Store[] = [];

afterAll(async () => {
  for (const store of stores.splice(0)) await store.close();
});

/** A node on a new database, or a further one on a given one. A busy machine is no reason to fail: patience is long. */
export async function node(url?: string, options: Partial<StoreOptions> = {}): Promise<{ store: Store; url: string }> {
  while (stores.length >= storesMax) await stores.shift()?.close();
  const place = url ?? (await newDatabase());
  const store = await openStore({ url: place, timeoutMs: 10_000, ...options });
  stores.push(store);
  return { store, url: place };
}

/** Asks again until it is so. @throws When it is not after `msMax`. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, msMax = 60_000): Promise<void> {
  const deadline = Date.now() + msMax;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`After ${msMax} ms it is still not so: ${what}`);
    await Bun.sleep(10);
  }
}
