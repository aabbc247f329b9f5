import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

const model = "mistral/ministral-3b-2512";
const beginning = '{"city":';
const rest = ' "Paris"}';
const user = { role: "user" as const, content: "Where is the Louvre? Answer in JSON." };
const begun = { role: "assistant" as const, content: beginning };
const usage = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 };

let sent: Record<string, unknown>[] = [];
let gateway: InProcessGateway;
let provider: Bun.Server<undefined>;
let anthropic: Anthropic;
let openai: OpenAI;

/** Mistral's answer to a marked beginning has that beginning in it. */
function answer(isStream: boolean): Response {
  const text = beginning + rest;
  const base = { id: "cmpl-1", model: "ministral-3b-2512", created: 1 };
  if (!isStream) {
    const choices = [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }];
    return Response.json({ ...base, object: "chat.completion", choices, usage });
  }
  const pieces = [text.slice(0, 3), text.slice(3, 10), text.slice(10)];
  const chunks = pieces.map((content) => ({
    ...base,
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
  }));
  const last = { ...base, choices: [{ index: 0, delta: { content: "" }, finish_reason: "stop" }], usage };
  const lines = [...chunks, last].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  return new Response(`${lines.join("")}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
}

beforeAll(async () => {
  provider = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const body = (await request.json()) as Record<string, unknown>;
      sent.push(body);
      return answer(body.stream === true);
    },
  });
  const env = { MISTRAL_API_KEY: "sk-upstream", MISTRAL_BASE_URL: `http://127.0.0.1:${provider.port}` };
  gateway = await startInProcess({ env });
  anthropic = new Anthropic({ baseURL: gateway.baseUrl.replace(/\/v1$/, ""), apiKey: gateway.key, maxRetries: 0 });
  openai = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(async () => {
  await gateway.stop();
  await provider.stop(true);
});

describe("an answer that the client began, from a model whose provider repeats the beginning", () => {
  test("is the rest alone for a client of Messages, whole and streamed", async () => {
    const body = { model, max_tokens: 50, messages: [user, begun] };
    const whole = await anthropic.messages.create(body);
    expect(whole.content).toMatchObject([{ type: "text", text: rest }]);
    const streamed = await anthropic.messages.stream(body).finalMessage();
    expect(streamed.content).toMatchObject([{ type: "text", text: rest }]);
  });

  test("is the rest alone for a client of chat completions, whole and streamed", async () => {
    sent = [];
    const whole = await openai.chat.completions.create({ model, messages: [user, begun] });
    expect(whole.choices[0]?.message.content).toBe(rest);
    const stream = openai.chat.completions.stream({ model, messages: [user, begun] });
    expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe(rest);
    const marked = { ...begun, prefix: true };
    expect(sent.map(({ messages }) => (messages as unknown[]).at(-1))).toEqual([marked, marked]);
  });

  test("is what Mistral says for a client that wrote Mistral's own mark", async () => {
    const marked = { ...begun, prefix: true };
    const { choices } = await openai.chat.completions.create({ model, messages: [user, marked] });
    expect(choices[0]?.message.content).toBe(beginning + rest);
  });
});
