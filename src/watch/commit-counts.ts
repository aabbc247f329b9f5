import { Buckets } from "./buckets.ts";

const msBounds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000];
const writesBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** Counts the transactions of the books. */
export class CommitCounts {
  readonly ms = new Buckets(msBounds);
  readonly writes = new Buckets(writesBounds);
  /** Ends of calls that could not be written so far. */
  unwritten = 0;

  readonly note = (writes: number, ms: number, unwritten: number): void => {
    this.ms.note(ms);
    this.writes.note(writes);
    this.unwritten = unwritten;
  };
}
