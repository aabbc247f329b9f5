import { type ServerEvent, UpstreamFault } from "../contract/index.ts";
import { SseParser } from "../kit/sse.ts";
import type { Deadlines, Watch } from "./deadlines.ts";
import type { Answer, Bytes, Taker } from "./wire/ask.ts";
import { readPiece } from "./wire/read-piece.ts";

/** What a body is read within. */
export interface BodyGround {
  readonly deadlines: Deadlines;
  now(): number;
  /** Of silence while a piece is waited for. */
  readonly idleMsMax: number;
  readonly bytesMax: number;
  /** Called when the provider is silent for longer. */
  onSilence(): void;
  /** What a failure of the reading means. */
  faultOf(error: unknown): Error;
}

type Next<Item> = Promise<IteratorResult<Item, undefined>>;

const decoder = new TextDecoder();
const inPieces = { stream: true };

/** The pieces of a body, within their bounds. Silence counts only while a piece is waited for. */
class Source implements Taker {
  readonly #answer: Answer;
  readonly #ground: BodyGround;
  readonly #watch: Watch;
  #bytes = 0;
  #taker: Taker | undefined;

  constructor(answer: Answer, ground: BodyGround) {
    this.#answer = answer;
    this.#ground = ground;
    this.#watch = { atMs: 0, onPassed: ground.onSilence };
  }

  /** As an answer's `take`. */
  take(taker: Taker): Bytes | undefined {
    this.#taker = taker;
    const bytes = this.#answer.take(this);
    if (bytes !== undefined) {
      if (this.#isWithin(bytes)) return bytes;
      this.onFailure(tooLong(this.#ground.bytesMax));
    } else if (this.#taker !== undefined) {
      this.#ground.deadlines.renew(this.#watch, this.#ground.now() + this.#ground.idleMsMax);
    }
    return undefined;
  }

  onPiece(bytes: Bytes | undefined): void {
    const taker = this.#taker;
    if (bytes !== undefined && !this.#isWithin(bytes)) {
      this.onFailure(tooLong(this.#ground.bytesMax));
      return;
    }
    this.#taker = undefined;
    this.#ground.deadlines.drop(this.#watch);
    taker?.onPiece(bytes);
  }

  onFailure(error: unknown): void {
    const taker = this.#taker;
    this.cancel();
    taker?.onFailure(this.#ground.faultOf(error));
  }

  cancel(): void {
    this.#ground.deadlines.drop(this.#watch);
    this.#answer.cancel();
  }

  #isWithin({ byteLength }: Bytes): boolean {
    this.#bytes += byteLength;
    return this.#bytes <= this.#ground.bytesMax;
  }
}

/** A body piece by piece as it comes; leaving it early closes the connection. */
export class BodyPieces implements AsyncIterableIterator<Bytes, undefined> {
  readonly #source: Source;

  constructor(answer: Answer, ground: BodyGround) {
    this.#source = new Source(answer, ground);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Next<Bytes> {
    const value = await readPiece(this.#source);
    return value === undefined ? { done: true, value } : { done: false, value };
  }

  async return(): Next<Bytes> {
    this.#source.cancel();
    return { done: true, value: undefined };
  }
}

/** The events of a body. Those of one piece are read at once and handed out one by one. */
export class BodyEvents implements AsyncIterableIterator<ServerEvent, undefined>, Taker {
  readonly #source: Source;
  readonly #parser = new SseParser();
  readonly #decoder = new TextDecoder();
  #events: ServerEvent[] = [];
  #at = 0;
  #isOver = false;
  /** Who waits for an event. */
  #resolve: ((result: IteratorResult<ServerEvent, undefined>) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;
  #last: Next<ServerEvent> | undefined;

  constructor(answer: Answer, ground: BodyGround) {
    this.#source = new Source(answer, ground);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Next<ServerEvent> {
    // Who asks again before the last was answered waits for that, as with a generator.
    if (this.#resolve !== undefined) return (this.#last as Next<ServerEvent>).then(() => this.next());
    const value = this.#events[this.#at++];
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    this.#last = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#read();
    });
    return this.#last;
  }

  async return(): Next<ServerEvent> {
    this.#events = [];
    this.#isOver = true;
    this.#source.cancel();
    return { done: true, value: undefined };
  }

  onPiece(bytes: Bytes | undefined): void {
    if (!this.#parse(bytes)) this.#read();
  }

  onFailure(error: unknown): void {
    const reject = this.#reject;
    this.#isOver = true;
    this.#resolve = this.#reject = undefined;
    this.#source.cancel();
    reject?.(error);
  }

  #read(): void {
    for (;;) {
      const bytes = this.#source.take(this);
      if (bytes === undefined || this.#parse(bytes)) return;
    }
  }

  /** Answers who waits, if the bytes complete an event or are the last; says whether they did. */
  #parse(bytes: Bytes | undefined): boolean {
    try {
      this.#events = bytes === undefined ? this.#end() : this.#parser.push(this.#decoder.decode(bytes, inPieces));
    } catch (error) {
      this.onFailure(error);
      return true;
    }
    const value = this.#events[0];
    if (value === undefined && !this.#isOver) return false;
    this.#at = 1;
    const resolve = this.#resolve;
    this.#resolve = this.#reject = undefined;
    resolve?.(value === undefined ? { done: true, value } : { done: false, value });
    return true;
  }

  #end(): ServerEvent[] {
    this.#isOver = true;
    return [...this.#parser.push(this.#decoder.decode()), ...this.#parser.end()];
  }
}

/**
 * A whole body as text.
 *
 * @throws {UpstreamFault} When it breaks off, or is longer than the ground allows and `cutsLonger` is not set.
 */
export async function readText(answer: Answer, ground: BodyGround, cutsLonger: boolean): Promise<string> {
  const whole = answer.whole();
  if (whole !== undefined) {
    if (whole.byteLength <= ground.bytesMax) return decoder.decode(whole);
    if (!cutsLonger) throw tooLong(ground.bytesMax);
    return decoder.decode(whole.subarray(0, ground.bytesMax));
  }
  const parts: Bytes[] = [];
  let total = 0;
  // The bound is looked at here, where what is over it can still be cut.
  const pieces = new BodyPieces(answer, { ...ground, bytesMax: Number.POSITIVE_INFINITY });
  for await (const bytes of pieces) {
    parts.push(bytes);
    total += bytes.byteLength;
    if (total <= ground.bytesMax) continue;
    if (!cutsLonger) throw tooLong(ground.bytesMax);
    break;
  }
  return decoder.decode(joined(parts, Math.min(total, ground.bytesMax)));
}

function joined(parts: readonly Bytes[], length: number): Bytes {
  if (parts.length === 1 && parts[0]?.byteLength === length) return parts[0];
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    const rest = length - at;
    bytes.set(part.byteLength > rest ? part.subarray(0, rest) : part, at);
    at += part.byteLength;
  }
  return bytes;
}

function tooLong(bytesMax: number): UpstreamFault {
  return new UpstreamFault("broken", `The provider's answer is longer than ${bytesMax} bytes`);
}
