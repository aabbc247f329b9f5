import { describe, expect, test } from "bun:test";
import { builtIns } from "../../../../plugins/index.ts";
import type { Model, ProviderPlugin } from "../../../../src/provider/index.ts";
import { createBench } from "../../kernel/support.ts";
import { httpOf } from "../support.ts";

/** A long number, which is read so that it keeps its digits. */
const long = "99999999999999999999";
const usage = { prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 };
const whole = (more: string) =>
  `{"id":"c","object":"chat.completion","created":1,"model":"u",${more},"usage":${JSON.stringify(usage)}}`;
const choiceWith = (more: string) =>
  `"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},${more}"finish_reason":"stop"}]`;

/** A model of a built-in provider, which answers so, and who asks for it. */
async function serve(
  { provider, answer, type = "application/json", status = 200, keys }: Served,
  client: string,
  body: string,
  change: Partial<Model> = {},
) {
  const plugin = builtIns.find(({ name }) => name === provider) as ProviderPlugin;
  const row = plugin.models.find(({ capability, retiredOn }) => capability === "chat" && retiredOn === undefined);
  const models = [{ ...(row as Model), id: "model-1", aliases: [], features: undefined, ...change } as Model];
  const plugins = [{ ...plugin, models }];
  let asked = 0;
  const fetch = async () => {
    asked++;
    return new Response(answer, { status, headers: { "content-type": type } });
  };
  const bench = createBench(plugins, { fetch, ...(keys && { credentials: { [provider]: { keys } } }) } as never);
  const { post } = httpOf(plugins, { ...bench, now: bench.clock.now } as never);
  const response = await post(client, body);
  const text = await response.text();
  return { status: response.status, text, asked: () => asked, bench, settlements: bench.ledger.settlements };
}

interface Served {
  provider: string;
  answer: string;
  type?: string;
  status?: number;
  keys?: string[];
}

const ask = '{"model":"model-1","messages":[{"role":"user","content":"hi"}]}';

describe("a Messages provider that reports the prompt at the beginning, and zeros in its place at the end", () => {
  const events = [
    {
      type: "message_start",
      message: {
        id: "m",
        type: "message",
        role: "assistant",
        model: "u",
        content: [],
        usage: { input_tokens: 1000, output_tokens: 1 },
      },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello" } },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 5 },
    },
    { type: "message_stop" },
  ];
  const answer = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

  test.each(["messages", "chat/completions"])("is owed that prompt by clients of /%s", async (client) => {
    const asked = '{"model":"model-1","stream":true,"max_tokens":50,"messages":[{"role":"user","content":"hi"}]}';
    const { settlements } = await serve({ provider: "anthropic", answer, type: "text/event-stream" }, client, asked);
    expect(settlements).toMatchObject([{ usageSource: "reported", meters: { inputToken: 1000, outputToken: 5 } }]);
  });
});

describe("a provider's number that is longer than numbers are", () => {
  test("is no figure of pages, and the answer is given out and charged", async () => {
    const price = { inputToken: { usd: "1", per: 1_000_000 }, outputToken: { usd: "1", per: 1_000_000 } };
    const change = { price: { ...price, page: { usd: "1", per: 1000 } }, pagesMax: 10, reasoning: false };
    const answer = whole(choiceWith("")).replace('"total_tokens"', `"pages":${long},"total_tokens"`);
    const { status, text, settlements } = await serve(
      { provider: "groq", answer },
      "chat/completions",
      ask,
      change as never,
    );
    expect([status, text.includes("Hello")]).toEqual([200, true]);
    expect(settlements).toMatchObject([{ outcome: "settled" }]);
  });
});

describe("log probabilities of another shape", () => {
  const shapes = ['{"content":[null]}', '{"content":[{"token":"x","logprob":-1,"top_logprobs":{}}]}', '{"content":{}}'];
  test.each(shapes)("%s do not break an answer to a client of /responses", async (shape) => {
    const answer = whole(choiceWith(`"logprobs":${shape},`));
    for (const stream of [false, true]) {
      const asked = `{"model":"model-1","input":"hi","stream":${stream},"include":["message.output_text.logprobs"]}`;
      const { status, text } = await serve({ provider: "groq", answer }, "responses", asked);
      expect([status, text.includes("Hello"), text.includes("internal_error")]).toEqual([200, true, false]);
    }
  });
});

describe("a tool whose type is no text", () => {
  test.each(['{"toString":1}', long])(
    "%s is the caller's mistake, or handed on, and no failure of the plugin",
    async (type) => {
      const answer =
        '{"id":"r","object":"response","created_at":1,"status":"completed","model":"u","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}],"usage":{"input_tokens":9,"output_tokens":9,"total_tokens":18}}';
      const tools = `[{"type":${type}}]`;
      const bodies = [
        `{"model":"model-1","input":[{"role":"user","content":"hi"},{"type":"additional_tools","tools":${tools}}]}`,
        `{"model":"model-1","input":"hi","tool_choice":{"type":"allowed_tools","mode":"auto","tools":${tools}}}`,
      ];
      const texts = await Promise.all(
        bodies.map(async (body) => (await serve({ provider: "openai", answer }, "responses", body)).text),
      );
      const text = texts.join("\n");
      expect(text).not.toContain("internal_error");
      expect(text).not.toContain("plugin");
    },
  );
});

describe("a prompt that a provider's moderation refuses with 403", () => {
  test.each([
    ["xai", '{"code":"permission-denied","error":"Content violates usage guidelines. "}'],
    ["openrouter", '{"error":{"code":403,"message":"The model requires moderation and your input was flagged"}}'],
  ])("(%s) is asked once, is the caller's, and pauses no key", async (provider, answer) => {
    const keys = ["key-aaaaaaaa", "key-bbbbbbbb"];
    const { status, asked, bench } = await serve({ provider, answer, status: 403, keys }, "chat/completions", ask, {
      endpoint: undefined,
    } as never);
    expect([status, asked()]).toEqual([400, 1]);
    const [route] = bench.kernel.registry.byName("model-1")?.routes ?? [];
    expect(route?.keys.statesAt(bench.clock.now()).join()).toBe("closed,closed");
  });
});
