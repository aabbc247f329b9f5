import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { completionOf } from "../../support/chunks.ts";
import { jsonReply, type Reply } from "../../support/reply.ts";
import { until } from "../../support/until.ts";
import { type Bench, startBench } from "../replay/bench.ts";

/** Bun closes a connection on which anything arrives behind a request that has no answer yet. */
let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.stop());

const body = '{"model":"famA-4.1","messages":[{"role":"user","content":"Hello"}]}';
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const slow: Reply = { ...jsonReply(completionOf("Fine", usage)), slices: 20, fault: { kind: "drip", gapMs: 20 } };

/** Posts on a connection of its own; resolves to what came back until it closed. */
function post(act: (socket: Socket, request: string) => Promise<void>): Promise<string> {
  const { origin, key } = bench.gateway;
  const lines = ["POST /v1/chat/completions HTTP/1.1", "host: a", `authorization: Bearer ${key}`];
  const request = `${lines.join("\r\n")}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(new URL(origin).port), host: "127.0.0.1", allowHalfOpen: true });
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes;
    });
    socket.on("error", () => undefined);
    socket.on("end", () => socket.end());
    socket.on("close", () => resolve(text));
    socket.on("connect", () => act(socket, request).catch(reject));
  });
}

/** What arrives; `undefined`: the client ends its side. */
const early: [string, string | undefined][] = [
  ["a second request", "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n"],
  ["a line break", "\r\n"],
  ["the end of the client's side", undefined],
];

function send(socket: Socket, text: string, more: string | undefined): void {
  if (more === undefined) socket.end(text);
  else socket.write(text + more);
}

describe("behind a request that has no answer yet", () => {
  // An end is noticed only with the next event of the socket, when the provider may have been asked.
  test.each(early.slice(0, 2))(
    "%s, at once, ends the call: no provider is asked, and nothing is charged",
    async (_, more) => {
      const [asked, calls] = [bench.upstream.seen.length, bench.ledger.counts().calls];
      bench.upstream.answer("openai", slow);
      const text = await post(async (socket, request) => send(socket, request, more));
      await until(() => bench.ledger.counts().calls > calls);
      await bench.ledger.untilSettled();
      expect(text).not.toContain(" 200 ");
      expect(bench.upstream.seen.length).toBe(asked);
      expect(bench.ledger.latest()).toMatchObject({ state: "released", usage_source: "none", status: 499 });
    },
  );

  test.each(early)(
    "%s, once a provider is at work, closes the connection, and the call is charged",
    async (_, more) => {
      const asked = bench.upstream.seen.length;
      bench.upstream.answer("openai", slow);
      const text = await post(async (socket, request) => {
        socket.write(request);
        await until(() => bench.upstream.seen.length > asked);
        send(socket, "", more);
      });
      await bench.ledger.untilSettled();
      expect(text).not.toContain(" 200 ");
      expect(bench.ledger.latest()).toMatchObject({ state: "settled", usage_source: "reported", output_tokens: 2 });
    },
  );
});
