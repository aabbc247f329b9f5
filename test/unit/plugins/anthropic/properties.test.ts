import { expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import fc from "fast-check";
import { GatewayError } from "../../../../src/contract/index.ts";
import { fromMessage, MessagesOutboundStream } from "../../../../src/protocols/messages/provider-stream.ts";
import type { Turn } from "../../../../src/protocols/messages/schema.ts";
import { ChatRequest } from "../../../../src/provider/index.ts";

import { streamOf } from "./stream-of.ts";
import { assemble, drain, eventsFrom, modelOf, plain, translated } from "./support.ts";

const name = fc.constantFrom("clock", "weather", "a.b:c");
const json = fc.oneof(fc.json(), fc.constantFrom("{}", "", '{"a":1}', "{"));
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 1 });
const url = fc.constantFrom(
  "data:image/png;base64,AAAA",
  "https://a.example/x.png",
  "http://a.example",
  "data:text/plain,a",
  "x",
);
const part = fc.oneof(
  fc.record({ type: fc.constant("text"), text: fc.string(), cache_control: maybe(fc.constant({ type: "ephemeral" })) }),
  fc.record({ type: fc.constant("image_url"), image_url: fc.record({ url }) }),
  fc.record({ type: fc.constant("refusal"), refusal: fc.string() }),
  fc.record({ type: fc.constant("input_audio"), input_audio: fc.constant({ data: "AA==", format: "wav" }) }),
  fc.record({ type: fc.constant("file"), file: fc.record({ file_data: maybe(url), filename: maybe(fc.string()) }) }),
);
const id = fc.constantFrom("a", "b", "a:b");
const call = fc.record({ id, type: fc.constant("function"), function: fc.record({ name, arguments: json }) });
const detail = fc.record({
  format: fc.constantFrom("anthropic-claude-v1", "x"),
  signature: maybe(fc.string()),
  text: maybe(fc.string()),
  data: maybe(fc.string()),
});
const message = fc.record({
  role: fc.constantFrom("system", "developer", "user", "user", "assistant", "assistant", "tool", "function"),
  content: fc.option(fc.oneof(fc.string(), fc.constant("Hi"), fc.array(part, { minLength: 1, maxLength: 3 }))),
  tool_calls: maybe(fc.array(call, { maxLength: 2 })),
  tool_call_id: maybe(id),
  name: maybe(name),
  function_call: maybe(fc.record({ name, arguments: json })),
  reasoning_details: maybe(fc.array(detail, { maxLength: 2 })),
});
const definition = fc.record({
  name,
  description: maybe(fc.string()),
  parameters: maybe(fc.object()),
  strict: maybe(fc.boolean()),
});
const choice = fc.oneof(
  fc.constantFrom("auto", "none", "required"),
  fc.record({ type: fc.constant("function"), function: fc.record({ name }) }),
  fc.record({
    type: fc.constant("allowed_tools"),
    allowed_tools: fc.oneof(
      fc.object(),
      fc.record({ mode: fc.constant("required"), tools: fc.array(fc.record({ function: fc.record({ name }) })) }),
    ),
  }),
);
const format = fc.oneof(
  fc.constantFrom({ type: "text" }, { type: "json_object" }),
  fc.record({
    type: fc.constant("json_schema"),
    json_schema: fc.record({ name: fc.constant("x"), schema: maybe(fc.object()) }),
  }),
);
const request = fc.record({
  model: fc.constant("m"),
  messages: fc.array(message, { minLength: 1, maxLength: 6 }),
  max_tokens: maybe(fc.integer({ min: 1, max: 100_000 })),
  temperature: maybe(fc.double({ min: 0, max: 2, noNaN: true })),
  top_p: maybe(fc.double({ min: 0, max: 1, noNaN: true })),
  stop: maybe(fc.oneof(fc.string(), fc.array(fc.string(), { maxLength: 4 }))),
  tools: maybe(fc.array(fc.record({ type: fc.constant("function"), function: definition }), { maxLength: 2 })),
  tool_choice: maybe(choice),
  functions: maybe(fc.array(definition, { maxLength: 2 })),
  function_call: maybe(fc.oneof(fc.constantFrom("auto", "none"), fc.record({ name }))),
  parallel_tool_calls: maybe(fc.boolean()),
  response_format: maybe(format),
  reasoning_effort: maybe(fc.constantFrom("none", "minimal", "low", "medium", "high", "xhigh", "max")),
});
const model = fc.constantFrom("famC-sonnet-4", "famC-haiku-4-5", "famC-opus-4-6", "unknown").map(modelOf);

test("every request that the schema takes is translated or refused by its field", () => {
  let translatedCount = 0;
  fc.assert(
    fc.property(request, model, (asked, row) => {
      const clean = JSON.parse(JSON.stringify(asked)) as ChatRequest;
      fc.pre(Value.Check(ChatRequest, clean));
      try {
        const { body } = translated(clean, row);
        expectSound(body);
        translatedCount++;
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        expect(error.code).toBe("invalid_request");
        expect(error.param).toBeString();
      }
    }),
    { numRuns: 2000, seed: 11 },
  );
  expect(translatedCount).toBeGreaterThan(200);
});

/** What the provider demands of every body. */
function expectSound(body: Record<string, unknown>): void {
  const turns = body.messages as Turn[];
  expect(turns.length).toBeGreaterThan(0);
  turns.forEach((turn, index) => {
    expect(turn.content.length).toBeGreaterThan(0);
    expect(turns[index + 1]?.role).not.toBe(turn.role);
    for (const block of turn.content) if (block.type === "text") expect(block.text?.trim()).not.toBe("");
    const calls = turn.content.filter(({ type }) => type === "tool_use").map((block) => block.id);
    const results = (turns[index + 1]?.content ?? []).slice(0, calls.length).map((block) => block.tool_use_id);
    expect(results.toSorted()).toEqual(calls.toSorted());
  });
  const thinking = body.thinking as { budget_tokens?: number } | undefined;
  if (thinking?.budget_tokens !== undefined) {
    expect(thinking.budget_tokens).toBeGreaterThanOrEqual(1024);
    expect(thinking.budget_tokens).toBeLessThan(body.max_tokens as number);
  }
  if (thinking !== undefined) {
    expect(["any", "tool"]).not.toContain((body.tool_choice as { type: string } | undefined)?.type as string);
    expect(body.temperature).toBeUndefined();
  }
  expect(body.temperature !== undefined && body.top_p !== undefined).toBe(false);
  if (body.tool_choice !== undefined) expect((body.tools as unknown[]).length).toBeGreaterThan(0);
}

const block = fc.oneof(
  fc.record({ type: fc.constant("text"), text: fc.oneof(fc.string(), fc.constant('```json\n{"a":[1]}\n```')) }),
  fc.record({ type: fc.constant("thinking"), thinking: fc.string(), signature: fc.string() }),
  fc.record({ type: fc.constant("redacted_thinking"), data: fc.string() }),
  fc.record({
    type: fc.constant("tool_use"),
    id: fc.uuid(),
    name: fc.constantFrom("clock", "json_answer"),
    input: fc.constantFrom({}, { a: '\\"ü' }),
  }),
);
const answer = fc.record({
  content: fc.uniqueArray(block, {
    maxLength: 5,
    comparator: (a, b) => a.type === "tool_use" && b.type === "tool_use" && a.name === b.name,
  }),
  stop_reason: fc.constantFrom("end_turn", "tool_use", "max_tokens", "refusal"),
  usage: fc.record({ input_tokens: fc.nat(), output_tokens: fc.nat() }),
});
const reading = fc.constantFrom(plain, { ...plain, fenced: true }, { ...plain, jsonTool: "json_answer" });

test("an answer says the same whole and streamed, however it is cut", async () => {
  const property = fc.asyncProperty(answer, reading, fc.nat(), async (said, how, seed) => {
    const completion = fromMessage(said, how, 0);
    const { chunks, error } = await drain(new MessagesOutboundStream(eventsFrom(streamOf(said, seed)), how));
    expect(error).toBeUndefined();
    const { message, finish, usage } = assemble(chunks);
    expect(message).toEqual(completion.choices[0]?.message as never);
    expect(finish).toBe(completion.choices[0]?.finish_reason ?? null);
    expect(usage).toEqual(completion.usage);
  });
  await fc.assert(property, { numRuns: 1000, seed: 12 });
});
