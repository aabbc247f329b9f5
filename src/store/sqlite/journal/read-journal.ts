import { readFileSync } from "node:fs";
import { StoreError } from "../../store-error.ts";
import { batchOf, type JournalBatch, sequenceOf } from "./journal-line.ts";

/** A journal as it was found. */
export interface JournalContents {
  /** The batches after the asked one. */
  readonly batches: JournalBatch[];
  /** The number of the last batch in the file; absent when it has none. */
  readonly last: number | undefined;
  /** Bytes up to the end of the last whole line; what follows was cut off by a crash. */
  readonly bytes: number;
}

const lineBreak = 10;

/**
 * Reads what a journal holds after a batch. A tail that was cut off was never promised to anybody and is left out; so is
 * a last line that is not as it was written, which a power failure leaves.
 *
 * @throws {StoreError} When a line before the last is not as it was written, or one is missing.
 */
export function readJournal(file: string, after: number): JournalContents {
  const bytes = readAll(file);
  const batches: JournalBatch[] = [];
  let last: number | undefined;
  let start = 0;
  while (true) {
    const end = bytes.indexOf(lineBreak, start);
    if (end === -1) break;
    const line = bytes.subarray(start, end);
    const sequence = sequenceOf(line);
    if (sequence === undefined) {
      if (bytes.indexOf(lineBreak, end + 1) === -1) break;
      throw damaged(file, start, "the line there is not as it was written");
    }
    if (sequence > after) {
      const expected = after + batches.length + 1;
      if (sequence !== expected) throw damaged(file, start, `batch ${expected} is missing before batch ${sequence}`);
      batches.push(batchOf(line));
    }
    last = sequence;
    start = end + 1;
  }
  return { batches, last, bytes: start };
}

function readAll(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}

function damaged(file: string, position: number, what: string): StoreError {
  return new StoreError(
    `The journal ${file} is damaged at byte ${position}: ${what}; restore it from a backup, or move it away to go on without the calls it holds`,
  );
}
