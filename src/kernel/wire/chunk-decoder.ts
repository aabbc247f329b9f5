import type { Buffer } from "node:buffer";
import { areHeaderLines } from "./answer-head.ts";
import type { Bytes } from "./ask.ts";
import { malformed } from "./malformed.ts";

/** Of the line that opens a chunk, with its extensions, in bytes. */
const sizeLineBytesMax = 4096;
/** Of all trailers together, in bytes. */
const trailerBytesMax = 16_384;
const sizeForm = /^([\da-fA-F]{1,12})[\t ]*(?:;[^\0\r\n]*)?\r$/;
/** Of a size that is read digit by digit. */
const sizeDigitsMax = 8;
/** What each byte is worth as a digit; -1 when it is none. */
const hexDigits = Int8Array.from({ length: 256 }, (_, byte) =>
  "0123456789abcdef".indexOf(String.fromCharCode(byte).toLowerCase()),
);
const carriageReturn = 13;
const lineFeed = 10;

/** Takes the framing out of a chunked body whose bytes arrive cut anywhere. */
export class ChunkDecoder {
  #state: "size" | "data" | "dataEnd" | "trailer" | "done" = "size";
  /** What is still to come of the chunk. */
  #left = 0;
  /** The beginning of a line whose end has not arrived. */
  #line = "";
  #trailerBytes = 0;
  /** Where the body ended in the bytes given last. */
  endAt = 0;

  get isDone(): boolean {
    return this.#state === "done";
  }

  /**
   * Takes the next bytes, from `at` on. The payload of all their chunks is moved together inside of them, so that one
   * read is one piece, however small its chunks.
   *
   * @returns The payload, `undefined` when there was none.
   * @throws {UpstreamFault} `broken` when the framing is wrong.
   */
  push(bytes: Buffer<ArrayBuffer>, at: number): Bytes | undefined {
    let start = -1;
    let end = -1;
    let next = at;
    while (next < bytes.length && this.#state !== "done") {
      if (this.#state !== "data") {
        next = this.#state === "size" && this.#line === "" ? this.#takeSize(bytes, next) : this.#takeLine(bytes, next);
        continue;
      }
      const taken = Math.min(this.#left, bytes.length - next);
      if (start === -1) start = end = next;
      if (end !== next) bytes.copyWithin(end, next, next + taken);
      end += taken;
      next += taken;
      this.#left -= taken;
      if (this.#left === 0) this.#state = "dataEnd";
    }
    this.endAt = next;
    return start === -1 ? undefined : new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start);
  }

  /** A size that is here whole and without extensions, as nearly all are: without making text of it. */
  #takeSize(bytes: Buffer<ArrayBuffer>, at: number): number {
    let size = 0;
    let next = at;
    for (; next < at + sizeDigitsMax; next++) {
      const digit = hexDigits[bytes[next] as number];
      if (digit === undefined || digit < 0) break;
      size = size * 16 + digit;
    }
    const isWhole = next > at && bytes[next] === carriageReturn && bytes[next + 1] === lineFeed;
    if (!isWhole) return this.#takeLine(bytes, at);
    this.#opens(size);
    return next + 2;
  }

  #opens(size: number): void {
    this.#left = size;
    this.#state = size === 0 ? "trailer" : "data";
  }

  #takeLine(bytes: Buffer<ArrayBuffer>, at: number): number {
    if (this.#state === "dataEnd" && bytes[at] === carriageReturn && bytes[at + 1] === lineFeed) {
      this.#state = "size";
      return at + 2;
    }
    const found = bytes.indexOf(lineFeed, at);
    const end = found === -1 ? bytes.length : found;
    if (this.#line.length + end - at > sizeLineBytesMax) throw malformed("a line between its chunks is too long");
    const line = this.#line + bytes.toString("latin1", at, end);
    if (found === -1) {
      if (this.#state === "dataEnd" && line !== "\r") throw malformed("one of its chunks is longer than it says");
      this.#line = line;
      return end;
    }
    this.#line = "";
    this.#readLine(line);
    return end + 1;
  }

  #readLine(line: string): void {
    if (this.#state === "size") {
      const size = sizeForm.exec(line)?.[1];
      if (size === undefined) throw malformed("one of its chunks does not say its size");
      this.#opens(Number.parseInt(size, 16));
    } else if (this.#state === "dataEnd") {
      if (line !== "\r") throw malformed("one of its chunks is longer than it says");
      this.#state = "size";
    } else if (line === "\r") {
      this.#state = "done";
    } else {
      this.#trailerBytes += line.length + 1;
      if (this.#trailerBytes > trailerBytesMax) throw malformed("its trailers are too long");
      if (!areHeaderLines(`${line}\n`)) throw malformed("one of its trailers is no header");
    }
  }
}
