import { afterAll, describe, expect, test } from "bun:test";
import { UpstreamFault } from "../../../src/contract/index.ts";
import { BoundUpstream } from "../../../src/kernel/upstream.ts";
import type { Ask } from "../../../src/kernel/wire/ask.ts";
import { askByFetch } from "../../../src/kernel/wire/ask-by-fetch.ts";
import { WireClient } from "../../../src/kernel/wire/wire-client.ts";
import { fetchOf } from "../fake-fetch.ts";
import { benchOf, newProgress, pluginOf } from "../support.ts";
import { dials } from "./asking.ts";
import { answerOf, chunkedOf, type RawServer, startRaw } from "./raw-server.ts";

const plugin = pluginOf({ chat: () => Promise.reject(new Error("Not asked")) });
const { network, kernel } = benchOf([plugin], {
  fetch: fetchOf(),
  bounds: { streamBytesMax: 5000, answerBytesMax: 5000 },
});
const fetching = askByFetch(fetch);
const wires = dials.map(([name, dial]): [string, Ask] => [name, new WireClient({ dial }).ask]);

const json = ["content-type: application/json"];
const sse = ["content-type: text/event-stream"];
const refusal = '{"error":{"message":"Slow down","type":"requests","code":"rate_limit_exceeded"}}';
const wholeHead = (...lines: string[]) => `HTTP/1.1 200 OK\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`;

/** What a provider sends before it closes the connection. */
const answers: [string, string][] = [
  ["JSON", answerOf('{"fine":"é€😀"}', json)],
  ["JSON with a byte order mark", answerOf('\uFEFF{"fine":true}', json)],
  ["JSON in chunks", chunkedOf(['{"fi', 'ne":true}'])],
  ["JSON until the end", `${wholeHead(...json, "connection: close")}{"fine":true}`],
  ["JSON of HTTP/1.0", answerOf('{"fine":true}', json).replace("1.1", "1.0")],
  ["nothing", answerOf("", json)],
  ["no content", "HTTP/1.1 204 No Content\r\n\r\n"],
  ["half a JSON", answerOf('{"fine":', json)],
  ["HTML", answerOf("<html></html>", ["content-type: text/html"])],
  ["letters that are no UTF-8", answerOf('"\xff\xfe"', json)],
  ["events", answerOf("data: one\n\ndata: two\n\ndata: three", sse)],
  [
    "events in chunks",
    `${chunkedOf(["data: o", "ne\n\ndata: two\n", "\n"]).replace("\r\n\r\n", `\r\n${sse}\r\n\r\n`)}`,
  ],
  ["events that break off", `${wholeHead(...sse, "content-length: 100")}data: one\n\ndata: tw`],
  ["an answer too long", answerOf(`"${"x".repeat(5001)}"`, json)],
  ["a limit", answerOf(refusal, [...json, "retry-after: 7"], "429 Too Many Requests")],
  ["a limit without a word", answerOf("", ["retry-after-ms: 70"], "429 Too Many Requests")],
  ["an error of 100 kB", answerOf("x".repeat(100_000), [], "500 Internal Server Error")],
  ["a redirect", answerOf("", ["location: http://127.0.0.1:1/"], "302 Found")],
  ["an interim answer before it", `HTTP/1.1 100 Continue\r\n\r\n${answerOf('{"fine":true}', json)}`],
];

const methods = {
  json: (upstream: BoundUpstream) => upstream.json<unknown>("/chat", {}),
  async events(upstream: BoundUpstream) {
    const seen: unknown[] = [];
    for await (const event of await upstream.events("/chat", {})) seen.push(event);
    return seen;
  },
  async bytes(upstream: BoundUpstream) {
    const { mediaType, chunks } = await upstream.bytes("/chat", {});
    const pieces: Uint8Array[] = [];
    for await (const piece of chunks) pieces.push(piece);
    return [mediaType, Buffer.concat(pieces).toString("hex")];
  },
};

let server: RawServer;
afterAll(() => server.stop());

/** What a call comes to, in a form that can be compared. */
async function outcomeOf(ask: Ask, method: keyof typeof methods): Promise<unknown> {
  const route = { ...kernel.registry.byName("chat-1")?.routes[0], baseUrl: server.baseUrl } as ConstructorParameters<
    typeof BoundUpstream
  >[1];
  try {
    return { value: await methods[method](new BoundUpstream({ ...network, ask }, route, "a", newProgress())) };
  } catch (error) {
    if (!(error instanceof UpstreamFault)) throw error;
    const { kind, status, code, retryAfterMs, message } = error;
    // How a connection broke is said in more words by the one than by the other.
    return {
      kind,
      status,
      code,
      retryAfterMs,
      message: message.replace(/^The connection to the provider .*/, "broken"),
    };
  }
}

describe.each(answers)("%s", (_, answer) => {
  test.each(["json", "events", "bytes"] as const)(
    "comes to the same by fetch and by the wire client: %s",
    async (method) => {
      await server?.stop();
      server = await startRaw((socket) => socket.end(answer));
      const fetched = await outcomeOf(fetching, method);
      for (const [name, ask] of wires) expect([name, await outcomeOf(ask, method)]).toEqual([name, fetched]);
    },
  );
});
