import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { builtIns as plugins } from "../../plugins/index.ts";
import { type Capability, GatewayError, type ProviderPlugin } from "../../src/contract/index.ts";
import { type Order, Progress, serve } from "../../src/kernel/index.ts";
import { fetchOf } from "../kernel/fake-fetch.ts";
import { Sink } from "../kernel/streams.ts";
import { benchOf, caller } from "../kernel/support.ts";
import { anyJson, expectPrototypesClean, runs, thrownBy } from "../support/hostile.ts";
import { wavFile } from "../support/wav.ts";

/** The words of all providers' answers. */
const words = [
  ..."id object choices index message delta role content text type tool_calls function name arguments finish_reason".split(
    " ",
  ),
  ..."usage prompt_tokens completion_tokens total_tokens input_tokens output_tokens error code status data embedding".split(
    " ",
  ),
  ..."candidates parts functionCall args finishReason usageMetadata promptTokenCount candidatesTokenCount inlineData".split(
    " ",
  ),
  ..."message_start content_block_start content_block_delta text_delta input_json_delta partial_json message_delta".split(
    " ",
  ),
  ..."content_block tool_use thinking signature embeddings values audios transcript segments duration language b64_json".split(
    " ",
  ),
];
const answer = anyJson(...words);

const part = anyJson("a", "", "role", "content", "id", "function", "name", "arguments", "type", "stop", "text");
const toolCall = fc.record({ index: part, id: part, type: part, function: part }, { requiredKeys: [] });
const toolCalls = fc.oneof(part, fc.array(toolCall, { maxLength: 2 }));
const said = { role: part, content: part, refusal: part, reasoning_content: part, function_call: part };
const spoken = fc.oneof(part, fc.record({ ...said, tool_calls: toolCalls }, { requiredKeys: [] }));
const rest = { index: part, finish_reason: part, logprobs: part };
/** Answers and pieces of the most common form, each with something wrong somewhere. */
const completion = fc.record({
  choices: fc.array(fc.record({ ...rest, message: spoken }), { minLength: 1, maxLength: 2 }),
  usage: part,
});
const choice = fc.oneof(part, fc.record({ ...rest, delta: spoken }, { requiredKeys: [] }));
const chunk = fc.record({ choices: fc.array(choice, { maxLength: 3 }), usage: part });

const messages = [{ role: "user", content: "Hello" }];
const requests: Partial<Record<Capability, object>> = {
  chat: { messages },
  embed: { input: "Hello" },
  image: { prompt: "A kite", n: 1 },
  transcribe: { file: wavFile(1000), response_format: "json", timestamp_granularities: [] },
  speak: { input: "Hello" },
};
const cases = plugins.flatMap((plugin) =>
  [...new Set(plugin.models.map(({ capability }) => capability))].map(
    (capability) => [plugin.name, capability, plugin] as const,
  ),
);

/** Serves one request by a plugin whose provider answers so; what came of it in all its parts. */
async function outcomeOf(plugin: ProviderPlugin, capability: Capability, response: () => Response, stream = false) {
  const model = plugin.models.find((row) => row.capability === capability)?.id as string;
  const bench = benchOf([plugin], { fetch: fetchOf(response), credentials: { [plugin.name]: { keys: ["key-a"] } } });
  const request = { model, ...requests[capability], ...(stream && { stream: true }) };
  const outlet = stream || capability === "speak" ? { outlet: new Sink() } : {};
  const order = { capability, request, caller, progress: new Progress("call-1", bench.clock.now()), ...outlet };
  const error = await thrownBy(() => serve(bench.kernel, order as unknown as Order<Capability>));
  const unread = bench.log.lines.find(({ event }) => event === "plugin_failed" || event === "call_failed");
  return { error, unread, settlement: bench.ledger.settlement };
}

function expectSound({ error, unread, settlement }: Awaited<ReturnType<typeof outcomeOf>>): void {
  if (error !== undefined) expect(error).toBeInstanceOf(GatewayError);
  if (error instanceof GatewayError) expect(error.code).not.toBe("internal_error");
  // A plugin that fails in words of JavaScript has met what it did not foresee.
  expect(unread?.fields?.error).toBeUndefined();
  for (const amount of Object.values(settlement.meters)) {
    expect(amount === undefined || (Number.isSafeInteger(amount) && amount >= 0)).toBe(true);
  }
  expectPrototypesClean();
}

describe("whatever a provider says", () => {
  test.each(cases)(
    "%s' %s is answered or refused in our words, and never counts below nothing",
    async (_, capability, plugin) => {
      const property = fc.asyncProperty(
        fc.oneof(answer, completion),
        fc.constantFrom(200, 200, 200, 400, 500),
        async (body, status) => {
          const response = () =>
            new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
          expectSound(await outcomeOf(plugin, capability, response));
        },
      );
      await fc.assert(property, runs(60));
    },
  );

  const streaming = plugins
    .filter(({ models }) => models.some(({ capability }) => capability === "chat"))
    .map((plugin) => [plugin.name, plugin] as const);
  const good = { choices: [{ index: 0, delta: { role: "assistant", content: "Hello" } }] };
  const data = fc.oneof(answer, chunk, chunk, fc.constant(good)).map((value) => JSON.stringify(value));
  const name = fc.constantFrom("", "", "", "event: error\n", "event: message_start\n", "event: message_delta\n");
  const event = fc
    .tuple(name, fc.oneof(data, fc.constantFrom("[DONE]", "{", "")))
    .map(([named, text]) => `${named}data: ${text}\n\n`);

  test.each(streaming)("%s' events amount to the same, cut at any bytes", async (_, plugin) => {
    const property = fc.asyncProperty(
      fc.array(event, { maxLength: 6 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 40 })),
      async (events, sizes) => {
        const bytes = new TextEncoder().encode(events.join(""));
        const whole = await outcomeOf(plugin, "chat", () => sse([bytes]), true);
        const cut = await outcomeOf(plugin, "chat", () => sse(cutBy(bytes, sizes)), true);
        expectSound(whole);
        expectSound(cut);
        expect(String(cut.error)).toBe(String(whole.error));
        expect(cut.settlement.meters).toEqual(whole.settlement.meters);
      },
    );
    await fc.assert(property, runs(150));
  });
});

function* cutBy(bytes: Uint8Array, sizes: Iterator<number>): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; ) {
    const size = sizes.next().value as number;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

function sse(pieces: Iterable<Uint8Array>): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}
