import { setTimeout } from "node:timers";
import { GatewayError } from "../../contract/index.ts";

/** Shorter bodies are not counted: thousands of them fit into memory. */
const countedBytesMin = 256 * 1024;
/** What a single body may take always has room when there is no other. */
const singleBytesMax = 96 * 1024 * 1024;
const retryAfterMs = 1000;
/** After so many bytes of bodies garbage is collected: the platform would wait until there is several times as much. */
const collectedBytesMin = 16 * 1024 * 1024;
/** At most so often: it takes some 20 ms of CPU beside the event loop. */
const collectEveryMs = 500;

/**
 * Bounds the memory of all large request bodies together, and of the files that are fetched for them. One account may have
 * half of it, so that its slow uploads do not refuse the bodies of all others.
 */
export class BodyMemoryLimiter {
  readonly #bytesMax: number;
  readonly #accountBytesMax: number;
  readonly #byAccount = new Map<string, number>();
  readonly #collectGarbage: () => void;
  #bytes = 0;
  #freedBytes = 0;
  #isPausing = false;

  /** @param collectGarbage Called now and then when large bodies are done. */
  constructor(bytesMax: number, collectGarbage: () => void = () => undefined) {
    this.#bytesMax = bytesMax;
    this.#collectGarbage = collectGarbage;
    this.#accountBytesMax = bytesMax / 2;
  }

  /**
   * Reserves memory for a call until {@link BodyReservation.release}.
   *
   * @param declaredBytes The length that its body declares; the reservation of one without a length grows as it arrives.
   * @throws {GatewayError} `unavailable`, or `rate_limit_exceeded` when it is this account that holds too much.
   */
  reserve(accountId: string, declaredBytes = 0): BodyReservation {
    const reservation = new BodyReservation(this, accountId);
    reservation.grow(declaredBytes);
    return reservation;
  }

  /** Adds bytes to a body that has `ownBytes`; fewer than 0 are freed. */
  take(accountId: string, bytes: number, ownBytes: number): void {
    if (bytes > 0) this.#check(accountId, bytes, ownBytes);
    this.#bytes += bytes;
    const left = this.#ofAccount(accountId) + bytes;
    if (left === 0) this.#byAccount.delete(accountId);
    else this.#byAccount.set(accountId, left);
    if (bytes < 0) this.#free(-bytes);
  }

  #free(bytes: number): void {
    this.#freedBytes += bytes;
    if (this.#freedBytes < collectedBytesMin || this.#isPausing) return;
    this.#freedBytes = 0;
    this.#isPausing = true;
    // Not before the call that frees them has let go of them.
    setTimeout(this.#collectGarbage, 0);
    setTimeout(() => {
      this.#isPausing = false;
      // Once more, for what was still in use then.
      if (this.#freedBytes < collectedBytesMin) this.#collectGarbage();
      else this.#free(0);
    }, collectEveryMs).unref();
  }

  #check(accountId: string, bytes: number, ownBytes: number): void {
    const ofAccount = this.#ofAccount(accountId);
    const holds = (others: number, bytesMax: number) =>
      others + ownBytes + bytes > bytesMax && (others > 0 || ownBytes + bytes > singleBytesMax);
    if (holds(ofAccount - ownBytes, this.#accountBytesMax)) {
      const sentence = `The account's other requests hold ${ofAccount - ownBytes} bytes, and there is no room for ${ownBytes + bytes} more; send the request again when one of them has ended`;
      throw new GatewayError("rate_limit_exceeded", sentence, { retryAfterMs });
    }
    if (!holds(this.#bytes - ownBytes, this.#bytesMax)) return;
    const sentence = `The gateway holds ${this.#bytes - ownBytes} bytes of request bodies and has no room for ${ownBytes + bytes} more; send the request again`;
    throw new GatewayError("unavailable", sentence, { retryAfterMs });
  }

  #ofAccount(accountId: string): number {
    return this.#byAccount.get(accountId) ?? 0;
  }
}

/** The share of one call in a {@link BodyMemoryLimiter}. */
export class BodyReservation {
  readonly #limiter: BodyMemoryLimiter;
  readonly #accountId: string;
  #readBytes = 0;
  #reservedBytes = 0;
  #isReleased = false;

  constructor(limiter: BodyMemoryLimiter, accountId: string) {
    this.#limiter = limiter;
    this.#accountId = accountId;
  }

  /** Adds bytes; the first {@link countedBytesMin} of them count once there are more. @throws {GatewayError} As `reserve`. */
  grow(bytes: number): void {
    // A download may outlive its call by a moment; nobody would free what it adds.
    if (this.#isReleased) throw new GatewayError("unavailable", "The call has ended; its files are not read further");
    this.#readBytes += bytes;
    if (this.#readBytes < countedBytesMin) return;
    this.#limiter.take(this.#accountId, this.#readBytes - this.#reservedBytes, this.#reservedBytes);
    this.#reservedBytes = this.#readBytes;
  }

  /** Frees a part of the bytes: a body that was read takes less than while it came. */
  shrink(bytes: number): void {
    this.#readBytes -= bytes;
    const freed = Math.min(bytes, this.#reservedBytes);
    if (freed > 0) this.#limiter.take(this.#accountId, -freed, this.#reservedBytes);
    this.#reservedBytes -= freed;
  }

  /** Frees the memory. Repeating it does nothing. */
  release(): void {
    if (this.#reservedBytes > 0) this.#limiter.take(this.#accountId, -this.#reservedBytes, this.#reservedBytes);
    this.#reservedBytes = 0;
    this.#isReleased = true;
  }
}
