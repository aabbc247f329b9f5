import { closeSync, fstatSync, ftruncateSync, openSync, unlinkSync, writeSync } from "node:fs";

/** Appends a text to an open file and returns how many bytes were written. */
export type Append = (descriptor: number, text: string) => number;

export const appendToFile: Append = (descriptor, text) => writeSync(descriptor, text);

/** The journal of the process that owns it. What stands in it survives the end of the process, as in SQLite's own log. */
export class JournalFile {
  readonly #file: string;
  readonly #append: Append;
  readonly #descriptor: number;
  #bytes: number;
  /** Whether something may stand after the last whole line. */
  #torn = false;

  /** Opens it and takes away what follows its first `bytes` bytes. */
  constructor(file: string, bytes: number, append: Append) {
    this.#file = file;
    this.#append = append;
    this.#descriptor = openSync(file, "a", 0o600);
    this.#bytes = bytes;
    try {
      if (fstatSync(this.#descriptor).size > bytes) this.#cut();
    } catch (error) {
      closeSync(this.#descriptor);
      throw error;
    }
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @throws {Error} When it could not be written whole; nothing of it is in the file then. */
  append(line: string): void {
    if (this.#torn) this.#cut();
    const bytes = Buffer.byteLength(line);
    this.#torn = true;
    try {
      const written = this.#append(this.#descriptor, line);
      if (written < bytes) throw new Error(`ENOSPC: ${written} of ${bytes} bytes were written, the disk may be full`);
    } catch (error) {
      this.#tryCut();
      throw error;
    }
    this.#torn = false;
    this.#bytes += bytes;
  }

  /** Takes everything away. */
  empty(): void {
    this.#bytes = 0;
    this.#cut();
  }

  remove(): void {
    unlinkSync(this.#file);
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #cut(): void {
    this.#torn = true;
    ftruncateSync(this.#descriptor, this.#bytes);
    this.#torn = false;
  }

  /** What cannot be cut off now is cut off before the next line. */
  #tryCut(): void {
    try {
      this.#cut();
    } catch {}
  }
}
