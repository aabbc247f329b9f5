import { GatewayError } from "../contract/index.ts";

/** The origin as the client knows it, also behind a proxy that terminates TLS. */
export function originOf(request: Request): string {
  const url = new URL(request.url);
  const proto = request.headers.get("x-forwarded-proto");
  if (proto === "https" || proto === "http") url.protocol = `${proto}:`;
  return url.origin;
}

/**
 * Refuses what another site has a browser send. A browser says where a request comes from in all but reading ones; what
 * has a cookie and does not say it is refused too.
 *
 * @throws {GatewayError} `forbidden`
 */
export function checkOrigin(request: Request): void {
  if (request.method === "GET" || request.method === "HEAD") return;
  const origin = request.headers.get("origin");
  if (origin === null && !request.headers.has("cookie")) return;
  if (origin !== null && URL.canParse(origin) && new URL(origin).host === new URL(request.url).host) return;
  const from = origin === null ? "does not say where it comes from (header Origin)" : `comes from ${origin}`;
  throw new GatewayError("forbidden", `This request ${from}, and only pages of this gateway may send it`);
}
