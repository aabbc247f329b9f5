import type { ResponseHeaders } from "./headers.ts";

/** A browser takes an answer for what it says it is, and for nothing else. */
export const nosniff = { "x-content-type-options": "nosniff" };

const ofAll = { ...nosniff, "referrer-policy": "no-referrer" };
const ofData = {
  ...ofAll,
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};
const transport = { "strict-transport-security": "max-age=31536000" };

/** For answers that tell of an account, or of a failure: no page, kept nowhere, framed by nobody. */
export function dataHeaders(request: Request): ResponseHeaders {
  return isSecure(request) ? { ...ofData, ...transport } : ofData;
}

/** For pages and what they load, with the policy of the page. */
export function pageHeaders(request: Request, policy: string): ResponseHeaders {
  const headers = { ...ofAll, "content-security-policy": policy };
  return isSecure(request) ? { ...headers, ...transport } : headers;
}

/** Whether the client came by TLS, also where a proxy ends it. */
export function isSecure(request: Request): boolean {
  const proto = request.headers.get("x-forwarded-proto");
  return proto === "https" || (proto === null && request.url.startsWith("https:"));
}
