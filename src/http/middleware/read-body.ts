import { GatewayError } from "../../contract/index.ts";

/** The largest JSON body, in bytes: a long conversation with several pictures. */
export const jsonBytesMax = 32 * 1024 * 1024;
/** The maximum nesting of objects and arrays in a body: the code that translates them is recursive. */
export const nestingMax = 200;

/** Shorter bodies are not counted: thousands of them fit into memory. */
const countedBytesMin = 256 * 1024;

/** How a large body is read. */
interface ReadOptions {
  /** Grows with a body that declares no length. */
  readonly reservation?: BodyReservation | undefined;
  /** Called once the body is read, before the expensive part; may throw. */
  beforeParsing?(): void;
}

/**
 * Reads a body as JSON.
 *
 * @throws {GatewayError} `payload_too_large`, `unavailable` or `invalid_request`.
 */
export async function readJson(request: Request, { reservation, beforeParsing }: ReadOptions = {}): Promise<unknown> {
  const text = await readText(request, reservation);
  beforeParsing?.();
  if (text === "") throw new GatewayError("invalid_request", "The body is empty, but a JSON object was expected");
  return checkDepth(parseJson(text));
}

/** The platform enforces a declared length; for a chunked body the limit is enforced here. */
async function readText(request: Request, reservation: BodyReservation | undefined): Promise<string> {
  if (!request.headers.has("content-length")) return await readChunks(request, jsonBytesMax, reservation);
  try {
    return await request.text();
  } catch (cause) {
    throw brokeOff(cause);
  }
}

function brokeOff(cause: unknown): GatewayError {
  return new GatewayError("invalid_request", "The body ended early", { cause });
}

/** A body as text, up to a limit. It is decoded as it arrives: an array of many tiny chunks would take more memory. */
export async function readChunks(request: Request, bytesMax: number, reservation?: BodyReservation): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of boundedChunks(request, bytesMax, reservation))
    text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

/** The chunks of a body, up to a limit. */
export async function* boundedChunks(request: Request, bytesMax: number, reservation?: BodyReservation) {
  let bytes = 0;
  try {
    for await (const chunk of request.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) throw tooLarge(bytesMax);
      reservation?.grow(chunk.byteLength);
      yield chunk;
    }
  } catch (cause) {
    throw cause instanceof GatewayError ? cause : brokeOff(cause);
  }
}

/** @throws {GatewayError} `invalid_request` */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it is malformed";
    throw new GatewayError("invalid_request", `Cannot read the body as JSON: ${reason}`, { cause: error });
  }
}

/** @throws {GatewayError} `invalid_request` for what is nested deeper than {@link nestingMax}. */
export function checkDepth(value: unknown): unknown {
  if (isWithin(value, nestingMax)) return value;
  throw new GatewayError("invalid_request", `The body is nested deeper than ${nestingMax} levels`);
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (levels === 0) return false;
  if (Array.isArray(value)) return value.every((item) => isWithin(item, levels - 1));
  for (const name in value) if (!isWithin((value as Record<string, unknown>)[name], levels - 1)) return false;
  return true;
}

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

function tooLarge(bytesMax: number): GatewayError {
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
