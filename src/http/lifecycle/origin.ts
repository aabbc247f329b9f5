import { GatewayError } from "../../contract/index.ts";

/**
 * The URL of a request. It contains the `Host` header, which the client can set to any text.
 *
 * @throws {GatewayError} `invalid_request`
 */
export function parseUrl(request: Request): URL {
  const url = URL.parse(request.url);
  if (url !== null) return url;
  throw invalidHost();
}

/**
 * The path of an endpoint below `/v1`: one path per endpoint, whichever base path the client used.
 *
 * @param basePath The other path of the API; empty: it is served at the root, too.
 *
 * @example
 * toApiPath("/api/v1/chat/completions", "/api/v1"); // => "/v1/chat/completions"
 */
export function toApiPath(pathname: string, basePath: string): string {
  if (basePath !== "" && pathname.startsWith(`${basePath}/`)) return `/v1${pathname.slice(basePath.length)}`;
  return basePath !== "" || pathname.startsWith("/v1/") ? pathname : `/v1${pathname}`;
}

export function invalidHost(): GatewayError {
  return new GatewayError("invalid_request", "The header Host is missing or is not a host name with a port");
}

/** The origin as the client knows it, also behind a proxy that terminates TLS. @throws {GatewayError} as {@link parseUrl} */
export function clientOrigin(request: Request): string {
  const url = parseUrl(request);
  const proto = request.headers.get("x-forwarded-proto");
  if (proto === "https" || proto === "http") url.protocol = `${proto}:`;
  return url.origin;
}

/**
 * Refuses requests that another site makes a browser send (CSRF). Browsers send `Origin` with every writing request; one
 * with a cookie and without it is refused too.
 *
 * @throws {GatewayError} `forbidden`
 */
export function checkOrigin(request: Request): void {
  if (request.method === "GET" || request.method === "HEAD") return;
  const origin = request.headers.get("origin");
  if (origin === null && !request.headers.has("cookie")) return;
  if (origin !== null && URL.canParse(origin) && new URL(origin).host === parseUrl(request).host) return;
  const from = origin === null ? "has no Origin header" : `comes from ${origin}`;
  throw new GatewayError("forbidden", `This request ${from}, and only pages of this gateway may send it`);
}
