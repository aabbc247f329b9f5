/** A webhook on the loopback that keeps what it is sent. */
export async function startWebhook() {
  const requests: { headers: Record<string, string>; body: string }[] = [];
  let status = 200;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      requests.push({ headers: Object.fromEntries(request.headers), body: await request.text() });
      return new Response(null, { status });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/services/T0/secret`,
    requests,
    /** Answers with this status from now on. */
    answer: (value: number) => {
      status = value;
    },
    stop: () => server.stop(true),
  };
}
