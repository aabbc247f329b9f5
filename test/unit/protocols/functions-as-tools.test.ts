import { describe, expect, test } from "bun:test";
import { withFunctionsAsTools } from "../../../src/protocols/tools.ts";
import {
  type Call,
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type ChatStream,
  fromIterable,
} from "../../../src/provider/index.ts";
import { drain, fakeCall } from "../sdk/fake-call.ts";

const functions = [{ name: "f", parameters: { type: "object" } }];
const called = { name: "f", arguments: "{}" };
const messages: ChatRequest["messages"] = [{ role: "user", content: "Hi" }];

async function ask(request: Partial<ChatRequest>, answer: unknown = { choices: [] }) {
  let seen: ChatRequest | undefined;
  const chat = withFunctionsAsTools(async (call: Call<ChatRequest>) => {
    seen = call.request;
    return answer as ChatCompletion;
  });
  const { call } = fakeCall<ChatRequest>({ model: "m", messages, ...request });
  const result = await chat(call);
  return { seen: seen as ChatRequest, given: call.request, result };
}

describe("withFunctionsAsTools", () => {
  test("passes a request without functions as it is", async () => {
    const { seen, given } = await ask({ tools: [{ type: "function", function: { name: "f" } }] });
    expect(seen).toBe(given);
  });

  test.each<[string, ChatRequest["function_call"], object]>([
    ["no choice", null, {}],
    ["auto", "auto", { tool_choice: "auto" }],
    ["none", "none", { tool_choice: "none" }],
    ["a name", { name: "f" }, { tool_choice: { type: "function", function: { name: "f" } } }],
  ])("makes functions tools with %s", async (_, choice, expected) => {
    const { seen } = await ask({ functions, ...(choice !== undefined && { function_call: choice }) });
    const tools = [{ type: "function", function: functions[0] }];
    expect(seen).toEqual({ model: "m", messages, tools, parallel_tool_calls: false, ...expected } as never);
  });

  test("pairs each call of the conversation with its result", async () => {
    const turn: ChatRequest["messages"] = [
      { role: "assistant", content: null, function_call: called },
      { role: "function", name: "f", content: "1" },
    ];
    const { seen } = await ask({ functions, messages: [...messages, ...turn, ...turn] });
    expect(seen.messages.slice(1)).toEqual(
      [1, 2].flatMap((place) => [
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: `call_legacy_${place}`, type: "function", function: called }],
        },
        { role: "tool", name: "f", content: "1", tool_call_id: `call_legacy_${place}` },
      ]) as never,
    );
  });

  test("gives a call back as a function call", async () => {
    const message = { role: "assistant", content: null, tool_calls: [{ id: "1", type: "function", function: called }] };
    const { result } = await ask({ functions }, { choices: [{ index: 0, message, finish_reason: "tool_calls" }] });
    expect((result as ChatCompletion).choices[0] as unknown).toEqual({
      index: 0,
      message: { role: "assistant", content: null, function_call: called },
      finish_reason: "function_call",
    });
  });

  test("gives a streamed call back as a function call", async () => {
    async function* chunks(): AsyncGenerator<ChatChunk> {
      const piece = (text: string) => ({ index: 0, function: { arguments: text } });
      yield {
        choices: [
          {
            index: 0,
            delta: { tool_calls: [{ index: 0, id: "1", type: "function", function: { name: "f", arguments: "" } }] },
          },
        ],
      };
      yield { choices: [{ index: 0, delta: { tool_calls: [piece("{}")] } }] };
      yield { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] };
    }
    const { result } = await ask({ functions, stream: true }, fromIterable(chunks()));
    const { items } = await drain(result as ChatStream);
    expect(items.map(({ choices }) => choices[0]) as unknown[]).toEqual([
      { index: 0, delta: { function_call: { name: "f", arguments: "" } } },
      { index: 0, delta: { function_call: { arguments: "{}" } } },
      { index: 0, delta: {}, finish_reason: "function_call" },
    ]);
  });
});
