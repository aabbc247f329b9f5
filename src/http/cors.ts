import { Elysia } from "elysia";

/** How long a browser remembers what it may send, in seconds: as long as Chromium does at most. */
const preflightMaxAgeSeconds = 7200;

/**
 * Lets pages of these origins call the API from a browser, `*` those of any. They bring a key, and never a cookie: no
 * answer allows credentials, so nothing can be done with the session of whoever looks at such a page.
 */
export function cors(origins: readonly string[]) {
  if (origins.length === 0) return new Elysia();
  const isAny = origins.includes("*");
  const allow = (headers: Headers, { headers: asked }: Request): boolean => {
    const origin = asked.get("origin");
    if (!isAny) headers.set("vary", "origin");
    if (origin === null || !(isAny || origins.includes(origin))) return false;
    headers.set("access-control-allow-origin", isAny ? "*" : origin);
    return true;
  };
  const preflight = async ({ request }: { request: Request }) => {
    const headers = new Headers({ "cache-control": "no-store" });
    if (allow(headers, request)) {
      headers.set("access-control-allow-methods", "GET, POST");
      headers.set("access-control-max-age", String(preflightMaxAgeSeconds));
      const asked = request.headers.get("access-control-request-headers");
      if (asked !== null) headers.set("access-control-allow-headers", asked);
    }
    return new Response(null, { status: 204, headers });
  };
  return new Elysia()
    .mapResponse({ as: "scoped" }, ({ request, response }) => {
      if (!(response instanceof Response) || request.method === "OPTIONS") return;
      if (allow(response.headers, request)) response.headers.set("access-control-expose-headers", "*");
    })
    .options("/*", preflight, { detail: { hide: true } });
}
