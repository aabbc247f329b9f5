/**
 * Step 3: reads the body, as JSON or as a form, within bounds of size, memory, time and shape.
 */

import { Buffer, isUtf8 } from "node:buffer";
import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import { setImmediate as nextImmediate } from "node:timers/promises";
import { GatewayError } from "../../contract/index.ts";
import { type CheckedJson, checkJsonBounds, JsonBoundsError, keepJsonText } from "../../lib/json.ts";
import { audioFileBytesMax } from "../../provider/index.ts";
import type { HttpDeps } from "../deps.ts";
import { countedBytesMin, largeBytesMin, type MemoryReservation } from "../memory/call-memory.ts";
import { ownerOfClient } from "./http-call.ts";

/** The least that a body brings, in bytes a millisecond: about 64 kB a second. */
const leastBytesPerMs = 64;
/** The time before it has to, and how far it may get ahead of that by sending faster. */
const [graceMs, aheadMsMax] = [5000, 15_000];

/**
 * Demands that a body in pieces goes on arriving: who sends a byte a second would hold a slot, and the memory of what has arrived,
 * for minutes. A short one that is read at once has a deadline instead ({@link readShort}).
 */
class ArrivalPace {
  readonly #onLate: () => void;
  readonly #now: () => number;
  #dueMs: number;
  #timer: ReturnType<typeof setTimeout>;
  #isLate = false;

  /** @param onLate Called once when too little has come. */
  constructor(onLate: () => void, now: () => number = () => performance.now()) {
    this.#onLate = onLate;
    this.#now = now;
    this.#dueMs = now() + graceMs;
    this.#timer = setTimeout(this.#look, graceMs);
  }

  get isLate(): boolean {
    return this.#isLate;
  }

  /** A piece of the body has arrived. */
  add(bytes: number): void {
    this.#dueMs = Math.min(this.#dueMs + bytes / leastBytesPerMs, this.#now() + aheadMsMax);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  readonly #look = (): void => {
    const leftMs = this.#dueMs - this.#now();
    if (leftMs > 0) this.#timer = setTimeout(this.#look, Math.ceil(leftMs));
    // If the event loop was late, the bytes that arrived in the meantime are read first.
    else setImmediate(() => setImmediate(this.#end));
  };

  readonly #end = (): void => {
    if (this.#dueMs > this.#now()) {
      this.#look();
      return;
    }
    this.#isLate = true;
    this.#onLate();
  };
}

/** Error for the sender. */
function arrivedTooSlowly(): GatewayError {
  const message = `The body arrives too slowly: after ${graceMs / 1000} s the client must send at least ${leastBytesPerMs} kB a second; send it again`;
  return new GatewayError("request_timeout", message);
}

/** The largest JSON body, in bytes: a long conversation with several images. */
export const jsonBytesMax = 32 * 1024 * 1024;

/** A smaller body with this many values also blocks the event loop noticeably. */
const slowWeightMin = 50_000;
/** Above this average, no client is slowed down by sending its body in chunks. */
const chunkBytesMin = 256;
/** How many chunks may be smaller than that. */
const smallChunksMax = 1024;

/** How a large body is read. */
interface ReadOptions {
  /** Grows as the body arrives. */
  readonly reservation?: MemoryReservation | undefined;
  /** Called once the body is read, before the expensive part; may throw. */
  beforeParsing?(): void;
}

/**
 * Reads a body as JSON.
 *
 * @throws {GatewayError} `payload_too_large`, `unavailable`, `rate_limit_exceeded` or `invalid_request`.
 */
export async function readJsonBody(
  request: Request,
  { reservation, beforeParsing }: ReadOptions = {},
): Promise<unknown> {
  refuseEncoding(request);
  const bytes = await readBytes(request, jsonBytesMax, reservation);
  const text = bytes.length > largeBytesMin ? await runInOwnTurn(decodeJson, bytes) : decodeJson(bytes);
  beforeParsing?.();
  return await readJsonText(text, reservation);
}

/**
 * Reads a text that is in memory as JSON.
 *
 * @param reservation Has the text already, if that is long enough to be counted.
 * @throws {GatewayError} As {@link readJsonBody}.
 */
export async function readJsonText(text: string, reservation?: MemoryReservation): Promise<unknown> {
  if (text === "") throw new GatewayError("invalid_request", "The body is empty, but a JSON object was expected");
  const isLarge = text.length > largeBytesMin;
  const checked = isLarge ? await runInOwnTurn(checkBody, text) : checkBody(text);
  // The body is text by now and becomes values: many short ones take many times their text. With no more than this the
  // largest body still takes three times its length.
  const countedBytes = text.length >= countedBytesMin ? text.length : 0;
  reservation?.shrink(countedBytes);
  reservation?.grow(Math.min(Math.max(0, checked.valueBytes - countedBytes), jsonBytesMax));
  const isSlow = isLarge || checked.weight > slowWeightMin;
  const body = isSlow ? await runInOwnTurn(parse, checked) : parse(checked);
  keepJsonText(body, text, checked.spans, checked.fields);
  return body;
}

/**
 * A whole body, counted as it arrives. While it is put together and read it takes as much twice more, which its reader gives
 * back. The platform enforces a declared length; for a chunked body the limit is enforced here.
 *
 * @throws {GatewayError} `payload_too_large`, `request_timeout`, `unavailable`, `rate_limit_exceeded` or `invalid_request`.
 */
function readBytes(
  request: Request,
  bytesMax: number,
  reservation?: MemoryReservation,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = request.headers.get("content-length");
  if (declared === null || Number(declared) >= countedBytesMin) return readChunked(request, bytesMax, reservation);
  return readShort(request, Number(declared), reservation);
}

/** A body of a short declared length, which has to be there when the least pace would have brought it. */
function readShort(request: Request, bytes: number, reservation?: MemoryReservation): Promise<Uint8Array<ArrayBuffer>> {
  reservation?.expect(bytes);
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reservation?.arrive();
    };
    // If the event loop was late, the bytes that arrived in the meantime are read first.
    const onLate = () =>
      setImmediate(() =>
        setImmediate(() => {
          end();
          reject(arrivedTooSlowly());
        }),
      );
    const timer = setTimeout(onLate, graceMs + bytes / leastBytesPerMs);
    request.bytes().then(
      (whole) => {
        end();
        resolve(whole);
      },
      (cause) => {
        end();
        reject(interruptedBodyError(cause));
      },
    );
  });
}

const decoder = new TextDecoder();

/** Text that is not UTF-8 is refused, because a replaced character would go unnoticed. */
function decode(bytes: Uint8Array): string {
  // A fatal decoder takes three times the memory for a large body.
  if (isUtf8(bytes)) return decoder.decode(bytes);
  throw new GatewayError("invalid_request", "The body is not valid UTF-8");
}

/** @throws {GatewayError} `unsupported_media_type` for a compressed body. */
function refuseEncoding({ headers }: Request): void {
  const encoding = headers.get("content-encoding");
  if (encoding === null || encoding.toLowerCase() === "identity") return;
  const message = "Content-Encoding is not supported; send the body without compression";
  throw new GatewayError("unsupported_media_type", message);
}

let turn = Promise.resolve();

/**
 * Runs the work on a large body, or on much stored data, in its own turn of the event loop. One piece of work runs at a
 * time, followed by a pause of the same length, so large bodies take at most half of the event loop.
 */
export function runInOwnTurn<Outcome>(work: () => Outcome): Promise<Outcome>;
export function runInOwnTurn<Input, Outcome>(work: (input: Input) => Outcome, input: Input): Promise<Outcome>;
export function runInOwnTurn<Input, Outcome>(work: (input: Input) => Outcome, input?: Input): Promise<Outcome> {
  let [startedMs, endedMs] = [0, 0];
  const outcome = turn
    .then(() => nextImmediate())
    .then(() => {
      startedMs = performance.now();
      try {
        return work(input as Input);
      } finally {
        endedMs = performance.now();
      }
    });
  const pause = () => new Promise<void>((resolve) => setTimeout(resolve, endedMs - startedMs));
  turn = outcome.then(pause, pause);
  return outcome;
}

function interruptedBodyError(cause: unknown): GatewayError {
  return new GatewayError("invalid_request", "The body ended early", { cause });
}

/**
 * A body as text, up to a limit. It comes without an API key: as long as it is on its way it counts for the network of its client.
 *
 * @throws {GatewayError} As {@link readBytes}.
 */
export async function readBodyText(
  { memory, config, server }: Pick<HttpDeps, "memory" | "config" | "server">,
  request: Request,
  bytesMax: number,
): Promise<string> {
  const reservation = memory.reserve(ownerOfClient(config, request, server()));
  try {
    return decode(await readBytes(request, bytesMax, reservation));
  } finally {
    reservation.release();
  }
}

/**
 * A body in chunks, up to a limit. One of tiny chunks is refused: each takes as much time as a large one. So is one that comes too
 * slowly.
 */
async function readChunked(
  request: Request,
  bytesMax: number,
  reservation?: MemoryReservation,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  const reader = request.body?.getReader();
  if (reader === undefined) return new Uint8Array();
  const leave = () => void reader.cancel().catch(() => undefined);
  // One of no declared length may become as long as the longest that is not counted.
  if (!request.headers.has("content-length")) reservation?.expect(countedBytesMin);
  const pace = new ArrivalPace(leave);
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const chunk = next.value as Uint8Array<ArrayBuffer>;
      bytes += chunk.byteLength;
      if (bytes > bytesMax) throw tooLarge(bytesMax);
      if (chunks.push(chunk) > smallChunksMax + bytes / chunkBytesMin) {
        throw new GatewayError("invalid_request", "The body arrives in chunks of a few bytes; send larger ones");
      }
      if (bytes >= countedBytesMin) reservation?.arrive();
      reservation?.grow(chunk.byteLength);
      pace.add(chunk.byteLength);
    }
  } catch (cause) {
    throw cause instanceof GatewayError ? cause : interruptedBodyError(cause);
  } finally {
    pace.stop();
    reservation?.arrive();
    leave();
  }
  if (pace.isLate) throw arrivedTooSlowly();
  reservation?.grow(2 * bytes);
  const [whole] = chunks;
  if (whole !== undefined && chunks.length === 1) return whole;
  return bytes > largeBytesMin ? await runInOwnTurn(Buffer.concat, chunks) : Buffer.concat(chunks);
}

/** Parses JSON that is neither too deep nor too wide. @throws {GatewayError} `invalid_request` */
export function parseBody(text: string): unknown {
  return parse(checkBody(toWellFormedJson(text)));
}

/**
 * Returns the text of a JSON body with U+FFFD in place of lone surrogates (a client cut a character in two). The length
 * stays the same. A lone surrogate could break a database, or make two strings equal on their way to a provider.
 *
 * @example
 * toWellFormedJson('["\\ud83d\\ude00 \\ud83d"]'); // => '["\\ud83d\\ude00 \\ufffd"]'
 */
export function toWellFormedJson(text: string): string {
  if (!text.includes("\\ud") && !text.includes("\\uD")) return text;
  const bytes = Buffer.from(text);
  replaceHalves(bytes);
  return bytes.toString();
}

/**
 * Decodes JSON like {@link toWellFormedJson}, but replaces in the bytes themselves: another copy of a large body would
 * not be counted.
 */
function decodeJson(bytes: Uint8Array<ArrayBuffer>): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (buffer.includes("\\ud") || buffer.includes("\\uD")) replaceHalves(buffer);
  return decode(buffer);
}

/** The characters of an escape, such as `\ud83d`. */
const escapeLength = 6;
const backslash = 92;
const replacement = [..."fffd"].map((digit) => digit.charCodeAt(0));

/** A loop over bytes: a function that is called for each half blocks the event loop for seconds where a body is made of them. */
function replaceHalves(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== backslash) {
      at += 1;
      continue;
    }
    const half = readHalf(bytes, at);
    if (half === undefined) at += 2;
    else if (half === "high" && readHalf(bytes, at + escapeLength) === "low") at += 2 * escapeLength;
    else {
      for (let digit = 0; digit < 4; digit++) bytes[at + 2 + digit] = replacement[digit] as number;
      at += escapeLength;
    }
  }
}

/** The half of a surrogate pair that is escaped here; absent: it is something else, or no escape. */
function readHalf(bytes: Uint8Array, at: number): "high" | "low" | undefined {
  if (bytes[at] !== backslash || bytes[at + 1] !== 0x75) return undefined;
  if (toDigit(bytes[at + 2]) !== 0xd) return undefined;
  const digit = toDigit(bytes[at + 3]);
  if (digit < 8 || toDigit(bytes[at + 4]) < 0 || toDigit(bytes[at + 5]) < 0) return undefined;
  return digit < 0xc ? "high" : "low";
}

/** The value of a hexadecimal digit; -1 for any other byte. */
function toDigit(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

function parse(checked: CheckedJson): unknown {
  try {
    return checked.parse();
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it is malformed";
    throw new GatewayError("invalid_request", `Cannot read the body as JSON: ${reason}`, { cause: error });
  }
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

/** The largest form: the largest audio file, and room for its other fields. */
export const formBytesMax = audioFileBytesMax + 1024 * 1024;

/** The most fields of a form: each takes as long as 100 bytes of a file, and 26 MB have room for 400 000. */
const fieldsMax = 1000;

/** Reads a body as multipart/form-data. @throws {GatewayError} As {@link readBytes}. */
export async function readForm(request: Request, reservation: MemoryReservation): Promise<FormData> {
  refuseEncoding(request);
  const contentType = request.headers.get("content-type");
  if (contentType === null || !contentType.toLowerCase().startsWith("multipart/form-data")) {
    const message = "The body is not multipart/form-data, which this endpoint requires";
    throw new GatewayError("invalid_request", message);
  }
  try {
    const read = await readBytes(request, formBytesMax, reservation);
    const bytes = Buffer.from(read.buffer, read.byteOffset, read.byteLength);
    checkFields(bytes);
    const form = await new Response(bytes, { headers: { "content-type": contentType } }).formData();
    // The body is a file by now.
    if (bytes.length >= countedBytesMin) reservation.shrink(bytes.length);
    return form;
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError("invalid_request", "Cannot read the body as multipart/form-data", { cause });
  }
}

/** Counts what may be the boundary before a field, which no other place of a file of audio has often. */
function checkFields(bytes: Buffer): void {
  let fields = 0;
  for (let at = bytes.indexOf("\r\n--"); at !== -1; at = bytes.indexOf("\r\n--", at + 4)) {
    if (++fields > fieldsMax) throw new GatewayError("invalid_request", `The form has more than ${fieldsMax} fields`);
  }
}

/** Bounds what a body takes to parse, before it is parsed. @throws {GatewayError} `invalid_request` */
function checkBody(text: string): CheckedJson {
  try {
    return checkJsonBounds(text, "body");
  } catch (cause) {
    if (!(cause instanceof JsonBoundsError)) throw cause;
    throw new GatewayError("invalid_request", `The body ${cause.reason}`, { cause });
  }
}
