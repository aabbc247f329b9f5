import { GatewayError } from "../../contract/index.ts";

/** Shorter bodies are not counted: thousands of them fit into memory. */
const countedBytesMin = 256 * 1024;

/**
 * The length that a request declares for its body; `undefined` when it is sent in chunks.
 *
 * @throws {GatewayError} `payload_too_large`
 */
export function declaredBytes(request: Request, bytesMax: number): number | undefined {
  const declared = request.headers.get("content-length");
  if (declared === null) return undefined;
  const bytes = Number(declared);
  if (bytes > bytesMax) throw tooLarge(bytesMax);
  return bytes;
}

export function tooLarge(bytesMax: number): GatewayError {
  return new GatewayError("payload_too_large", `The body is larger than ${bytesMax} bytes, the limit of this endpoint`);
}

/** Bounds the memory of all large request bodies together. */
export class BodyMemoryLimiter {
  readonly #bytesMax: number;
  #reservedBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /**
   * Reserves memory for a body, until {@link BodyReservation.release}.
   *
   * @param bytes Its declared length; `undefined` for one whose reservation grows while it is read.
   * @returns `undefined` for a short body, which needs no reservation.
   * @throws {GatewayError} `unavailable` when there is no room. A single body always has room.
   */
  reserve(bytes: number | undefined): BodyReservation | undefined {
    if (bytes !== undefined && bytes < countedBytesMin) return undefined;
    const reservation = new BodyReservation((more, ownBytes) => this.#take(more, ownBytes));
    reservation.grow(bytes ?? 0);
    return reservation;
  }

  #take(bytes: number, ownBytes: number): void {
    const others = this.#reservedBytes - ownBytes;
    if (bytes > 0 && others > 0 && this.#reservedBytes + bytes > this.#bytesMax) {
      const sentence = `The gateway holds ${others} bytes of request bodies and has no room for ${ownBytes + bytes} more; send the request again`;
      throw new GatewayError("unavailable", sentence, { retryAfterMs: 1000 });
    }
    this.#reservedBytes += bytes;
  }
}

/** The share of one body in a {@link BodyMemoryLimiter}. */
export class BodyReservation {
  readonly #take: (bytes: number, ownBytes: number) => void;
  #readBytes = 0;
  #reservedBytes = 0;

  constructor(take: (bytes: number, ownBytes: number) => void) {
    this.#take = take;
  }

  /** Adds bytes of the body; the first {@link countedBytesMin} of it count once there are more. @throws {GatewayError} `unavailable` */
  grow(bytes: number): void {
    this.#readBytes += bytes;
    if (this.#readBytes < countedBytesMin) return;
    this.#take(this.#readBytes - this.#reservedBytes, this.#reservedBytes);
    this.#reservedBytes = this.#readBytes;
  }

  /** Frees the memory. Repeating it does nothing. */
  release(): void {
    this.#take(-this.#reservedBytes, this.#reservedBytes);
    this.#readBytes = 0;
    this.#reservedBytes = 0;
  }
}
