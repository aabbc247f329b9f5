import { expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import fc from "fast-check";
import { GatewayError } from "../../../../src/contract/index.ts";
import { countInputTokens, refuseOtherProtocols } from "../../../../src/protocols/messages/inbound.ts";
import { MessagesRequest } from "../../../../src/protocols/messages/schema.ts";
import { getToolResults } from "../../../../src/protocols/tools.ts";
import { ChatRequest } from "../../../../src/provider/index.ts";
import { rounds } from "../../../support/long.ts";
import { sign, translated } from "./support.ts";

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 3 });
const rarely = (value: fc.Arbitrary<unknown>) => fc.oneof({ weight: 9, arbitrary: value }, fc.jsonValue());
const id = fc.constantFrom("a", "b");
const name = fc.constantFrom("look", "go", "x".repeat(80), "x".repeat(129));
const text = fc.record({ type: fc.constant("text"), text: rarely(fc.string()), cache_control: maybe(fc.object()) });
const source = fc.oneof(
  fc.record({ type: fc.constant("base64"), media_type: fc.constant("image/png"), data: fc.constant("AAAA") }),
  fc.record({ type: fc.constant("url"), url: fc.constant("https://a.example/b.png") }),
  fc.record({ type: fc.constantFrom("text", "content", "file"), data: maybe(fc.string()), content: fc.jsonValue() }),
);
const thought = fc.record({
  type: fc.constantFrom("thinking", "redacted_thinking"),
  thinking: fc.constantFrom("Hm", ""),
  data: maybe(fc.string()),
  signature: fc.constantFrom("", "EqQB", "mg1.", "mg1.AAAA", sign("Hm", "shown"), sign("Hm", "omitted")),
});
const block = fc.oneof(
  { weight: 4, arbitrary: text },
  fc.record({ type: fc.constantFrom("image", "document"), source: rarely(source), title: maybe(fc.string()) }),
  { weight: 3, arbitrary: fc.record({ type: fc.constant("tool_use"), id, name, input: rarely(fc.object()) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("tool_result"),
      tool_use_id: id,
      content: maybe(fc.oneof(fc.string(), fc.array(rarely(text), { maxLength: 2 }))),
      is_error: maybe(fc.boolean()),
    }),
  },
  thought,
  fc.record({
    type: fc.constantFrom("server_tool_use", "web_fetch_tool_result", "tool_removal", "search_result", "hologram", ""),
    tool: fc.jsonValue(),
    content: fc.jsonValue(),
  }),
);
const turn = fc.record({
  role: fc.constantFrom("user", "assistant", "assistant", "user", "system", "tool"),
  content: fc.oneof(fc.string(), fc.array(block, { maxLength: 3 })),
});
/** A call and its result, so that some conversations are whole. */
const toolTurn = id.map((used) => [
  { role: "assistant", content: [{ type: "tool_use", id: used, name: "look", input: {} }] },
  { role: "user", content: [{ type: "tool_result", tool_use_id: used, content: "mild" }] },
]);
const request = fc.record({
  model: fc.constant("m"),
  max_tokens: fc.integer({ min: 1, max: 200_000 }),
  messages: fc
    .array(
      fc.oneof(
        turn.map((one) => [one]),
        toolTurn,
      ),
      { minLength: 1, maxLength: 4 },
    )
    .map((all) => all.flat()),
  system: maybe(fc.oneof(fc.string(), fc.array(text, { maxLength: 2 }))),
  tools: maybe(
    fc.array(fc.record({ name, type: maybe(fc.constantFrom("custom", "bash_1")), input_schema: rarely(fc.object()) })),
  ),
  tool_choice: maybe(fc.record({ type: fc.constantFrom("auto", "any", "tool", "none", "x"), name: maybe(name) })),
  thinking: maybe(
    fc.record({ type: fc.constantFrom("enabled", "adaptive", "disabled"), budget_tokens: maybe(fc.nat()) }),
  ),
  output_config: maybe(
    fc.record({
      effort: fc.constantFrom("low", "max", "x"),
      format: maybe(fc.constant({ type: "json_schema", schema: {} })),
    }),
  ),
  cache_control: maybe(fc.constant({ type: "ephemeral" })),
  stop_sequences: maybe(fc.array(fc.string(), { maxLength: 4 })),
});

const tries = rounds(800, 20_000);

test("every request that the schema takes is translated to a sound one, or refused by its field", async () => {
  let translatedCount = 0;
  const property = fc.asyncProperty(request, async (asked) => {
    const body = JSON.parse(JSON.stringify(asked)) as MessagesRequest;
    fc.pre(Value.Check(MessagesRequest, body));
    expect((await countInputTokens(body, async ({ length }) => length)).input_tokens).toBeGreaterThan(0);
    try {
      const { request: chat } = translated(structuredClone(body));
      expect([...Value.Errors(ChatRequest, chat)]).toEqual([]);
      expect(chat.messages.length).toBeGreaterThan(0);
      for (const [index, { role }] of chat.messages.entries())
        if (role === "assistant") getToolResults(chat.messages, index);
      translatedCount++;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      expect({ code: error.code, message: error.message.startsWith(`${error.param}: `) }).toEqual({
        code: "invalid_request",
        message: true,
      });
    }
  });
  await fc.assert(property, { numRuns: tries, seed: 31 });
  expect(translatedCount).toBeGreaterThan(tries / 10);
});

test("no body makes the check for other protocols fail in another way", () => {
  const property = fc.property(fc.jsonValue(), fc.jsonValue(), (messages, tools) => {
    for (const body of [messages, { messages, tools }]) {
      try {
        refuseOtherProtocols(body);
      } catch (error) {
        expect(error).toBeInstanceOf(GatewayError);
      }
    }
  });
  fc.assert(property, { numRuns: 500, seed: 32 });
});
