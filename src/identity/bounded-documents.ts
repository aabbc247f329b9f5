/**
 * Checks documents of identity providers and tokens of callers before a library parses them: documents that are nested
 * too deep or have too many values are refused.
 */
import { checkJsonBounds, isRecord, JsonBoundsError, readJson } from "../lib/json.ts";
import { readShort } from "../lib/read-short.ts";

/** The longest document of an identity provider: metadata, keys, tokens or claims. */
const documentBytesMax = 256 * 1024;
/** Three parts of base64url with dots between them. */
const tokenForm = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/**
 * Checks the parts of a token (JWT) that are JSON. The token need not be one.
 *
 * @throws {JsonBoundsError}
 */
export function checkTokenBounds(token: string): void {
  if (!tokenForm.test(token)) return;
  const [header = "", payload = ""] = token.split(".");
  for (const part of [header, payload]) checkJsonBounds(Buffer.from(part, "base64url").toString(), "document");
}

/**
 * A `fetch` for a library that reads JSON by itself: its answers are whole, short, and within the bounds of a document, also the tokens
 * in them. It rejects for others.
 */
export function fetchDocuments<Options>(
  fetch: (url: string, options: Options) => Promise<Response>,
): (url: string, options: Options) => Promise<Response> {
  return async (url, options) => {
    const response = await fetch(url, options);
    const tooLarge = () => new Error(`The answer is larger than ${documentBytesMax} bytes`);
    const text = await readShort(response.body, documentBytesMax, tooLarge);
    checkDocument(text);
    const { status, statusText } = response;
    const headers = new Headers(response.headers);
    headers.delete("content-encoding");
    headers.delete("content-length");
    return new Response(text === "" ? null : text, { status, statusText, headers });
  };
}

/** @throws {JsonBoundsError} */
function checkDocument(text: string): void {
  checkTokenBounds(text.trim());
  let document: unknown;
  try {
    document = readJson(text, "document");
  } catch (error) {
    if (error instanceof JsonBoundsError) throw error;
    // The library reports the problem.
    return;
  }
  if (!isRecord(document)) return;
  for (const member of Object.values(document)) if (typeof member === "string") checkTokenBounds(member);
}
