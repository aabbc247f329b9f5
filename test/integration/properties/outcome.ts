import { expect } from "bun:test";
import { type Capability, GatewayError } from "../../../src/contract/index.ts";
import type { Model, ProviderPlugin } from "../../../src/provider/index.ts";
import { expectPrototypesClean, thrownBy } from "../../support/hostile.ts";
import { wavFile } from "../../support/wav.ts";
import { fetchOf } from "../../unit/kernel/fake-fetch.ts";
import { Sink } from "../../unit/kernel/streams.ts";
import { callOf, createBench, runCall } from "../../unit/kernel/support.ts";

const messages = [{ role: "user", content: "Hello" }];
const requests: Partial<Record<Capability, object>> = {
  chat: { messages },
  embeddings: { input: "Hello" },
  images: { prompt: "A kite", n: 1 },
  transcription: { file: wavFile(1000), response_format: "json", timestamp_granularities: [] },
  speech: { input: "Hello" },
  moderation: { input: "Hello" },
  rerank: { query: "Hello", documents: ["Hello", "Bye"] },
};

/** Serves one request by a plugin whose provider answers so; what came of it in all its parts. */
export async function outcomeOf(
  plugin: ProviderPlugin,
  capability: Capability,
  response: () => Response,
  stream = false,
) {
  const row = plugin.models.find((row) => row.capability === capability) as Model;
  // With the model that is asked alone: a kernel is made for each answer, and some providers have hundreds.
  const bench = createBench([{ ...plugin, models: [row] }], { fetch: fetchOf(response) });
  const request = { model: row.id, ...requests[capability], ...(stream && { stream: true }) };
  const sink = stream || capability === "speech" ? new Sink() : undefined;
  const error = await thrownBy(() => runCall(bench.kernel, callOf(capability, request as never, { sink })));
  const unread = bench.log.lines.find(({ event }) => event === "plugin_failed" || event === "call_failed");
  return { error, unread, settlement: bench.ledger.settlement };
}

/** It was answered, or refused in our words, and never counted below nothing. */
export function expectSound({ error, unread, settlement }: Awaited<ReturnType<typeof outcomeOf>>): void {
  if (error !== undefined) expect(error).toBeInstanceOf(GatewayError);
  if (error instanceof GatewayError) expect(error.code).not.toBe("internal_error");
  // A plugin that fails in words of JavaScript has met what it did not foresee.
  expect(unread?.fields?.error).toBeUndefined();
  for (const amount of Object.values(settlement.meters)) {
    expect(amount === undefined || (Number.isSafeInteger(amount) && amount >= 0)).toBe(true);
  }
  expectPrototypesClean();
}

/** An SSE answer in these pieces. */
export function sse(pieces: Iterable<Uint8Array>): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}
