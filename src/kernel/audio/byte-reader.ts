import { Buffer } from "node:buffer";

/**
 * The part of a `Blob` that is read. Bytes that are in memory already are read in place: a `Blob` of them would be a
 * copy.
 */
export interface AudioBlob {
  readonly size: number;
  slice(start: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> };
}

export function fileOfBytes(bytes: Uint8Array<ArrayBuffer>): AudioBlob {
  return {
    size: bytes.length,
    slice: (start, end) => ({ arrayBuffer: async () => bytes.slice(start, end).buffer }),
  };
}

/**
 * Reads a file in windows and counts the work, so a hostile file cannot cost more than a good one. Once
 * {@link visitsMax} places were visited, the rest of the file counts as unreadable.
 */
export class ByteReader {
  readonly size: number;
  /** Places visited: chunks, atoms, frames, bytes that were skipped one by one. */
  visits = 0;
  /** Bytes copied from the file. */
  bytesRead = 0;
  readonly #file: AudioBlob;
  readonly #visitsMax: number;
  #window = new Uint8Array(0);
  #windowStart = 0;

  constructor(file: AudioBlob, visitsMax: number) {
    this.#file = file;
    this.#visitsMax = visitsMax;
    this.size = file.size;
  }

  /** Counts a visit. Returns whether it is still within the budget. */
  visit(): boolean {
    return this.visits < this.#visitsMax && ++this.visits <= this.#visitsMax;
  }

  /** Reads `length` bytes at a position; `undefined` if the file ends earlier. Counts as a visit. */
  async view(at: number, length: number): Promise<DataView | undefined> {
    if (!this.visit() || at + length > this.size) return undefined;
    if (at < this.#windowStart || at + length > this.#windowStart + this.#window.length)
      await this.window(at, Math.max(length, smallWindow));
    return new DataView(this.#window.buffer, at - this.#windowStart, length);
  }

  /** All bytes from a place on, up to `length` of them. */
  async window(at: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    this.#window = new Uint8Array(await this.#file.slice(at, at + length).arrayBuffer());
    this.#windowStart = at;
    this.bytesRead += this.#window.length;
    return this.#window;
  }
}

const smallWindow = 16 * 1024;
const searchBytes = 1024 * 1024;

/**
 * Counts how often a mark of four bytes occurs anywhere in a file. Decoders that meet an error continue at the next
 * mark.
 */
export async function countMarks(reader: ByteReader, mark: Uint8Array<ArrayBuffer>): Promise<number> {
  let count = 0;
  for (let at = 0; at < reader.size; at += searchBytes) {
    const window = await reader.window(at, searchBytes + mark.length - 1);
    const bytes = Buffer.from(window.buffer, window.byteOffset, window.length);
    for (let place = bytes.indexOf(mark); place !== -1; place = bytes.indexOf(mark, place + 1)) count++;
  }
  return count;
}

/** Four bytes as text, such as `RIFF`. */
export function readTag(view: DataView, at = 0): string {
  return String.fromCharCode(view.getUint8(at), view.getUint8(at + 1), view.getUint8(at + 2), view.getUint8(at + 3));
}
