import { Buffer } from "node:buffer";
import { type AnswerHead, headBytesMax, readHead } from "./answer-head.ts";
import type { Bytes } from "./ask.ts";
import { ChunkDecoder } from "./chunk-decoder.ts";
import { malformed } from "./malformed.ts";

/** Who is told what an answer holds. */
export interface AnswerSink {
  /** Once, before anything else; informational heads are left out. */
  onHead(head: AnswerHead): void;
  onBody(bytes: Bytes): void;
  /** Once, when the answer is complete. */
  onEnd(): void;
}

const headEnd = Buffer.from("\r\n\r\n");
const protocolStart = "HTTP/1.";

/** Reads one answer from bytes that arrive cut anywhere. The bytes become its own. */
export class AnswerParser {
  readonly #sink: AnswerSink;
  #state: "head" | "body" | "done" = "head";
  /** The beginning of a head whose end has not arrived, and its last characters: where an end may be cut in two. */
  #pending = "";
  #pendingEnd = "";
  #headBytes = 0;
  #head: AnswerHead | undefined;
  /** What is still to come of a body that said its length. */
  #left = 0;
  #chunks: ChunkDecoder | undefined;
  /** Whether anything has arrived. */
  hasStarted = false;
  /** Whether more has arrived than belongs to the answer. */
  hasExcess = false;

  constructor(sink: AnswerSink) {
    this.#sink = sink;
  }

  get isDone(): boolean {
    return this.#state === "done";
  }

  /** @throws {UpstreamFault} `broken` when this is no answer; then nothing more may be given. */
  push(bytes: Buffer<ArrayBuffer>): void {
    this.hasStarted = true;
    let at = 0;
    while (this.#state === "head") {
      if (at === bytes.length) return;
      at = this.#pushHead(bytes, at);
    }
    if (this.#state === "body") at = this.#pushBody(bytes, at);
    if (at < bytes.length) this.hasExcess = true;
  }

  /** Says that the server has sent all it will. Returns whether the answer is complete by that. */
  end(): boolean {
    if (this.#state === "body" && this.#head?.framing === "close") this.#finish();
    return this.isDone;
  }

  #pushHead(bytes: Buffer<ArrayBuffer>, at: number): number {
    const end = this.#headEnd(bytes, at);
    this.#headBytes += (end === -1 ? bytes.length : end) - at;
    if (this.#headBytes > headBytesMax) throw malformed(`its head is longer than ${headBytesMax} bytes`);
    this.#pending += bytes.toString("latin1", at, end === -1 ? bytes.length : end);
    if (end === -1) {
      const start = this.#pending.slice(0, protocolStart.length);
      if (!protocolStart.startsWith(start)) throw malformed("its first line is no status line");
      this.#pendingEnd = (
        this.#pendingEnd + bytes.toString("latin1", Math.max(at, bytes.length - 3), bytes.length)
      ).slice(-3);
      return bytes.length;
    }
    const text = this.#pending.slice(0, -2);
    this.#pending = "";
    this.#pendingEnd = "";
    this.#takeHead(readHead(text));
    return end;
  }

  /** Behind the empty line that ends a head, also one that was cut in two; -1 when it has not come. */
  #headEnd(bytes: Buffer<ArrayBuffer>, at: number): number {
    if (this.#pendingEnd !== "") {
      const inSeam = (this.#pendingEnd + bytes.toString("latin1", at, at + 3)).indexOf("\r\n\r\n");
      if (inSeam !== -1) return at + inSeam + 4 - this.#pendingEnd.length;
    }
    const found = bytes.indexOf(headEnd, at);
    return found === -1 ? -1 : found + 4;
  }

  #takeHead(head: AnswerHead): void {
    if (head.status === 101) throw malformed("it changes to a protocol that nobody asked for");
    if (head.status < 200) return;
    this.#head = head;
    this.#left = head.length;
    if (head.framing === "chunked") this.#chunks = new ChunkDecoder();
    this.#state = "body";
    this.#sink.onHead(head);
    if (head.framing === "none" || (head.framing === "length" && head.length === 0)) this.#finish();
  }

  #pushBody(bytes: Buffer<ArrayBuffer>, at: number): number {
    if (at === bytes.length) return at;
    if (this.#chunks !== undefined) {
      const payload = this.#chunks.push(bytes, at);
      if (payload !== undefined) this.#sink.onBody(payload);
      if (this.#chunks.isDone) this.#finish();
      return this.#chunks.endAt;
    }
    if (this.#head?.framing === "close") {
      this.#sink.onBody(at === 0 ? bytes : bytes.subarray(at));
      return bytes.length;
    }
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    this.#sink.onBody(new Uint8Array(bytes.buffer, bytes.byteOffset + at, end - at));
    if (this.#left === 0) this.#finish();
    return end;
  }

  #finish(): void {
    this.#state = "done";
    this.#sink.onEnd();
  }
}
