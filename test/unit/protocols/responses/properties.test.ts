import { expect, test } from "bun:test";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import fc from "fast-check";
import { GatewayError } from "../../../../src/contract/index.ts";
import { ChatRequest } from "../../../../src/provider/index.ts";
import { anyJson, runs } from "../../../support/hostile.ts";
import { isRequest, translate } from "./support.ts";

const chatSchema = TypeCompiler.Compile(ChatRequest);

const json = anyJson("type", "text", "name", "id", "role", "input_text", "function", "call_1", "user");
const text = fc.string({ maxLength: 5 });
const name = fc.constantFrom("look", "see", "a__b", "b", "x".repeat(128));
const namespace = fc.constantFrom(undefined, null, "a", "mail");
const callId = fc.constantFrom("call_1", "call_2", "call_3");
const one = (type: string, fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> =>
  fc.record({ type: fc.constant(type), ...fields });

const part = fc.oneof(
  one("input_text", { text, prompt_cache_breakpoint: json }),
  one("output_text", { text }),
  one("refusal", { refusal: text }),
  one("input_image", { image_url: fc.option(text), detail: fc.constantFrom(null, "high", "original") }),
  one("input_file", { file_data: fc.option(text), filename: fc.option(text) }),
  fc.record({ type: text, text: json }),
);
const content = fc.oneof(text, fc.array(part, { maxLength: 3 }));
const role = fc.constantFrom("user", "assistant", "system", "developer");
const tool: fc.Arbitrary<object> = fc.oneof(
  one("function", { name, parameters: fc.constantFrom({}, null), strict: fc.constantFrom(true, null), extra: json }),
  one("custom", { name, description: fc.option(text), format: fc.constantFrom({ type: "grammar" }, null) }),
  one("namespace", {
    name: fc.constantFrom("a", "mail"),
    tools: fc.array(one("function", { name }), { minLength: 1 }),
  }),
  one("tool_search", { execution: fc.constantFrom("client", "server", null) }),
  fc.record({ type: text, name: json }),
);
const tools = fc.array(tool, { maxLength: 4 });
const call = fc.oneof(
  one("function_call", { call_id: callId, name, namespace, arguments: text }),
  one("custom_tool_call", { call_id: callId, name, namespace, input: text }),
  one("tool_search_call", { call_id: fc.option(callId), arguments: json }),
);
const output = fc.oneof(
  one("function_call_output", { call_id: callId, output: content }),
  one("custom_tool_call_output", { call_id: callId, output: content }),
  one("tool_search_output", { call_id: fc.option(callId), tools }),
);
const item: fc.Arbitrary<object> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constantFrom("message", undefined), role, content, extra: json }) },
  { weight: 3, arbitrary: call },
  { weight: 6, arbitrary: output },
  one("reasoning", { encrypted_content: fc.constantFrom(null, "x", 'sealed:{"text":"Hm"}'), summary: json }),
  fc.record({ id: text }),
  fc.record({ type: text, id: json }),
);
/** Calls that have their outputs, with messages between. */
const answered = fc
  .tuple(call, fc.array(item, { maxLength: 1 }), output, item)
  .map(([asked, between, result, last]) => {
    return [{ ...asked, call_id: "call_0" }, ...between, { ...result, call_id: "call_0" }, last];
  });
const choice = fc.oneof(
  fc.constantFrom("auto", "none", "required", null),
  one("function", { name }),
  one("allowed_tools", { mode: json, tools: fc.oneof(json, fc.array(tool, { maxLength: 2 })) }),
  fc.record({ type: text }),
);
const request = fc.record(
  {
    model: fc.constant("m"),
    input: fc.oneof(text, fc.array(item, { maxLength: 3 }), answered),
    instructions: fc.option(text),
    tools,
    tool_choice: choice,
    include: fc.array(text, { maxLength: 2 }),
    prompt: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, json),
    conversation: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, json),
    context_management: json,
    metadata: fc.constantFrom({ a: "b" }, null),
  },
  { requiredKeys: ["model", "input"] },
);

test("any request that passes the schema becomes a chat request, or is refused in our words", () => {
  let translated = 0;
  fc.assert(
    fc.property(request, (body) => {
      if (!isRequest(body)) return;
      try {
        const { chat } = translate(body);
        expect([...chatSchema.Errors(chat)].map(({ path, message }) => `${path} ${message}`)).toEqual([]);
        translated++;
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        expect([error.code, typeof error.param]).toEqual(["invalid_request", "string"]);
      }
    }),
    runs(2_000),
  );
  expect(translated).toBeGreaterThan(100);
});
