import { Elysia } from "elysia";
import { audioFileBytesMax, type Caller, GatewayError } from "../contract/index.ts";
import type { Authenticate } from "./ground.ts";

/** The largest JSON body, in bytes: a long conversation with several pictures. */
export const jsonBytesMax = 32 * 1024 * 1024;
/** The largest form: the largest audio file, and room for its other fields. */
export const formBytesMax = audioFileBytesMax + 1024 * 1024;

/** What parsing leaves on Elysia's context for `derive` to pick up. */
interface Parsed {
  caller?: Caller;
}

/**
 * Makes `caller` known to a route. A stranger is refused before the body is read: Elysia parses before it derives, so
 * the key is checked by the parser, and by `derive` only where there is no body.
 */
export function authenticated(authenticate: Authenticate) {
  return new Elysia()
    .onParse({ as: "scoped" }, async (context) => {
      const { request } = context;
      (context as Parsed).caller = await authenticate(tokenOf(request));
      return readBody(request, context.contentType);
    })
    .derive({ as: "scoped" }, async (context) => {
      const known = (context as Parsed).caller;
      return { caller: known === undefined ? await authenticate(tokenOf(context.request)) : known };
    });
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
