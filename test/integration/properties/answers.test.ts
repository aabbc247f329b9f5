import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { builtIns as plugins } from "../../../plugins/index.ts";
import { anyJson, runs } from "../../support/hostile.ts";
import { expectSound, outcomeOf, sse } from "./outcome.ts";

/** The words of all providers' answers. */
const words = [
  "id",
  "object",
  "choices",
  "index",
  "message",
  "delta",
  "role",
  "content",
  "text",
  "type",
  "tool_calls",
  "function",
  "name",
  "arguments",
  "finish_reason",
  "usage",
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "input_tokens",
  "output_tokens",
  "error",
  "code",
  "status",
  "data",
  "embedding",
  "candidates",
  "parts",
  "functionCall",
  "args",
  "finishReason",
  "usageMetadata",
  "promptTokenCount",
  "candidatesTokenCount",
  "inlineData",
  "message_start",
  "content_block_start",
  "content_block_delta",
  "text_delta",
  "input_json_delta",
  "partial_json",
  "message_delta",
  "content_block",
  "tool_use",
  "thinking",
  "signature",
  "embeddings",
  "values",
  "audios",
  "transcript",
  "segments",
  "duration",
  "language",
  "b64_json",
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

const cases = plugins.flatMap((plugin) =>
  [...new Set(plugin.models.map(({ capability }) => capability))].map(
    (capability) => [plugin.name, capability, plugin] as const,
  ),
);

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
      await fc.assert(property, runs(40, 1200));
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
    await fc.assert(property, runs(90, 3000));
  });
});

function* cutBy(bytes: Uint8Array, sizes: Iterator<number>): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; ) {
    const size = sizes.next().value as number;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}
