import { GatewayError } from "../contract/index.ts";
import { isRecord, parseJson } from "../lib/json.ts";
import { isPlaceholderEmail } from "../tenants/index.ts";

/** The name of the cookie that a signed-in browser sends. */
export const sessionCookie = "session";

/** The origin that better-auth sees. The real origin of a request is checked before it reaches better-auth. */
export const authOrigin = "http://modelgate.invalid";

/** The base path of better-auth. */
export const authPrefix = "/api/auth/";

const bodyLengthMax = 16_384;

/** The request for better-auth, with its own body instead of the client's. */
export function toAuthRequest(request: Request, path: string, body: unknown): Request {
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

/** Reads a JSON object; an empty body is an empty object. @throws {GatewayError} `invalid_request` or `payload_too_large` */
export async function readBody(request: Request): Promise<Record<string, unknown>> {
  const text = await request.text();
  if (text.length > bodyLengthMax) {
    throw new GatewayError("payload_too_large", `The body is larger than the limit of ${bodyLengthMax} characters`);
  }
  if (text === "") return {};
  const value = parseJson(text, "document");
  if (isRecord(value)) return value;
  throw new GatewayError("invalid_request", "The body is not a JSON object");
}

export function missing(param: string): GatewayError {
  return new GatewayError("invalid_request", `${param} is missing: expected a string`, { param });
}

const codes = { 400: "invalid_request", 401: "invalid_session", 403: "forbidden", 404: "not_found" } as const;

/** Removes tokens from a response of better-auth. @throws {GatewayError} For an error response. */
export async function toCleanResponse(response: Response): Promise<Response> {
  const text = await response.text();
  const body = text === "" ? null : (JSON.parse(text) as Record<string, unknown> | null);
  if (!response.ok) {
    const code = codes[response.status as 400] ?? (response.status < 500 ? "invalid_request" : "internal_error");
    const publicCode = typeof body?.code === "string" ? body.code.toLowerCase() : code;
    throw new GatewayError(code, typeof body?.message === "string" ? body.message : "The request was refused", {
      publicCode,
    });
  }
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  return new Response(
    JSON.stringify(body, (name, value) => (name === "token" || isPlaceholderEmail(value) ? undefined : value)),
    { headers },
  );
}

/** The page that shows why a sign-in failed. */
export function failedSignInUrl(code: string): string {
  return `/#sign-in-error=${encodeURIComponent(code)}`;
}

/** Redirects back to the page after an OIDC sign-in, with a session or an error code. */
export function redirectToPage(response: Response): Response {
  const location = response.headers.get("location");
  const target = location === null ? undefined : new URL(location, authOrigin);
  const headers = new Headers();
  for (const cookie of response.headers.getSetCookie()) headers.append("set-cookie", cookie);
  const errorCode = target === undefined ? "invalid_answer" : target.searchParams.get("error");
  headers.set("location", errorCode === null ? "/" : failedSignInUrl(errorCode));
  return new Response(null, { status: 302, headers });
}
