import { expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { claude, gpt, type Seen, startNative } from "../../integration/native/fixture.ts";

const usage = { input_tokens: 11, output_tokens: 4 };
const head = { id: "msg_1", type: "message", role: "assistant", model: "m", stop_sequence: null, usage };
const chatHead = { id: "chatcmpl-1", object: "chat.completion", created: 1, model: "m" };
const chatUsage = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };

const isOfTools = ({ body: { messages } }: Seen) => JSON.stringify(messages).includes("12 degrees");

/** Calls the tool once, and says what it heard. */
function answerOf(seen: Seen): Response {
  const isEnd = isOfTools(seen);
  if (seen.path.startsWith("/anthropic")) {
    const content = isEnd
      ? [{ type: "text", text: "It is cold" }]
      : [{ type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Oslo" } }];
    return Response.json({ ...head, content, stop_reason: isEnd ? "end_turn" : "tool_use" });
  }
  const call = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } };
  const message = isEnd
    ? { role: "assistant", content: "It is cold" }
    : { role: "assistant", content: null, tool_calls: [call] };
  const choices = [{ index: 0, message, finish_reason: isEnd ? "stop" : "tool_calls" }];
  return Response.json({ ...chatHead, choices, usage: chatUsage });
}

test.each([claude, gpt])("the tool runner of Anthropic's SDK, which uses threads, ends with %s", async (model) => {
  const { gateway, seen, stop } = await startNative(answerOf);
  const asked: unknown[] = [];
  const ignored: (string | null)[] = [];
  try {
    const client = new Anthropic({
      baseURL: gateway.baseUrl.replace(/\/v1$/, ""),
      apiKey: gateway.key,
      maxRetries: 0,
      fetch: async (url, init) => {
        asked.push(JSON.parse(init?.body as string).thread?.type);
        const response = await fetch(url, init);
        ignored.push(response.headers.get("x-modelgate-ignored"));
        return response;
      },
    });
    const weather = {
      name: "weather",
      description: "Says the weather",
      input_schema: { type: "object" as const, properties: { city: { type: "string" } } },
      type: "custom" as const,
      run: async () => "12 degrees",
      parse: (input: unknown) => input,
    };
    const answer = await client.beta.messages.toolRunner({
      model,
      max_tokens: 100,
      tools: [weather],
      messages: [{ role: "user", content: "Is it cold in Oslo?" }],
    });
    expect(answer.content).toMatchObject([{ type: "text", text: "It is cold" }]);
    expect(asked).toEqual(["create", "continue", "create"]);
    expect(ignored).toEqual(["thread", null, "thread"]);
    expect(seen).toHaveLength(2);
    for (const { body, headers } of seen) {
      expect(body).not.toHaveProperty("thread");
      expect(headers["anthropic-beta"] ?? "").not.toContain("message-threads");
    }
  } finally {
    await stop();
  }
});
