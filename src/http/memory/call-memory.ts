import { setTimeout } from "node:timers";
import { GatewayError } from "../../contract/index.ts";
import type { CallMemoryBounds } from "../../kernel/index.ts";

/**
 * A smaller reservation is not counted, unless the caller sets `countedMin` or the bytes are yet to arrive: thousands
 * of short bodies and answers fit into memory.
 */
export const countedBytesMin = 256 * 1024;
/** A body up to this size is always accepted if nothing else is in memory. */
const singleBytesMax = 96 * 1024 * 1024;
/** How many may be sent the same stored thing at once, where that has a bound. */
const sameMax = 16;
const retryAfterMs = 1000;
/** After so many freed bytes garbage is collected: the platform would wait until there is several times as much. */
const collectedBytesMin = 16 * 1024 * 1024;
/** Minimum time between two collections: each takes some 20 ms of CPU outside of the event loop. */
const collectEveryMs = 500;

interface AccountantOptions {
  /** Called now and then when much was freed. */
  collectGarbage?(): void;
  /** Whether an account has a call that was admitted: it can pay for something. */
  hasRunningCall?(owner: string): boolean;
}

/** Options of a reservation. */
export interface ReservationOptions {
  /** Fewer bytes are not counted; absent: {@link countedBytesMin}. */
  readonly countedMin?: number;
  /** Maximum size while its owner has nothing else in memory; absent: the maximum of a single body. */
  readonly aloneMax?: number;
  /** Name of the content; at most {@link sameMax} reservations may be of the same at once. */
  readonly thing?: string;
}

/**
 * The one accountant of the bytes in memory on behalf of callers: bodies as they arrive, files that are fetched for
 * them, answers of providers as they grow, data read from the database, and data that a socket has not yet accepted.
 *
 * An owner is an account, or a client network if there is no key ({@link ownerOfNetwork}). It may use half of all
 * memory, so no owner can shut out everybody else. While it has no admitted call, it may use only a quarter: owners
 * that may be unable to pay come last.
 */
export class MemoryAccountant {
  readonly #bytesMax: number;
  readonly #options: AccountantOptions;
  readonly #byOwner = new Map<string, number>();
  readonly #byThing = new Map<string, number>();
  readonly #expectedByOwner = new Map<string, number>();
  #bytes = 0;
  #expectedBytes = 0;
  #freedBytes = 0;
  #isPausing = false;

  constructor(bytesMax: number, options: AccountantOptions = {}) {
    this.#bytesMax = bytesMax;
    this.#options = options;
  }

  /** Bytes reserved now; 0 once all is released. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Reserves memory until {@link MemoryReservation.release}.
   *
   * @param bytes At the beginning; more by {@link MemoryReservation.grow}.
   * @throws {GatewayError} `unavailable`, or `rate_limit_exceeded` when it is this owner that holds too much.
   */
  reserve(owner: string, bytes = 0, options: ReservationOptions = {}): MemoryReservation {
    const { thing } = options;
    if (thing !== undefined) this.#begin(thing);
    const reservation = new MemoryReservation(this, owner, options);
    try {
      reservation.grow(bytes);
    } catch (error) {
      reservation.release();
      throw error;
    }
    return reservation;
  }

  /** Adds bytes to a reservation that has `ownBytes`; fewer than 0 are freed. */
  take(owner: string, bytes: number, ownBytes: number, aloneMax = singleBytesMax): void {
    if (bytes > 0) this.#check(owner, { bytes, ownBytes, aloneMax });
    this.#bytes += bytes;
    const bytesOfOwner = this.#ofOwner(owner) + bytes;
    if (bytesOfOwner === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, bytesOfOwner);
    if (bytes < 0) this.#free(-bytes);
  }

  /**
   * Counts bytes that have yet to arrive. They have a share of their own: short bodies are taken while long ones are at work.
   *
   * @throws {GatewayError} As {@link reserve}.
   */
  expect(owner: string, bytes: number): void {
    const ofOwner = this.#expectedByOwner.get(owner) ?? 0;
    const exceeds = (bytesMax: number) => ofOwner > 0 && ofOwner + bytes > bytesMax;
    if (exceeds(this.#bytesMax / 4) && (this.#isIdle(owner) || exceeds(this.#bytesMax / 2))) {
      const message = `${whoseIs(owner)} other requests are still sending bodies of ${ofOwner} bytes, which leaves no room for ${bytes} more; send the request again when one of them has arrived`;
      throw new GatewayError("rate_limit_exceeded", message, { retryAfterMs });
    }
    if (this.#expectedBytes > 0 && this.#expectedBytes + bytes > this.#bytesMax) {
      const message = `The gateway is receiving ${this.#expectedBytes} bytes of other requests and has no room for ${bytes} more; send the request again`;
      throw new GatewayError("unavailable", message, { retryAfterMs });
    }
    this.#expectedByOwner.set(owner, ofOwner + bytes);
    this.#expectedBytes += bytes;
    this.#bytes += bytes;
  }

  /** Bytes that were expected are there, or do not come. */
  endExpected(owner: string, bytes: number): void {
    const ofOwner = (this.#expectedByOwner.get(owner) ?? 0) - bytes;
    if (ofOwner > 0) this.#expectedByOwner.set(owner, ofOwner);
    else this.#expectedByOwner.delete(owner);
    this.#expectedBytes -= bytes;
    this.#bytes -= bytes;
  }

  /** A reservation of a thing is over. */
  endThing(thing: string): void {
    const uses = (this.#byThing.get(thing) ?? 0) - 1;
    if (uses > 0) this.#byThing.set(thing, uses);
    else this.#byThing.delete(thing);
  }

  #begin(thing: string): void {
    const count = this.#byThing.get(thing) ?? 0;
    if (count >= sameMax) {
      const message = `The same response is being sent to ${count} other requests, the limit; send the request again when they have received it`;
      throw new GatewayError("rate_limit_exceeded", message, { retryAfterMs });
    }
    this.#byThing.set(thing, count + 1);
  }

  #free(bytes: number): void {
    this.#freedBytes += bytes;
    if (this.#freedBytes < collectedBytesMin || this.#isPausing) return;
    const collectGarbage = () => this.#options.collectGarbage?.();
    this.#freedBytes = 0;
    this.#isPausing = true;
    // Not before the call that frees them has let go of them.
    setTimeout(collectGarbage, 0);
    setTimeout(() => {
      this.#isPausing = false;
      // Once more, for what was still in use then.
      if (this.#freedBytes < collectedBytesMin) collectGarbage();
      else this.#free(0);
    }, collectEveryMs).unref();
  }

  #check(owner: string, { bytes, ownBytes, aloneMax }: { bytes: number; ownBytes: number; aloneMax: number }): void {
    const othersOfOwner = this.#ofOwner(owner) - ownBytes;
    const holds = (others: number, bytesMax: number) =>
      others + ownBytes + bytes > bytesMax && (others > 0 || ownBytes + bytes > aloneMax);
    const isIdle = () => this.#isIdle(owner);
    if (holds(othersOfOwner, this.#bytesMax / 2) || (holds(othersOfOwner, this.#bytesMax / 4) && isIdle())) {
      const message = `${whoseIs(owner)} other requests hold ${othersOfOwner} bytes, which leaves no room for ${ownBytes + bytes} more; send the request again when one of them has ended`;
      throw new GatewayError("rate_limit_exceeded", message, { retryAfterMs });
    }
    const others = this.#bytes - ownBytes;
    if (!holds(others, this.#bytesMax)) return;
    const message = `The gateway holds ${others} bytes of other requests and answers and has no room for ${ownBytes + bytes} more; send the request again`;
    throw new GatewayError("unavailable", message, { retryAfterMs });
  }

  #isIdle(owner: string): boolean {
    return this.#options.hasRunningCall?.(owner) === false;
  }

  #ofOwner(owner: string): number {
    return this.#byOwner.get(owner) ?? 0;
  }
}

/** The share of one request, body or answer in a {@link MemoryAccountant}. */
export class MemoryReservation {
  readonly #accountant: MemoryAccountant;
  readonly #owner: string;
  readonly #countedMin: number;
  readonly #aloneMax: number | undefined;
  #thing: string | undefined;
  #bytes = 0;
  #countedBytes = 0;
  #expectedBytes = 0;
  #isReleased = false;

  constructor(accountant: MemoryAccountant, owner: string, options: ReservationOptions = {}) {
    const { countedMin = countedBytesMin, aloneMax, thing } = options;
    this.#accountant = accountant;
    this.#owner = owner;
    this.#countedMin = countedMin;
    this.#aloneMax = aloneMax;
    this.#thing = thing;
  }

  /** Bytes in memory, counted or not. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds bytes; those below the least that counts do so once there are more. @throws {GatewayError} As `reserve`. */
  grow(bytes: number): void {
    // A download may outlive its call by a moment; nobody would free what it adds.
    if (this.#isReleased) throw new GatewayError("unavailable", "The call has ended; nothing more is read for it");
    const total = this.#bytes + bytes;
    if (total >= this.#countedMin) {
      this.#accountant.take(this.#owner, total - this.#countedBytes, this.#countedBytes, this.#aloneMax);
      this.#countedBytes = total;
    }
    this.#bytes = total;
  }

  /**
   * Counts bytes that have yet to arrive, also few: many short bodies that do not come would take much together.
   *
   * @throws {GatewayError} As `reserve`.
   */
  expect(bytes: number): void {
    this.#accountant.expect(this.#owner, bytes);
    this.#expectedBytes += bytes;
  }

  /** The expected bytes are there, or do not come. Repeating it does nothing. */
  arrive(): void {
    if (this.#expectedBytes > 0) this.#accountant.endExpected(this.#owner, this.#expectedBytes);
    this.#expectedBytes = 0;
  }

  /** Frees a part of the bytes: a body that was read takes less than while it came. */
  shrink(bytes: number): void {
    this.#bytes -= bytes;
    const freed = Math.min(bytes, this.#countedBytes);
    if (freed > 0) this.#accountant.take(this.#owner, -freed, this.#countedBytes);
    this.#countedBytes -= freed;
  }

  /** Frees the memory. Repeating it does nothing. */
  release(): void {
    this.arrive();
    if (this.#countedBytes > 0) this.#accountant.take(this.#owner, -this.#countedBytes, this.#countedBytes);
    this.#countedBytes = 0;
    this.#bytes = 0;
    this.#isReleased = true;
    if (this.#thing !== undefined) this.#accountant.endThing(this.#thing);
    this.#thing = undefined;
  }
}

const networkPrefix = "network ";

function whoseIs(owner: string): string {
  return owner.startsWith(networkPrefix) ? "The network's" : "The account's";
}

/** The owner of what is sent to a client without a key: its /24 of IPv4, or its /64 of IPv6. */
export function ownerOfNetwork(network: string): string {
  return networkPrefix + network.replace(/^(\d+\.\d+\.\d+)\.\d+$/, "$1.0/24");
}

/** A larger body takes long enough to be noticed by other requests, in bytes. */
export const largeBytesMin = 256 * 1024;
/** The longest whole answer of a provider always has room when its account has nothing else: it is paid by then. */
const answerAloneMax = 256 * 1024 * 1024;

/** Memory of a call: its body until the response is there, and the response until it was sent. */
export class CallMemory implements CallMemoryBounds {
  /** Its body, and what is fetched and read for it. */
  readonly request: MemoryReservation;
  readonly #accountant: MemoryAccountant;
  readonly #owner: string;
  #answer: MemoryReservation | undefined;
  #senders = 0;
  #isReleased = false;

  constructor(accountant: MemoryAccountant, owner: string) {
    this.#accountant = accountant;
    this.#owner = owner;
    this.request = accountant.reserve(owner);
  }

  get isLarge(): boolean {
    return this.request.bytes >= largeBytesMin;
  }

  get isAnswerLarge(): boolean {
    return this.#answer !== undefined && this.#answer.bytes >= largeBytesMin;
  }

  reserve(bytes: number): void {
    this.request.grow(bytes);
  }

  reserveAnswer(bytes: number): void {
    const { answer } = this;
    if (bytes < 0) answer.shrink(-bytes);
    else answer.grow(bytes);
  }

  /** Reservation of the answer; exists only while it is needed. */
  get answer(): MemoryReservation {
    this.#answer ??= this.#accountant.reserve(this.#owner, 0, { aloneMax: answerAloneMax });
    // Nobody would free what a provider adds to a call that is over.
    if (this.#isReleased && this.#senders === 0) this.#answer.release();
    return this.#answer;
  }

  /** Hands the memory of the answer over to who sends it and then releases it. */
  takeAnswer(): MemoryReservation {
    const { answer } = this;
    this.#answer = undefined;
    return answer;
  }

  /** Keeps the answer, which is written to a stream, beyond {@link release}. Returns what ends that, once or more often. */
  startSending(): () => void {
    this.#senders++;
    let isSending = true;
    return () => {
      if (isSending) this.#senders--;
      isSending = false;
      this.#releaseAnswer();
    };
  }

  /** The response is there. Repeating it does nothing. */
  release(): void {
    this.#isReleased = true;
    this.request.release();
    this.#releaseAnswer();
  }

  #releaseAnswer(): void {
    if (!this.#isReleased || this.#senders > 0) return;
    this.#answer?.release();
  }
}

/** Bytes written to a socket at once: what it has not taken is in memory a second time. */
const pieceBytes = 64 * 1024;

/**
 * A response body that gives a socket a piece when it has taken the one before, and then releases the memory: also when its
 * client leaves, or has left before anything was sent.
 */
export function sendBytes(
  bytes: Uint8Array<ArrayBuffer>,
  { signal }: Pick<Request, "signal">,
  release: () => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let at = 0;
  let rest: Uint8Array<ArrayBuffer> | undefined = bytes;
  const end = () => {
    rest = undefined;
    signal.removeEventListener("abort", end);
    release();
  };
  if (signal.aborted) end();
  else signal.addEventListener("abort", end);
  return new ReadableStream(
    {
      pull(controller) {
        const piece = rest?.subarray(at, at + pieceBytes);
        at += pieceBytes;
        if (piece !== undefined && piece.length > 0) return controller.enqueue(piece);
        controller.close();
        end();
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

/** Sends a call's answer and shrinks its reservation to the size of the bytes. */
export function sendReserved(
  bytes: Uint8Array<ArrayBuffer>,
  request: Pick<Request, "signal">,
  reservation: MemoryReservation,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const more = bytes.length - reservation.bytes;
  if (more > 0) reservation.grow(more);
  else reservation.shrink(-more);
  return sendBytes(bytes, request, () => reservation.release());
}
