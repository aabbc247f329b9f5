import { afterAll } from "bun:test";
import { sql } from "kysely";
import { createLocalLedger } from "../../src/ledger/index.ts";
import { openStore } from "../../src/store/index.ts";
import type { JournalBounds } from "../../src/store/sqlite/journal/journal-bounds.ts";
import { appendToFile } from "../../src/store/sqlite/journal/journal-file.ts";
import { takeLock } from "../../src/store/sqlite/journal/journal-lock.ts";
import { temporaryFile } from "../store/temporary-store.ts";
import { type Ground, newYear } from "./ground.ts";

/** A ledger over a disk that a test can make take no writes. */
export interface Disk extends Ground {
  readOnly(on: boolean): Promise<void>;
}

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.splice(0)) await close();
});

/** The calls are written to a journal, and that is what fails. */
export async function journalDisk(bounds: Partial<JournalBounds> = {}): Promise<Disk> {
  let isReadOnly = false;
  const append = (descriptor: number, text: string) => {
    if (isReadOnly) throw new Error("EROFS: readonly file system, write");
    return appendToFile(descriptor, text);
  };
  const clock = { time: newYear };
  const store = await openStore({ file: temporaryFile(), now: () => clock.time, journal: { ...bounds, append } });
  closing.push(() => store.close());
  const readOnly = async (on: boolean) => {
    isReadOnly = on;
  };
  return { store, clock, ledger: createLocalLedger({ store, now: () => clock.time }), readOnly };
}

/** Another process has the journal, so that the calls are written to the tables at once. */
export async function tablesDisk(): Promise<Disk> {
  const file = temporaryFile();
  const lock = takeLock(`${file.replace(/\.db$/, "")}.journal-lock`);
  const clock = { time: newYear };
  const store = await openStore({ file, now: () => clock.time });
  closing.push(
    () => store.close(),
    () => lock?.release(),
  );
  const readOnly = async (on: boolean) => {
    await sql`pragma query_only = ${sql.lit(on ? 1 : 0)}`.execute(store.db);
  };
  return { store, clock, ledger: createLocalLedger({ store, now: () => clock.time }), readOnly };
}
