import { type Append, appendToFile } from "./journal-file.ts";

/** How a journal is kept. */
export interface JournalBounds {
  /** A batch waits at most about this long for being applied. */
  waitMs: number;
  /** Writes that one transaction applies: what it takes holds the event loop up. */
  sliceWritesMax: number;
  /** The file is emptied when it has this many bytes and all of it is applied. */
  rotateBytesMin: number;
  /** When this many bytes wait for being applied, no more calls are opened. */
  waitingBytesMax: number;
  /** How a line comes into the file. */
  append: Append;
}

export const journalBounds: JournalBounds = {
  waitMs: 50,
  sliceWritesMax: 1024,
  rotateBytesMin: 16 * 1024 * 1024,
  waitingBytesMax: 64 * 1024 * 1024,
  append: appendToFile,
};
