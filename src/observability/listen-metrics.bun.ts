/** What a scraper meets. */
export interface MetricsListener {
  isAllowed(authorization: string | null): boolean;
  scrape(): Promise<Response>;
}

/** Serves `/metrics` on a port of its own. Returns the port and what closes it. */
export function listenMetrics(door: MetricsListener, { hostname, port }: { hostname: string; port: number }) {
  const server = Bun.serve({
    hostname,
    port,
    // Bun shares no port unless asked to; a second gateway here would get half of the scrapes.
    reusePort: false,
    development: false,
    async fetch(request) {
      // A Host header that is none leaves no whole address to read.
      if (URL.parse(request.url, "http://metrics")?.pathname !== "/metrics")
        return new Response("There is only /metrics here\n", { status: 404 });
      if (request.method !== "GET" && request.method !== "HEAD") {
        return new Response("/metrics takes GET\n", { status: 405, headers: { allow: "GET, HEAD" } });
      }
      if (!door.isAllowed(request.headers.get("authorization"))) {
        const headers = { "www-authenticate": "Bearer" };
        return new Response("Send METRICS_TOKEN: 'Authorization: Bearer …'\n", { status: 401, headers });
      }
      return await door.scrape();
    },
  });
  return { port: server.port ?? port, close: () => server.stop(true) };
}
