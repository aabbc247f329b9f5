import { audioFileBytesMax, GatewayError } from "../../contract/index.ts";
import { type BodyReservation, declaredBytes, tooLarge } from "./body-memory.ts";

/** The largest JSON body, in bytes: a long conversation with several pictures. */
export const jsonBytesMax = 32 * 1024 * 1024;
/** The largest form: the largest audio file, and room for its other fields. */
export const formBytesMax = audioFileBytesMax + 1024 * 1024;
/** The largest body of a form of the dashboard, in bytes: a key with five hundred models. */
const smallBytesMax = 256 * 1024;
/** The maximum nesting of objects and arrays in a body: the code that translates them is recursive. */
export const nestingMax = 200;

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

async function readChunks(request: Request, bytesMax: number, reservation?: BodyReservation): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of boundedChunks(request, bytesMax, reservation))
    text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

/** The chunks of a body, up to a limit. */
async function* boundedChunks(request: Request, bytesMax: number, reservation?: BodyReservation) {
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

/**
 * Reads a body of at most {@link smallBytesMax} as JSON text: the sender may be unauthenticated.
 *
 * @throws {GatewayError} `payload_too_large`, or `invalid_request` for a null character in it.
 */
export async function readSmall(request: Request): Promise<string> {
  declaredBytes(request, smallBytesMax);
  const text = await readChunks(request, smallBytesMax);
  rejectNullCharacters(text, "body");
  return text;
}

/**
 * Like {@link readSmall}, but parses the JSON. An empty body is `null`: after `undefined` Elysia would read it again.
 *
 * @throws {GatewayError} `invalid_request` as well.
 */
export async function readSmallJson(request: Request): Promise<unknown> {
  const text = await readSmall(request);
  return text === "" ? null : checkDepth(parseJson(text));
}

/** Reads a body as multipart/form-data. @throws {GatewayError} as {@link readJson} */
export async function readForm(request: Request, reservation?: BodyReservation): Promise<FormData> {
  const contentType = request.headers.get("content-type");
  if (contentType === null || !contentType.toLowerCase().startsWith("multipart/form-data")) {
    const sentence = "The body is not multipart/form-data, which is how a file is sent here";
    throw new GatewayError("invalid_request", sentence);
  }
  try {
    if (request.headers.has("content-length")) return await request.formData();
    const chunks = await Array.fromAsync(boundedChunks(request, formBytesMax, reservation));
    return await new Response(new Blob(chunks), { headers: { "content-type": contentType } }).formData();
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError("invalid_request", "Cannot read the body as multipart/form-data", { cause });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it is malformed";
    throw new GatewayError("invalid_request", `Cannot read the body as JSON: ${reason}`, { cause: error });
  }
}

/** @throws {GatewayError} `invalid_request` for what is nested deeper than {@link nestingMax}. */
function checkDepth(value: unknown): unknown {
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

/** The JSON escape of a null character whose backslash is not itself escaped. */
const nullInJson = /(?<!\\)(?:\\\\)*\\u0000/;

/** Refuses a null character, which PostgreSQL does not store, in an address or a JSON body. @throws {GatewayError} `invalid_request` */
export function rejectNullCharacters(text: string, where: "address" | "body"): void {
  if (!(where === "address" ? text.includes("%00") : nullInJson.test(text))) return;
  throw new GatewayError("invalid_request", `The ${where} has a null character (U+0000); remove it`);
}
