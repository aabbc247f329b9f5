import { type ServerEvent, UpstreamFault } from "../../contract/index.ts";
import { SseParser } from "../../sdk/sse.ts";
import type { Timeout, TimeoutScheduler } from "./timeouts.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

/** The limits for reading a body. */
export interface BodyLimits {
  readonly timeouts: TimeoutScheduler;
  now(): number;
  /** The longest wait for a chunk. */
  readonly idleMsMax: number;
  /** Counted after decompression. */
  readonly bytesMax: number;
  /** Called when the provider is silent for longer; it aborts the request. */
  onIdle(): void;
  /** Converts a read error into the error to throw. */
  toFault(error: unknown): Error;
}

/**
 * A body whose `content-length` is at most this is read without a reader, and the idle limit applies to all of it. It
 * arrives in a few packets.
 */
const wholeBytesMax = 65_536;

const decoder = new TextDecoder();

/** Reads a body chunk by chunk within its limits. Time counts only while a chunk is waited for. */
class BodyReader {
  readonly #reader: ReadableStreamDefaultReader<Bytes> | undefined;
  readonly #limits: BodyLimits;
  readonly #timeout: Timeout;
  #total = 0;

  constructor({ body }: Response, limits: BodyLimits) {
    this.#reader = body?.getReader();
    this.#limits = limits;
    this.#timeout = { atMs: 0, onTimeout: limits.onIdle };
  }

  /**
   * The next chunk; `undefined` at the end.
   *
   * @throws {UpstreamFault} When the body breaks off, stalls or is too long.
   */
  async read(): Promise<Bytes | undefined> {
    if (this.#reader === undefined) return undefined;
    const { timeouts, idleMsMax, bytesMax } = this.#limits;
    timeouts.reschedule(this.#timeout, this.#limits.now() + idleMsMax);
    try {
      const { value } = await this.#reader.read();
      if (value !== undefined) this.#total += value.byteLength;
      if (this.#total <= bytesMax) return value;
    } catch (error) {
      throw this.#limits.toFault(error);
    } finally {
      timeouts.cancel(this.#timeout);
    }
    this.cancel();
    throw tooLong(bytesMax);
  }

  /** Closes the connection, unless the body was read to its end. */
  cancel(): void {
    this.#reader?.cancel().catch(() => undefined);
  }
}

/** The chunks of a body as they arrive. Leaving the loop early closes the connection. */
export async function* readChunks(response: Response, limits: BodyLimits): AsyncGenerator<Bytes, undefined> {
  const reader = new BodyReader(response, limits);
  try {
    for (let chunk = await reader.read(); chunk !== undefined; chunk = await reader.read()) yield chunk;
  } finally {
    reader.cancel();
  }
}

/** The server-sent events of a body as they arrive. Leaving the loop early closes the connection. */
export async function* readEvents(response: Response, limits: BodyLimits): AsyncGenerator<ServerEvent, undefined> {
  const reader = new BodyReader(response, limits);
  const parser = new SseParser();
  const decoder = new TextDecoder();
  try {
    for (let chunk = await reader.read(); chunk !== undefined; chunk = await reader.read()) {
      for (const event of parser.push(decoder.decode(chunk, { stream: true }))) yield event;
    }
    for (const event of parser.push(decoder.decode())) yield event;
    for (const event of parser.end()) yield event;
  } finally {
    reader.cancel();
  }
}

/**
 * A whole body as text.
 *
 * @throws {UpstreamFault} When it breaks off, stalls or is too long.
 */
export async function readText(response: Response, limits: BodyLimits): Promise<string> {
  const length = declaredLength(response);
  if (length !== undefined && length > limits.bytesMax) {
    response.body?.cancel().catch(() => undefined);
    throw tooLong(limits.bytesMax);
  }
  if (length !== undefined && length <= wholeBytesMax) return readWhole(response, limits);
  const chunks: Bytes[] = [];
  for await (const chunk of readChunks(response, limits)) chunks.push(chunk);
  return decoder.decode(joinBytes(chunks));
}

/** The beginning of a body as text, as far as it arrives within the limits. Errors after that are ignored. */
export async function readTextStart(response: Response, limits: BodyLimits): Promise<string> {
  const chunks: Bytes[] = [];
  let total = 0;
  try {
    for await (const chunk of readChunks(response, { ...limits, bytesMax: Number.POSITIVE_INFINITY })) {
      chunks.push(chunk);
      total += chunk.byteLength;
      if (total >= limits.bytesMax) break;
    }
  } catch {
    return "";
  }
  return decoder.decode(joinBytes(chunks).subarray(0, limits.bytesMax));
}

async function readWhole(response: Response, { timeouts, now, idleMsMax, onIdle, toFault }: BodyLimits) {
  const timeout = timeouts.schedule(now() + idleMsMax, onIdle);
  try {
    return await response.text();
  } catch (error) {
    throw toFault(error);
  } finally {
    timeouts.cancel(timeout);
  }
}

/** The declared length of a body; `undefined` when it is not the length after decompression. */
function declaredLength({ headers }: Response): number | undefined {
  const length = headers.get("content-length");
  if (length === null || headers.has("content-encoding") || headers.has("transfer-encoding")) return undefined;
  return /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}

export function joinBytes(chunks: readonly Bytes[]): Bytes {
  if (chunks.length === 1) return chunks[0] as Bytes;
  const bytes = new Uint8Array(chunks.reduce((total, { byteLength }) => total + byteLength, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

function tooLong(bytesMax: number): UpstreamFault {
  return new UpstreamFault("bad_response", `The provider's answer is longer than ${bytesMax} bytes`);
}
