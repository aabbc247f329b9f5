/** The barest proxy that Bun can be: what modelgate is measured against. It checks nothing and changes nothing. */
import { announce } from "./parent.ts";

/** The provider, such as `https://127.0.0.1:40000`. */
const origin = process.argv[2] as string;
const json = { "content-type": "application/json" };

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[3] ?? 0),
  idleTimeout: 60,
  async fetch(request) {
    const body = await request.text();
    const { pathname } = new URL(request.url);
    const answer = await fetch(origin + pathname, { method: "POST", body, headers: json });
    const mediaType = answer.headers.get("content-type") as string;
    if (mediaType === "application/json") return new Response(await answer.text(), { headers: json });
    return new Response(answer.body, { headers: { "content-type": mediaType } });
  },
});
announce(server.port as number);
