export type ResponseHeaders = Record<string, string>;

/** Keeps browsers from guessing the media type. */
export const nosniff = { "x-content-type-options": "nosniff" };

const common = { ...nosniff, "referrer-policy": "no-referrer" };
const data = {
  ...common,
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};
const transport = { "strict-transport-security": "max-age=31536000" };

/** For data and errors: not cached, not framed, nothing executed. */
export function dataHeaders(request: Request): ResponseHeaders {
  return isSecure(request) ? { ...data, ...transport } : data;
}

/** For pages and their assets, with the content security policy of the page. */
export function pageHeaders(request: Request, policy: string): ResponseHeaders {
  const headers = { ...common, "content-security-policy": policy };
  return isSecure(request) ? { ...headers, ...transport } : headers;
}

/** Whether the client uses TLS, also where a proxy terminates it. */
export function isSecure(request: Request): boolean {
  const proto = request.headers.get("x-forwarded-proto");
  return proto === "https" || (proto === null && request.url.startsWith("https:"));
}
