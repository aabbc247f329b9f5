import { GatewayError } from "../../contract/index.ts";
import { declaredBytes, parseJson, readChunks } from "../lifecycle/read-body.ts";

/** The largest body of a form of the dashboard, in bytes: a key with five hundred models. */
const smallBytesMax = 256 * 1024;

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
  return text === "" ? null : parseJson(text);
}

/** The JSON escape of a null character whose backslash is not itself escaped. */
const nullInJson = /(?<!\\)(?:\\\\)*\\u0000/;

/** Refuses a null character, which PostgreSQL does not store, in an address or a JSON body. @throws {GatewayError} `invalid_request` */
export function rejectNullCharacters(text: string, where: "address" | "body"): void {
  if (!(where === "address" ? text.includes("%00") : nullInJson.test(text))) return;
  throw new GatewayError("invalid_request", `The ${where} has a null character (U+0000); remove it`);
}
