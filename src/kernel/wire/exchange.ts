import type { Buffer } from "node:buffer";
import { UpstreamFault } from "../../contract/index.ts";
import { type AnswerHead, headersOf } from "./answer-head.ts";
import { AnswerParser, type AnswerSink } from "./answer-parser.ts";
import type { Answer, Bytes, Taker } from "./ask.ts";
import type { Connection, ConnectionUser } from "./connection.ts";
import { connectionFault } from "./connection-fault.ts";
import { decoded } from "./decoded.ts";
import type { Pool } from "./pool.ts";

/** Bytes that wait for their reader; beyond it the provider waits too. */
const waitingBytesMax = 65_536;
/**
 * A server that closes an idle connection is noticed within a round trip. One that closes later had the request, and may
 * have worked on it: that is not sent twice.
 */
const staleMsMax = 2000;

/** A request in the form in which it is written. */
export interface Letter {
  head: string;
  body: string | Uint8Array;
  /** Whether `body` is text of ASCII alone. */
  isAscii: boolean;
  signal: AbortSignal;
}

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** One request and its answer, on one connection: or on two, when the first was closed while it was idle. */
export class Exchange implements Answer, AnswerSink, ConnectionUser {
  readonly #pool: Pool;
  readonly #letter: Letter;
  readonly #now: () => number;
  #connection: Connection | undefined;
  #parser: AnswerParser;
  #sentAt = 0;
  #answered: Waiting | undefined;
  #head: AnswerHead | undefined;
  #waiting: Bytes[] = [];
  #waitingBytes = 0;
  #taker: Taker | undefined;
  /** Nothing more comes: the answer is complete, or `#failure` says why not. */
  #isOver = false;
  #failure: unknown;

  constructor(pool: Pool, letter: Letter, now: () => number) {
    this.#pool = pool;
    this.#letter = letter;
    this.#now = now;
    this.#parser = new AnswerParser(this);
  }

  /** Sends the request; resolves once the head of the answer has come. */
  start(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const { signal } = this.#letter;
      if (signal.aborted) return reject(signal.reason);
      this.#answered = { resolve, reject };
      signal.addEventListener("abort", this);
      const idle = this.#pool.takeIdle(this, this.#now());
      if (idle === undefined) return this.#connect();
      this.#connection = idle;
      this.onOpen();
    });
  }

  get status(): number {
    return this.#head === undefined ? 0 : this.#head.status;
  }

  get contentType(): string | undefined {
    return this.#head?.contentType;
  }

  headers(): Headers {
    return headersOf(this.#head === undefined ? "" : this.#head.lines);
  }

  whole(): Bytes | undefined {
    if (!this.#isOver || this.#failure !== undefined || this.#waiting.length > 1) return undefined;
    return this.#waiting.pop() ?? new Uint8Array(0);
  }

  take(taker: Taker): Bytes | undefined {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      this.#waitingBytes -= next.byteLength;
      if (this.#waitingBytes < waitingBytesMax) this.#connection?.resume();
      return next;
    }
    if (this.#failure !== undefined) taker.onFailure(this.#failure);
    else if (this.#isOver) taker.onPiece(undefined);
    else this.#taker = taker;
    return undefined;
  }

  cancel(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (!this.#isOver) this.#fail(new UpstreamFault("broken", "The provider's answer was not read to its end"));
  }

  /** Of the signal: the call is cut. */
  handleEvent(): void {
    this.#fail(this.#letter.signal.reason);
  }

  onOpen(): void {
    const { head, body, isAscii } = this.#letter;
    this.#sentAt = this.#now();
    this.#connection?.write(head, body, isAscii);
  }

  onBytes(bytes: Buffer<ArrayBuffer>): void {
    try {
      this.#parser.push(bytes);
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#parser.isDone) this.#release();
    else if (this.#waitingBytes >= waitingBytesMax) this.#connection?.pause();
  }

  onHead(head: AnswerHead): void {
    this.#head = head;
    const answer = head.contentEncoding === undefined ? this : decoded(this, head.contentEncoding);
    this.#answered?.resolve(answer);
    this.#answered = undefined;
  }

  onBody(bytes: Bytes): void {
    const taker = this.#taker;
    if (this.#isOver) return;
    if (taker !== undefined) {
      this.#taker = undefined;
      taker.onPiece(bytes);
    } else {
      this.#waiting.push(bytes);
      this.#waitingBytes += bytes.byteLength;
    }
  }

  onEnd(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#letter.signal.removeEventListener("abort", this);
    const taker = this.#taker;
    this.#taker = undefined;
    taker?.onPiece(undefined);
  }

  onFinished(): void {
    if (this.#parser.end()) this.#release();
  }

  onLost(error: unknown): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (this.#isOver) return;
    const isStale = connection?.isReused === true && !this.#parser.hasStarted;
    if (isStale && this.#now() - this.#sentAt <= staleMsMax) this.#connect();
    else this.#fail(connectionFault(error, this.#head === undefined));
  }

  #connect(): void {
    try {
      this.#connection = this.#pool.open(this);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The answer is complete: the connection goes back, if another request can follow on it. */
  #release(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection === undefined) return;
    const head = this.#head;
    const canFollow = head?.keepsAlive === true && !this.#parser.hasExcess && connection.isFlushed;
    if (canFollow) this.#pool.giveBack(connection, this.#now(), head.keepAliveMs);
    else connection.destroy();
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = error;
    this.#letter.signal.removeEventListener("abort", this);
    this.#connection?.destroy();
    this.#connection = undefined;
    this.#answered?.reject(error);
    this.#answered = undefined;
    const taker = this.#taker;
    this.#taker = undefined;
    taker?.onFailure(error);
  }
}
