import { type ServerEvent, UpstreamFault } from "../contract/index.ts";
import { SseParser } from "../kit/sse.ts";
import type { Deadlines, Watch } from "./deadlines.ts";
import type { Answer, Bytes } from "./wire/ask.ts";

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

/** A body piece by piece as it comes; leaving it early closes the connection. */
export class BodyPieces implements AsyncIterableIterator<Bytes, undefined> {
  readonly #answer: Answer;
  readonly #ground: BodyGround;
  readonly #watch: Watch;
  #bytes = 0;

  constructor(answer: Answer, ground: BodyGround) {
    this.#answer = answer;
    this.#ground = ground;
    this.#watch = { atMs: 0, onPassed: () => ground.onSilence() };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Next<Bytes> {
    return new Promise((resolve, reject) => {
      this.take((value) => resolve(value === undefined ? { done: true, value } : { done: false, value }), reject);
    });
  }

  /**
   * Calls back with the next piece, `undefined` at the end, or why there is none: a stream's every piece comes this way,
   * and a promise more on it costs as much as the rest. Silence counts only while a piece is waited for.
   */
  take(onPiece: (bytes: Bytes | undefined) => void, onFault: (fault: Error) => void): void {
    const { deadlines, idleMsMax, bytesMax, now } = this.#ground;
    deadlines.renew(this.#watch, now() + idleMsMax);
    this.#answer.read().then(
      (bytes) => {
        deadlines.drop(this.#watch);
        if (bytes !== undefined) this.#bytes += bytes.byteLength;
        if (this.#bytes <= bytesMax) return onPiece(bytes);
        this.#answer.cancel();
        onFault(tooLong(bytesMax));
      },
      (error) => {
        deadlines.drop(this.#watch);
        this.#answer.cancel();
        onFault(this.#ground.faultOf(error));
      },
    );
  }

  async return(): Next<Bytes> {
    this.cancel();
    return { done: true, value: undefined };
  }

  cancel(): void {
    this.#ground.deadlines.drop(this.#watch);
    this.#answer.cancel();
  }
}

/** The events of a body. Those of one piece are read at once and handed out one by one. */
export class BodyEvents implements AsyncIterableIterator<ServerEvent, undefined> {
  readonly #pieces: BodyPieces;
  readonly #parser = new SseParser();
  readonly #decoder = new TextDecoder();
  #events: ServerEvent[] = [];
  #at = 0;
  #isOver = false;
  #last: Next<ServerEvent> | undefined;

  constructor(answer: Answer, ground: BodyGround) {
    this.#pieces = new BodyPieces(answer, ground);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Next<ServerEvent> {
    // Who asks again before the last was answered waits for that, as with a generator.
    if (this.#last !== undefined) return this.#last.then(() => this.next());
    const event = this.#events[this.#at++];
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    this.#last = new Promise((resolve, reject) => this.#read(resolve, reject));
    return this.#last;
  }

  async return(): Next<ServerEvent> {
    this.#isOver = true;
    this.#events = [];
    this.#pieces.cancel();
    return { done: true, value: undefined };
  }

  #read(resolve: (result: IteratorResult<ServerEvent, undefined>) => void, reject: (error: unknown) => void): void {
    const fail = (error: unknown) => {
      this.#isOver = true;
      this.#last = undefined;
      this.#pieces.cancel();
      reject(error);
    };
    this.#pieces.take((bytes) => {
      try {
        this.#events = this.#parse(bytes);
      } catch (error) {
        return fail(error);
      }
      const [event] = this.#events;
      this.#at = 1;
      if (event === undefined && !this.#isOver) return this.#read(resolve, reject);
      this.#last = undefined;
      resolve(event === undefined ? { done: true, value: undefined } : { done: false, value: event });
    }, fail);
  }

  #parse(bytes: Bytes | undefined): ServerEvent[] {
    if (bytes !== undefined) return this.#parser.push(this.#decoder.decode(bytes, { stream: true }));
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
