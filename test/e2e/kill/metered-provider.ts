import { completionOf, finishChunk, textChunk, usageChunk } from "../../support/chunks.ts";
import { randomBelow } from "../../support/random.ts";

/** A provider on loopback that keeps its own books: what it was asked and what it answered. */
export interface MeteredProvider {
  baseUrl: string;
  /** By the number that a call carries: how often it was asked. */
  readonly asked: ReadonlyMap<number, number>;
  stop(): Promise<void>;
}

/** What the provider bills for the call of this number; the input names the call, in its records and in ours. */
export function usageOf(number: number): { prompt_tokens: number; completion_tokens: number; total_tokens: number } {
  const completion = 1 + (number % 7);
  return { prompt_tokens: number, completion_tokens: completion, total_tokens: number + completion };
}

/** What a client says so that the provider knows which call it is. */
export const questionOf = (number: number) => `Call number ${number}`;

const delayMsMax = 12;

/** Starts one. It takes a few milliseconds for an answer, as a random number says, so that calls are under way. */
export function startMeteredProvider(seed: number): MeteredProvider {
  const asked = new Map<number, number>();
  const below = randomBelow(seed);
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const body = await request.text();
      const number = Number(/Call number (\d+)/.exec(body)?.[1]);
      asked.set(number, (asked.get(number) ?? 0) + 1);
      await Bun.sleep(below(delayMsMax));
      if (!body.includes('"stream":true')) return Response.json(completionOf("Done", usageOf(number)));
      return new Response(streamOf(number, below(delayMsMax) / 3), {
        headers: { "content-type": "text/event-stream" },
      });
    },
  });
  return { baseUrl: `http://127.0.0.1:${server.port}/v1`, asked, stop: () => server.stop(true) };
}

function streamOf(number: number, gapMs: number): ReadableStream<string> {
  return new ReadableStream({
    async start(sink) {
      for (const text of ["It ", "is ", "done"]) {
        sink.enqueue(event(textChunk(text)));
        await Bun.sleep(gapMs);
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
