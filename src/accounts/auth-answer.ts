import { GatewayError } from "../contract/index.ts";
import { authOrigin } from "./auth-request.ts";
import { isPlaceholderEmail } from "./sign-in-address.ts";

const codes = { 400: "invalid_request", 401: "invalid_session", 403: "forbidden", 404: "not_found" } as const;

/** An answer of better-auth without tokens, or the refusal it is. @throws {GatewayError} */
export async function clean(response: Response): Promise<Response> {
  const text = await response.text();
  const body = text === "" ? null : (JSON.parse(text) as Record<string, unknown> | null);
  if (!response.ok) {
    const code = codes[response.status as 400] ?? (response.status < 500 ? "invalid_request" : "internal_error");
    const shownCode = typeof body?.code === "string" ? body.code.toLowerCase() : code;
    throw new GatewayError(code, typeof body?.message === "string" ? body.message : "This cannot be done", {
      shownCode,
    });
  }
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  return new Response(
    JSON.stringify(body, (name, value) => (name === "token" || isPlaceholderEmail(value) ? undefined : value)),
    { headers },
  );
}

/** Where the page says why nobody is signed in. */
export function failedSignIn(code: string): string {
  return `/#sign-in-error=${encodeURIComponent(code)}`;
}

/** The end of a sign-in elsewhere: back to the page, with a session or the code of what went wrong. */
export function backToPage(response: Response): Response {
  const location = response.headers.get("location");
  const to = location === null ? undefined : new URL(location, authOrigin);
  const headers = new Headers();
  for (const cookie of response.headers.getSetCookie()) headers.append("set-cookie", cookie);
  const wrong = to === undefined ? "invalid_answer" : to.searchParams.get("error");
  headers.set("location", wrong === null ? "/" : failedSignIn(wrong));
  return new Response(null, { status: 302, headers });
}
