/**
 * A provider in a process of its own, which outlives every gateway and keeps its own books: `bun provider.ts` prints its port.
 * `GET /books` returns how often each call was asked, `POST /manner` changes how it answers.
 */
import { completionOf, finishChunk, textChunk, usageChunk } from "../../support/chunks.ts";
import { manners, type ProviderManner, usageOf } from "./numbers.ts";

const asked = new Map<number, number>();
let manner: ProviderManner = "well";
/** Resolves when the manner changes. */
let changed = Promise.withResolvers<void>();

/** A call in five is a stream that lasts for seconds, so that faults meet streams which they did not see begin. */
const isLong = (number: number) => number % 5 === 0;
const answerMs = (number: number) => (number % 7) * 15;
const pieces = 8;
const gapMs = (number: number) => (isLong(number) ? 400 : 20);

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  // A stream that breaks off on purpose is no error to print.
  development: false,
  error: () => new Response(null, { status: 500 }),
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (pathname === "/books") return Response.json([...asked]);
    if (pathname === "/manner") {
      const wanted = await request.text();
      manner = manners.find((each) => each === wanted) ?? "well";
      changed.resolve();
      changed = Promise.withResolvers();
      return new Response();
    }
    const body = await request.text();
    const number = Number(/Call number (\d+)/.exec(body)?.[1]);
    asked.set(number, (asked.get(number) ?? 0) + 1);
    if (manner === "fails")
      return Response.json({ error: { message: "Out of order", type: "server_error" } }, { status: 500 });
    if (manner === "hangs") await changed.promise;
    await Bun.sleep(answerMs(number));
    if (!body.includes('"stream":true')) return Response.json(completionOf("Done", usageOf(number)));
    return new Response(streamOf(number), { headers: { "content-type": "text/event-stream" } });
  },
});

function streamOf(number: number): ReadableStream<string> {
  return new ReadableStream({
    async start(sink) {
      for (let piece = 0; piece < pieces; piece++) {
        sink.enqueue(event(textChunk("word ")));
        await Bun.sleep(gapMs(number));
        if (manner === "hangs") await changed.promise;
        if (manner === "cuts") return sink.error();
      }
      sink.enqueue(event(finishChunk()) + event(usageChunk(usageOf(number))));
      sink.enqueue("data: [DONE]\n\n");
      sink.close();
    },
  });
}

function event(payload: unknown): string {
  return `data: ${JSON.stringify(payload)}\n\n`;
}

process.stdout.write(`${server.port}\n`);
