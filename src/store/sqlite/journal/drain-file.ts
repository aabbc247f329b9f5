import { statSync } from "node:fs";
import { StoreError } from "../../store-error.ts";
import type { Applier } from "./applier.ts";
import { type JournalContents, readJournal } from "./read-journal.ts";

/**
 * Makes what applies all that stands in a journal, be its writer this process, another one or a dead one. A file that
 * has not changed since is not read again.
 *
 * @throws {StoreError} When the journal is damaged.
 */
export function prepareDrain(applier: Applier, file: string, writesMax: number): () => void {
  let seen: string | undefined;
  return () => {
    const stamp = stampOf(file);
    if (stamp === seen) return;
    if (stamp !== undefined && isBehind(applier, file)) {
      // Its writer empties it only while it alone may write to the tables.
      const { batches } = applier.transact((applied) => readJournal(file, applied));
      const last = batches.at(-1)?.sequence;
      while (last !== undefined && applier.apply(batches, writesMax) < last);
    }
    seen = stamp;
  };
}

/** Asked without a lock, so that a reader of up to date tables waits for nobody. */
function isBehind(applier: Applier, file: string): boolean {
  let contents: JournalContents;
  try {
    contents = readJournal(file, applier.applied());
  } catch (error) {
    // It may have been emptied and written to meanwhile.
    if (error instanceof StoreError) return true;
    throw error;
  }
  return contents.batches.length > 0;
}

function stampOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? undefined : `${found.ino} ${found.size} ${found.mtimeNs}`;
}
