/**
 * Step 3: reads the body, as JSON or as a form, within bounds of size, memory, time and shape.
 */
import { Buffer, isUtf8 } from "node:buffer";
import { setImmediate } from "node:timers/promises";
import { audioFileBytesMax, GatewayError } from "../../contract/index.ts";
import { keepJsonText } from "../../kernel/index.ts";
import { ArrivalPace, arrivedTooSlowly } from "../memory/arrival-pace.ts";
import { largeBytesMin } from "../memory/call-memory.ts";
import { countedBytesMin, type MemoryReservation } from "../memory/memory-accountant.ts";
import { checkJsonBounds } from "./json-bounds.ts";

/** The largest JSON body, in bytes: a long conversation with several pictures. */
export const jsonBytesMax = 32 * 1024 * 1024;

/** So does a shorter one of so many values. */
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
export async function readJson(request: Request, { reservation, beforeParsing }: ReadOptions = {}): Promise<unknown> {
  refuseEncoding(request);
  const text = await readText(request, reservation);
  beforeParsing?.();
  if (text === "") throw new GatewayError("invalid_request", "The body is empty, but a JSON object was expected");
  const isLarge = text.length > largeBytesMin;
  const shape = isLarge ? await inTurn(() => checkJsonBounds(text)) : checkJsonBounds(text);
  // What arrived is text by now, and is to be values: many short ones take many times their text. With no more than this the
  // largest body still takes three times its length.
  const countedBytes = text.length >= countedBytesMin ? text.length : 0;
  reservation?.shrink(countedBytes);
  reservation?.grow(Math.min(Math.max(0, shape.valueBytes - countedBytes), jsonBytesMax));
  const isSlow = isLarge || shape.weight > slowWeightMin;
  const body = isSlow ? await inTurn(() => parse(text)) : parse(text);
  keepJsonText(body, text, shape.spans, shape.fields);
  return body;
}

async function readText(request: Request, reservation: MemoryReservation | undefined): Promise<string> {
  const bytes = await readBytes(request, jsonBytesMax, reservation);
  return bytes.length > largeBytesMin ? await inTurn(() => decode(bytes)) : decode(bytes);
}

/**
 * A whole body, counted as it arrives. While it is put together and read it takes as much twice more, which its reader gives
 * back. The platform enforces a declared length; for a chunked body the limit is enforced here.
 *
 * @throws {GatewayError} `payload_too_large`, `request_timeout`, `unavailable`, `rate_limit_exceeded` or `invalid_request`.
 */
async function readBytes(
  request: Request,
  bytesMax: number,
  reservation?: MemoryReservation,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) < countedBytesMin) {
    return await request.bytes().catch((cause) => {
      throw brokeOff(cause);
    });
  }
  const chunks = await Array.fromAsync(boundedChunks(request, bytesMax, reservation));
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  reservation?.grow(2 * bytes);
  return bytes > largeBytesMin ? await inTurn(() => Buffer.concat(chunks)) : Buffer.concat(chunks);
}

/** Text that is not UTF-8 is refused, because a replaced character would go unnoticed. */
function decode(bytes: Uint8Array): string {
  // A fatal decoder takes three times the memory for a large body.
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  throw new GatewayError("invalid_request", "The body is not valid UTF-8");
}

/** @throws {GatewayError} `unsupported_media_type` for a compressed body. */
function refuseEncoding({ headers }: Request): void {
  const encoding = headers.get("content-encoding");
  if (encoding === null || encoding.toLowerCase() === "identity") return;
  const sentence = "Content-Encoding is not supported; send the body without compression";
  throw new GatewayError("unsupported_media_type", sentence);
}

let turn = Promise.resolve();

/**
 * Runs the work on a large body, or on much that was stored, in a turn of the event loop of its own. One piece of work runs at a time, followed by a
 * pause as long as it took, so that large bodies take at most half of the event loop from other requests.
 */
export function inTurn<Outcome>(work: () => Outcome): Promise<Outcome> {
  let [startedMs, endedMs] = [0, 0];
  const outcome = turn.then(setImmediate).then(() => {
    startedMs = performance.now();
    try {
      return work();
    } finally {
      endedMs = performance.now();
    }
  });
  const pause = () => new Promise<void>((resolve) => setTimeout(resolve, endedMs - startedMs));
  turn = outcome.then(pause, pause);
  return outcome;
}

function brokeOff(cause: unknown): GatewayError {
  return new GatewayError("invalid_request", "The body ended early", { cause });
}

/** A body as text, up to a limit. */
export async function readChunks(request: Request, bytesMax: number): Promise<string> {
  return decode(await readBytes(request, bytesMax));
}

/**
 * The chunks of a body, up to a limit. A body of tiny chunks is refused: each takes as much time as a large one. So is a large
 * one that comes too slowly.
 */
async function* boundedChunks(request: Request, bytesMax: number, reservation?: MemoryReservation) {
  let [bytes, chunks] = [0, 0];
  const reader = request.body?.getReader();
  if (reader === undefined) return;
  const leave = () => void reader.cancel().catch(() => undefined);
  let pace = request.headers.has("content-length") ? new ArrivalPace(leave) : undefined;
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const chunk = next.value as Uint8Array<ArrayBuffer>;
      bytes += chunk.byteLength;
      if (bytes > bytesMax) throw tooLarge(bytesMax);
      if (++chunks > smallChunksMax + bytes / chunkBytesMin) {
        throw new GatewayError("invalid_request", "The body arrives in chunks of a few bytes; send larger ones");
      }
      reservation?.grow(chunk.byteLength);
      if (bytes >= countedBytesMin) pace ??= new ArrivalPace(leave);
      pace?.add(chunk.byteLength);
      yield chunk;
    }
  } catch (cause) {
    throw cause instanceof GatewayError ? cause : brokeOff(cause);
  } finally {
    pace?.stop();
    leave();
  }
  if (pace?.isLate) throw arrivedTooSlowly();
}

/** Parses JSON that is neither too deep nor too wide. @throws {GatewayError} `invalid_request` */
export function parseJson(text: string): unknown {
  checkJsonBounds(text);
  return parse(text);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
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
    const sentence = "The body is not multipart/form-data, which is how a file is sent here";
    throw new GatewayError("invalid_request", sentence);
  }
  try {
    const read = await readBytes(request, formBytesMax, reservation);
    const bytes = Buffer.from(read.buffer, read.byteOffset, read.byteLength);
    checkFields(bytes);
    const form = await new Response(bytes, { headers: { "content-type": contentType } }).formData();
    // What arrived is a file by now.
    if (bytes.length >= countedBytesMin) reservation.shrink(bytes.length);
    return form;
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError("invalid_request", "Cannot read the body as multipart/form-data", { cause });
  }
}

/** Counts what may be the boundary before a field, which no other place of a file of sound has often. */
function checkFields(bytes: Buffer): void {
  let fields = 0;
  for (let at = bytes.indexOf("\r\n--"); at !== -1; at = bytes.indexOf("\r\n--", at + 4)) {
    if (++fields > fieldsMax) throw new GatewayError("invalid_request", `The form has more than ${fieldsMax} fields`);
  }
}
