import { expect, test } from "bun:test";
import { gpt, startNative, streamOf } from "./fixture.ts";

test("parallel calls announced before their arguments reach POST /responses whole, and are paid", async () => {
  const chunk = (calls: object[], finish_reason: string | null = null) => ({
    id: "chatcmpl-1",
    created: 1,
    model: "backup-model",
    choices: [{ index: 0, delta: { tool_calls: calls }, finish_reason }],
  });
  const chunks = [
    chunk([{ index: 0, id: "call_Qm4vT9xZ", type: "function", function: { name: "look", arguments: "" } }]),
    chunk([{ index: 1, id: "call_b8RkW2nD", type: "function", function: { name: "look", arguments: "" } }]),
    chunk([{ index: 0, function: { arguments: '{"at":' } }]),
    chunk([{ index: 1, function: { arguments: '{"at":' } }]),
    chunk([{ index: 0, function: { arguments: "1}" } }]),
    chunk([{ index: 1, function: { arguments: "2}" } }], "tool_calls"),
    { ...chunk([]), choices: [], usage: { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 } },
  ];
  const text = `${chunks.map((value) => `data: ${JSON.stringify(value)}\n\n`).join("")}data: [DONE]\n\n`;
  const { ask, stop } = await startNative(() => streamOf(text), { backup: "first" });
  try {
    const tools = [{ type: "function", name: "look", parameters: { type: "object" }, strict: false }];
    const response = await ask("/responses", { model: gpt, input: "Hi", tools, stream: true });
    const events = [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(([, data]) =>
      JSON.parse(data as string),
    );
    expect(events.at(-1)).toMatchObject({
      type: "response.completed",
      response: {
        output: [
          { type: "function_call", call_id: "call_Qm4vT9xZ", arguments: '{"at":1}' },
          { type: "function_call", call_id: "call_b8RkW2nD", arguments: '{"at":2}' },
        ],
      },
    });
  } finally {
    await stop();
  }
});
