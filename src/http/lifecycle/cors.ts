import { Elysia } from "elysia";

/** How long a browser may cache a preflight; Chromium's maximum. */
const preflightMaxAgeSeconds = 7200;

/**
 * Lets pages of these origins (`*`: of any) call the API with a key. No response allows credentials, so such a page cannot
 * use the session cookie of its visitor.
 */
export function cors(origins: readonly string[]) {
  if (origins.length === 0) return new Elysia();
  const preflight = async ({ request }: { request: Request }) => {
    const headers = new Headers({ "cache-control": "no-store" });
    if (allow(origins, headers, request)) {
      headers.set("access-control-allow-methods", "GET, POST, DELETE");
      headers.set("access-control-max-age", String(preflightMaxAgeSeconds));
      const asked = request.headers.get("access-control-request-headers");
      if (asked !== null) headers.set("access-control-allow-headers", asked);
    }
    return new Response(null, { status: 204, headers });
  };
  return new Elysia()
    .mapResponse({ as: "scoped" }, ({ request, response }) => {
      if (response instanceof Response) exposeResponse(origins, response, request);
    })
    .options("/*", preflight, { detail: { hide: true } });
}

/** Lets the page that sent the request read its response. */
export function exposeResponse(origins: readonly string[], response: Response, request: Request): Response {
  const isRead = origins.length > 0 && request.method !== "OPTIONS" && allow(origins, response.headers, request);
  if (isRead) response.headers.set("access-control-expose-headers", "*");
  return response;
}

function allow(origins: readonly string[], headers: Headers, { headers: asked }: Request): boolean {
  const isAny = origins.includes("*");
  const origin = asked.get("origin");
  if (!isAny) headers.set("vary", "origin");
  if (origin === null || !(isAny || origins.includes(origin))) return false;
  headers.set("access-control-allow-origin", isAny ? "*" : origin);
  return true;
}
