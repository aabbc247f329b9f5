import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, type Store } from "../../../src/db/index.ts";
import { makeDatabase, newUrl, type PostgresServer, startPostgres } from "../../support/postgres.ts";
import { storeOptions } from "./store-options.ts";

/** How `test/integration/over-postgres` has a suite run once more, over PostgreSQL. */
const engineVariable = "MODELGATE_TEST_STORE";

/** Which engine the suite runs over now. */
export const engine = process.env[engineVariable] === "postgres" ? "postgres" : "sqlite";

/** What a crash leaves is asked by other tests, of servers of their own. */
const server: PostgresServer | undefined = engine === "postgres" ? await startPostgres(["fsync=off"]) : undefined;
/** More than any test has at once. A server takes only so many connections, and the run goes on after each file. */
const storesMax = 10;
const folders: string[] = [];
const stores: Store[] = [];

afterAll(async () => {
  for (const store of stores.splice(0)) await store.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A path for a database in a folder of its own, removed after the tests of the file; or the URL of a new database. */
export function temporaryFile(): string {
  if (server !== undefined) return newUrl(server);
  const folder = mkdtempSync(join(tmpdir(), "modelgate-test-"));
  folders.push(folder);
  return join(folder, "modelgate.db");
}

/** A store on a new file, or a second connection to a given one, closed after the tests of the file. */
export async function temporaryStore(file = temporaryFile(), now?: () => number): Promise<Store> {
  if (file.startsWith("postgres:")) {
    await makeDatabase(file, await migratedDatabase(server as PostgresServer));
    while (stores.length >= storesMax) await stores.shift()?.close();
  }
  const store = await openStore({ ...storeOptions(file), ...(now && { now }) });
  stores.push(store);
  return store;
}

let migrated: Promise<string> | undefined;

/** A database with its schema, to be copied: half the time of making it anew for each test. */
function migratedDatabase(host: PostgresServer): Promise<string> {
  migrated ??= (async () => {
    const url = newUrl(host);
    await makeDatabase(url);
    await (await openStore(storeOptions(url))).close();
    return new URL(url).pathname.slice(1);
  })();
  return migrated;
}

/** Waits until a store has heard of another's change: at once in SQLite, within a second over PostgreSQL. */
export async function untilHeard(store: Store): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!store.pollExternalChange()) {
    if (Date.now() > deadline) throw new Error("The store heard of no change in a minute");
    await Bun.sleep(5);
  }
}
