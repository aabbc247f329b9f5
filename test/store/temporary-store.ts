import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, type Store } from "../../src/store/index.ts";

const folders: string[] = [];
const stores: Store[] = [];

afterAll(async () => {
  for (const store of stores.splice(0)) await store.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A path for a database in a folder of its own, removed after the tests of the file. */
export function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "modelgate-test-"));
  folders.push(folder);
  return join(folder, "modelgate.db");
}

/** A store on a new file, or a second connection to a given one, closed after the tests of the file. */
export async function temporaryStore(file = temporaryFile(), now?: () => number): Promise<Store> {
  const store = await openStore({ file, ...(now && { now }) });
  stores.push(store);
  return store;
}
