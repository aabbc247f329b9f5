import { Elysia } from "elysia";
import { audioFileBytesMax, type Caller, GatewayError } from "../contract/index.ts";
import type { Authenticate } from "./ground.ts";

/** The largest JSON body, in bytes: a long conversation with several pictures. */
export const jsonBytesMax = 32 * 1024 * 1024;
/** The largest form: the largest audio file, and room for its other fields. */
export const formBytesMax = audioFileBytesMax + 1024 * 1024;

/** Whose key each request on its way carries. Elysia's context would do, but touching it whole makes Elysia fill all of it. */
const callers = new WeakMap<Request, Caller>();

/**
 * Refuses a stranger before the body is read: Elysia parses first of all, so the key is checked by the parser, and by
 * {@link callerOf} only where there is no body.
 */
export function authenticated(authenticate: Authenticate) {
  return new Elysia().onParse({ as: "scoped" }, async ({ request, contentType }) => {
    callers.set(request, await authenticate(tokenOf(request)));
    return readBody(request, contentType);
  });
}

/** Who sent a request. @throws {GatewayError} `invalid_api_key` */
export async function callerOf(request: Request, authenticate: Authenticate): Promise<Caller> {
  return callers.get(request) ?? (await authenticate(tokenOf(request)));
}

/** Who sent a request whose body was parsed already; `undefined` when it did not come that far. */
export function knownCaller(request: Request): Caller | undefined {
  return callers.get(request);
}

/** The key of `Authorization: Bearer …`. */
function tokenOf(request: Request): string {
  const header = request.headers.get("authorization");
  if (header === null) {
    const sentence = "No API key was sent: put it in the header 'Authorization: Bearer sk-mg-…'";
    throw new GatewayError("invalid_api_key", sentence);
  }
  if (header.length > 512 || !/^bearer /i.test(header)) {
    throw new GatewayError("invalid_api_key", "The Authorization header is not 'Bearer ' and an API key");
  }
  return header.slice(7).trim();
}

async function readBody(request: Request, contentType: string): Promise<unknown> {
  const isForm = contentType === "multipart/form-data";
  const bytesMax = isForm ? formBytesMax : jsonBytesMax;
  const length = request.headers.get("content-length");
  if (length !== null && Number(length) > bytesMax) throw tooLarge(bytesMax);
  if (isForm) return readForm(request);
  const text = await request.text();
  if (text.length > bytesMax) throw tooLarge(bytesMax);
  if (text === "") throw new GatewayError("invalid_request", "The body is empty, but a JSON object was expected");
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it is malformed";
    throw new GatewayError("invalid_request", `Cannot read the body as JSON: ${reason}`, { cause: error });
  }
}

async function readForm(request: Request): Promise<FormData> {
  try {
    return await request.formData();
  } catch (error) {
    throw new GatewayError("invalid_request", "Cannot read the body as multipart/form-data", { cause: error });
  }
}

function tooLarge(bytesMax: number): GatewayError {
  return new GatewayError("payload_too_large", `The body is larger than ${bytesMax} bytes, the most taken here`);
}
