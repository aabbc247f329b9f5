import { GatewayError } from "../contract/index.ts";

/** The name of the cookie that a signed-in browser sends. */
export const sessionCookie = "session";

/** What better-auth is told that its origin is. Where a request truly comes from is checked before it gets there. */
export const authOrigin = "http://modelgate.invalid";

/** Where better-auth stands. */
export const authPrefix = "/api/auth/";

const bodyLengthMax = 16_384;

/** A body as better-auth is handed it, in the place of the one that came. */
export function requestOf(request: Request, path: string, body: unknown): Request {
  const headers = new Headers(request.headers);
  headers.delete("content-length");
  headers.set("content-type", "application/json");
  headers.set("origin", authOrigin);
  return new Request(new URL(`${authPrefix}${path}`, request.url), {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
}

/** A JSON object; an empty body is an empty one. @throws {GatewayError} `invalid_request` or `payload_too_large` */
export async function readBody(request: Request): Promise<Record<string, unknown>> {
  const text = await request.text();
  if (text.length > bodyLengthMax) {
    throw new GatewayError(
      "payload_too_large",
      `The body is larger than ${bodyLengthMax} characters, the most taken here`,
    );
  }
  if (text === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Told below, as any other body that is no object.
  }
  throw new GatewayError("invalid_request", "The body is not a JSON object");
}

export function missing(param: string): GatewayError {
  return new GatewayError("invalid_request", `${param} is missing, but a string was expected`, { param });
}
