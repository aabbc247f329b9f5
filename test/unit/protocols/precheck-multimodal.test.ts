import { expect, test } from "bun:test";
import type { ChatRequest } from "modelgate/plugin";
import { precheckMultimodal } from "../../../src/protocols/multimodal.ts";
import { plainModel } from "../sdk/fake-call.ts";

const user = { role: "user" as const, content: "Hello" };
const tool = { type: "function" as const, function: { name: "f" } };
const call = { id: "a", type: "function" as const, function: { name: "f", arguments: "{}" } };
const asked = (request: Partial<ChatRequest>) => ({
  request: { model: "m", messages: [user], ...request },
  model: plainModel,
});

test.each<[string, Partial<ChatRequest>, boolean]>([
  ["text alone", {}, false],
  ["no tools", { tools: [], temperature: 1, stop: "a" }, false],
  ["parts", { messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }] }, true],
  ["tools", { tools: [tool] }, true],
  ["calls", { messages: [user, { role: "assistant", tool_calls: [call] }] }, true],
  ["a result", { messages: [user, { role: "tool", tool_call_id: "a", content: "1" }] }, true],
  ["a format", { response_format: { type: "json_object" } }, true],
  ["deprecated functions", { functions: [{ name: "f" }], response_format: { type: "json_object" } }, false],
  ["a deprecated result", { tools: [tool], messages: [user, { role: "function", name: "f", content: "1" }] }, false],
])("a request with %s is translated for a check: %p", (_, request, isTranslated) => {
  let times = 0;
  precheckMultimodal(() => times++)(asked(request));
  expect(times).toBe(isTranslated ? 1 : 0);
});
