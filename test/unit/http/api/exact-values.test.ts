import { describe, expect, test } from "bun:test";
import { builtIns } from "../../../../plugins/index.ts";
import type { ProviderPlugin } from "../../../../src/provider/index.ts";
import { createBench } from "../../kernel/support.ts";
import { httpOf } from "../support.ts";

/** An object that the values of the language cannot hold: a whole number beyond 2^53, and names that are numbers among others. */
const input = '{"order_id":2512292042121000001,"10":"a","2":"b","deep":[{"max":9223372036854775807}]}';
const quoted = JSON.stringify(input);

const asks = {
  chat: `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":${quoted}}}]},{"role":"tool","tool_call_id":"call_1","content":"ok"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"n":{"type":"integer","maximum":9223372036854775807}}}}}]`,
  messages: `{"max_tokens":50,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":${input}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]}],"tools":[{"name":"f","input_schema":{"type":"object","properties":{"n":{"type":"integer","maximum":9223372036854775807}}}}]`,
  responses: `{"input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"call_1","name":"f","arguments":${quoted}},{"type":"function_call_output","call_id":"call_1","output":"ok"}],"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{"n":{"type":"integer","maximum":9223372036854775807}}}}]`,
};
const paths = { chat: "chat/completions", messages: "messages", responses: "responses" };

const answers = {
  chat: `{"id":"c","object":"chat.completion","created":1,"model":"u","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_2","type":"function","function":{"name":"f","arguments":${quoted}}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`,
  messages: `{"id":"m","type":"message","role":"assistant","model":"u","content":[{"type":"tool_use","id":"toolu_2","name":"f","input":${input}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":9}}`,
  responses: `{"id":"r","object":"response","created_at":1,"status":"completed","model":"u","output":[{"type":"function_call","id":"fc_2","status":"completed","call_id":"call_2","name":"f","arguments":${quoted}}],"usage":{"input_tokens":9,"output_tokens":9,"total_tokens":18}}`,
  gemini: `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f","args":${input}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":9,"totalTokenCount":18}}`,
};

/** A text without the escapes of a text within it. */
const plain = (text: string) => text.replaceAll("\\", "");

async function serve(client: keyof typeof asks, provider: string, answer: string, id?: string) {
  const plugin = builtIns.find(({ name }) => name === provider) as ProviderPlugin;
  const row = plugin.models.find(
    (one) => one.capability === "chat" && one.retiredOn === undefined && (id === undefined || one.id === id),
  );
  const model = {
    ...row,
    id: "model-1",
    aliases: [],
    features: undefined,
  } as unknown as (typeof plugin.models)[number];
  const sent: string[] = [];
  const bench = createBench([{ ...plugin, models: [model] }], {
    fetch: async (_, init) => {
      sent.push(init.body as string);
      return new Response(answer, { headers: { "content-type": "application/json" } });
    },
  });
  const { post } = httpOf([{ ...plugin, models: [model] }], { ...bench, now: bench.clock.now });
  const response = await post(paths[client], `${asks[client]},"model":"model-1"}`);
  const text = await response.text();
  expect([response.status, text]).toEqual([200, text]);
  return { sent: plain(sent[0] ?? ""), text: plain(text) };
}

describe("whole numbers beyond 2^53 and the order of names that are numbers", () => {
  test.each([
    ["messages", "anthropic", answers.messages],
    ["messages", "groq", answers.chat],
    ["messages", "gemini", answers.gemini],
    ["chat", "anthropic", answers.messages],
    ["chat", "groq", answers.chat],
    ["chat", "gemini", answers.gemini],
    ["responses", "anthropic", answers.messages],
    ["responses", "groq", answers.chat],
    ["responses", "openai", answers.responses],
  ] as const)("reach provider and client as they are: %s by %s", async (client, provider, answer) => {
    const { sent, text } = await serve(client, provider, answer);
    expect(sent).toContain(input);
    expect(sent).toMatch(/"maximum":"?9223372036854775807/);
    expect(text).toContain(input);
    expect(sent + text).not.toContain("rawJSON");
  });
});
