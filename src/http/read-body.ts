import { audioFileBytesMax, GatewayError } from "../contract/index.ts";
import { bodyBytesOf, tooLarge } from "./body-room.ts";
import { expectNoNull } from "./null-character.ts";

/** The largest JSON body, in bytes: a long conversation with several pictures. */
export const jsonBytesMax = 32 * 1024 * 1024;
/** The largest form: the largest audio file, and room for its other fields. */
export const formBytesMax = audioFileBytesMax + 1024 * 1024;
/** The largest body of a form of the page, in bytes: a key with five hundred models. */
const smallBytesMax = 256 * 1024;
/** How deep objects and arrays of a body may stand in one another: what translates them does so by recursion. */
export const nestingMax = 200;

/**
 * Reads a body as JSON.
 *
 * @param beforeParsing Called when it is there, as what follows is the dear part; may throw.
 * @throws {GatewayError} `payload_too_large` or `invalid_request`.
 */
export async function readJson(request: Request, beforeParsing?: () => void): Promise<unknown> {
  let text: string;
  try {
    text = await request.text();
  } catch (cause) {
    throw new GatewayError("invalid_request", "The body broke off before its end", { cause });
  }
  beforeParsing?.();
  if (text.length > jsonBytesMax) throw tooLarge(jsonBytesMax);
  if (text === "") throw new GatewayError("invalid_request", "The body is empty, but a JSON object was expected");
  return shallow(parse(text));
}

/**
 * Reads a body of at most {@link smallBytesMax} as the text of JSON, and no byte more: of a sender who may be anyone.
 *
 * @throws {GatewayError} `payload_too_large`, or `invalid_request` for a null character in it.
 */
export async function readSmall(request: Request): Promise<string> {
  bodyBytesOf(request, smallBytesMax);
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const piece of request.body ?? []) {
    bytes += piece.byteLength;
    if (bytes > smallBytesMax) throw tooLarge(smallBytesMax);
    text += decoder.decode(piece, { stream: true });
  }
  text += decoder.decode();
  expectNoNull(text, "body");
  return text;
}

/** As {@link readSmall}, as JSON; `undefined` when it is empty. @throws {GatewayError} `invalid_request` as well. */
export async function readSmallJson(request: Request): Promise<unknown> {
  const text = await readSmall(request);
  return text === "" ? undefined : withoutOwnWords(shallow(parse(text)));
}

/** Elysia puts what it refuses into words by these, so that a body which brings its own would make it fail. */
function withoutOwnWords(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  for (const [name, member] of Object.entries(value)) {
    if (name === "toString" || name === "valueOf") delete (value as Record<string, unknown>)[name];
    else withoutOwnWords(member);
  }
  return value;
}

/** Reads a body as multipart/form-data. @throws {GatewayError} as {@link readJson} */
export async function readForm(request: Request): Promise<FormData> {
  const contentType = request.headers.get("content-type");
  if (contentType === null || !contentType.toLowerCase().startsWith("multipart/form-data")) {
    const sentence = "The body is not multipart/form-data, which is how a file is sent here";
    throw new GatewayError("invalid_request", sentence);
  }
  try {
    return await request.formData();
  } catch (error) {
    throw new GatewayError("invalid_request", "Cannot read the body as multipart/form-data", { cause: error });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it is malformed";
    throw new GatewayError("invalid_request", `Cannot read the body as JSON: ${reason}`, { cause: error });
  }
}

/** @throws {GatewayError} `invalid_request` for what is nested deeper than {@link nestingMax}. */
function shallow(value: unknown): unknown {
  if (isWithin(value, nestingMax)) return value;
  throw new GatewayError("invalid_request", `The body is nested deeper than ${nestingMax} levels`);
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (levels === 0) return false;
  for (const name in value) if (!isWithin((value as Record<string, unknown>)[name], levels - 1)) return false;
  return true;
}
