/** A webhook on the loopback that keeps what it is sent. */
export async function startWebhook() {
  const requests: { headers: Record<string, string>; body: string }[] = [];
  let status = 200;
  // Its port may be one that a server of another test had: what its clients still send there is no request of this webhook.
  const path = `/services/T0/${crypto.randomUUID()}`;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      if (new URL(request.url).pathname !== path) return new Response(null, { status: 404 });
      requests.push({ headers: Object.fromEntries(request.headers), body: await request.text() });
      return new Response(null, { status });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}${path}`,
    requests,
    /** Answers with this status from now on. */
    answer: (value: number) => {
      status = value;
    },
    stop: () => server.stop(true),
  };
}
