import { afterAll } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore, type Store } from "../../../src/store/index.ts";
import type { JournalBounds } from "../../../src/store/sqlite/journal/journal-bounds.ts";

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Never applied by itself within a test. */
export const never = { waitMs: 1e8 };

/** A database with its journal, in a folder of its own, removed after the tests of the file. */
export function temporaryBooks() {
  const folder = mkdtempSync(join(tmpdir(), "modelgate-test-"));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "modelgate.db");
  const journal = join(folder, "modelgate.journal");
  let reader: DatabaseSync | undefined;
  const look = () => {
    if (reader === undefined) {
      const database = new DatabaseSync(file, { readOnly: true });
      closing.push(() => database.close());
      reader = database;
    }
    return reader;
  };
  return {
    folder,
    file,
    journal,
    async open(bounds: Partial<JournalBounds> = {}, lockWaitMs?: number): Promise<Store> {
      const store = await openStore({ file, journal: bounds, ...(lockWaitMs !== undefined && { lockWaitMs }) });
      closing.push(() => store.close());
      return store;
    },
    journalBytes: () => (existsSync(journal) ? statSync(journal).size : undefined),
    journalText: () => readFileSync(journal, "utf8"),
    /** What stands in the tables now, whatever waits in the journal. */
    tables() {
      const row = look()
        .prepare(`select (select count(*) from calls) as calls,
          (select count(*) from calls where state = 'settled') as settled,
          (select count(*) from entries) as entries,
          (select coalesce(sum(balance_nanodollars), 0) from wallets) as balance,
          (select coalesce(sum(requests), 0) from usage_hours) as requests,
          cast((select coalesce(max(value), '0') from settings where name = 'journal_applied') as integer) as applied`)
        .get();
      return { ...row } as Record<"calls" | "settled" | "entries" | "balance" | "requests" | "applied", number>;
    },
  };
}

/** Waits until something is so. */
export async function until(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error("It did not become so in 20 s");
    await Bun.sleep(5);
  }
}
