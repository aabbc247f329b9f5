import { type ServerEvent, UpstreamFault } from "../../contract/index.ts";
import { SseParser } from "../../sdk/sse.ts";
import type { TimeoutScheduler, Watch } from "./timeouts.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

/** What bounds the reading of a body. */
export interface BodyLimits {
  readonly deadlines: TimeoutScheduler;
  now(): number;
  /** Of silence while a chunk is waited for. */
  readonly idleMsMax: number;
  /** Counted after decompression. */
  readonly bytesMax: number;
  /** Called when the provider is silent for longer; it aborts the request. */
  onIdle(): void;
  /** Turns what the reading failed with into the error to throw. */
  toFault(error: unknown): Error;
}

/**
 * A body whose `content-length` is at most this is awaited as a whole: without a reader, and with the idle limit on the
 * whole of it. It arrives in a packet or a few.
 */
const wholeBytesMax = 65_536;

const decoder = new TextDecoder();

/** Reads a body chunk by chunk within its limits. Time counts only while a chunk is waited for. */
class BodyReader {
  readonly #reader: ReadableStreamDefaultReader<Bytes> | undefined;
  readonly #limits: BodyLimits;
  readonly #watch: Watch;
  #total = 0;

  constructor({ body }: Response, limits: BodyLimits) {
    this.#reader = body?.getReader();
    this.#limits = limits;
    this.#watch = { atMs: 0, onPassed: limits.onIdle };
  }

  /**
   * The next chunk; `undefined` at the end.
   *
   * @throws {UpstreamFault} When the body breaks off, stalls or is too long.
   */
  async read(): Promise<Bytes | undefined> {
    if (this.#reader === undefined) return undefined;
    const { deadlines, idleMsMax, bytesMax } = this.#limits;
    deadlines.renew(this.#watch, this.#limits.now() + idleMsMax);
    try {
      const { value } = await this.#reader.read();
      if (value !== undefined) this.#total += value.byteLength;
      if (this.#total <= bytesMax) return value;
    } catch (error) {
      throw this.#limits.toFault(error);
    } finally {
      deadlines.drop(this.#watch);
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

/** The beginning of a body as text, as far as it arrives within the limits; what is wrong with the rest does not matter. */
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

async function readWhole(response: Response, { deadlines, now, idleMsMax, onIdle, toFault }: BodyLimits) {
  const watch = deadlines.watch(now() + idleMsMax, onIdle);
  try {
    return await response.text();
  } catch (error) {
    throw toFault(error);
  } finally {
    deadlines.drop(watch);
  }
}

/** How long a body says it is; `undefined` where that is not its length, or not its length once it is decompressed. */
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
