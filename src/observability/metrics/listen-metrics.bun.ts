import { createHash, timingSafeEqual } from "node:crypto";

/** Serves scrapes. */
export interface MetricsEndpoint {
  isAllowed(authorization: string | null): boolean;
  scrape(): Promise<Response>;
}

/** Serves `/metrics` on a port of its own. */
export function listenMetrics(endpoint: MetricsEndpoint, { hostname, port }: { hostname: string; port: number }) {
  const server = Bun.serve({
    hostname,
    port,
    // A second gateway on a shared port would get half of the scrapes.
    reusePort: false,
    development: false,
    async fetch(request) {
      // With an invalid Host header the URL is only a path.
      if (URL.parse(request.url, "http://metrics")?.pathname !== "/metrics")
        return new Response("Not found: only /metrics is served here\n", { status: 404 });
      if (request.method !== "GET" && request.method !== "HEAD") {
        return new Response("Method not allowed: use GET\n", { status: 405, headers: { allow: "GET, HEAD" } });
      }
      if (!endpoint.isAllowed(request.headers.get("authorization"))) {
        const headers = { "www-authenticate": "Bearer" };
        return new Response("Send METRICS_TOKEN: 'Authorization: Bearer …'\n", { status: 401, headers });
      }
      return await endpoint.scrape();
    },
  });
  return { port: server.port ?? port, close: () => server.stop(true) };
}

/** Checks the `authorization` header of scrapes; without a token everybody may read. */
export function createBearerAuth(token: string | undefined): (authorization: string | null) => boolean {
  if (token === undefined) return () => true;
  const expected = hash(`bearer ${token}`);
  return (authorization) => {
    if (authorization === null || authorization.length > 512) return false;
    const credentials = `${authorization.slice(0, 7).toLowerCase()}${authorization.slice(7).trim()}`;
    return timingSafeEqual(hash(credentials), expected);
  };
}

/** Hashes have the same length for every token, which a constant-time comparison needs. */
function hash(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
