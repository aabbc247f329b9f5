import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, type Store } from "../../../src/db/index.ts";
import { makeMigratedFile } from "../../support/migrated-sqlite.ts";
import { makeDatabase, newUrl, type PostgresServer, queryPostgres, startPostgres } from "../../support/postgres.ts";
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
const stores: { store: Store; database?: string }[] = [];
/** Databases that nobody knows any more: to empty one takes a tenth of the time of copying another. */
const free: string[] = [];

afterAll(async () => {
  while (stores.length > 0) await closeFirst();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A path for a database in a folder of its own, removed after the tests of the file; or the URL of a new database. */
export function temporaryFile(): string {
  if (server !== undefined) return newUrl(server);
  const folder = mkdtempSync(join(tmpdir(), "modelgate-test-"));
  folders.push(folder);
  return join(folder, "modelgate.db");
}

/** A store on a new file that has its schema, or on one that is given as it is, closed after the tests of the file. */
export async function temporaryStore(file?: string, now?: () => number): Promise<Store> {
  while (server !== undefined && stores.length >= storesMax) await closeFirst();
  const place = file ?? free.pop() ?? temporaryFile();
  if (server !== undefined) {
    const template = await migratedDatabase(server);
    if (!(await makeDatabase(place, template.name)) && file === undefined) await queryPostgres(place, template.restore);
  } else if (file === undefined) await makeMigratedFile(place);
  const store = await openStore({ ...storeOptions(place), ...(now && { now }) });
  stores.push({ store, ...(server !== undefined && file === undefined && { database: place }) });
  return store;
}

async function closeFirst(): Promise<void> {
  const first = stores.shift();
  await first?.store.close();
  if (first?.database !== undefined) free.push(first.database);
}

/** A database with its schema, to be copied: half the time of making it anew for each test. */
interface Template {
  readonly name: string;
  /** The statements that make any copy of it one that was just made. */
  readonly restore: string;
}

let migrated: Promise<Template> | undefined;

function migratedDatabase(host: PostgresServer): Promise<Template> {
  migrated ??= (async () => {
    const url = newUrl(host);
    await makeDatabase(url);
    await (await openStore(storeOptions(url))).close();
    return { name: new URL(url).pathname.slice(1), restore: await restoreOf(url) };
  })();
  return migrated;
}

async function restoreOf(url: string): Promise<string> {
  const names = async (column: string, from: string) => {
    const rows = await queryPostgres<{ name: string }>(
      url,
      `select quote_ident(${column}) as name from ${from} where schemaname = 'public'`,
    );
    return rows.map(({ name }) => name);
  };
  const [tables, sequences] = [await names("tablename", "pg_tables"), await names("sequencename", "pg_sequences")];
  const refills = tables.map(
    (table) => `select format('insert into ${table} select * from json_populate_recordset(null::${table}, %L)',
      json_agg(t)) as statement from ${table} t having count(*) > 0`,
  );
  const rewinds = sequences.map(
    (sequence) => `select format('select setval(''${sequence}'', %s, %L)', last_value, is_called) from ${sequence}`,
  );
  const contents = await queryPostgres<{ statement: string }>(url, [...refills, ...rewinds].join(" union all "));
  return [
    // Neither triggers nor references are asked meanwhile.
    "set session_replication_role = replica",
    ...tables.map((table) => `delete from ${table}`),
    ...contents.map(({ statement }) => statement),
  ].join(";\n");
}

/** Waits until a store has heard of another's change: at once in SQLite, within a second over PostgreSQL. */
export async function untilHeard(store: Store): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!store.pollExternalChange()) {
    if (Date.now() > deadline) throw new Error("The store heard of no change in a minute");
    await Bun.sleep(5);
  }
}
