import { expect, test } from "bun:test";
import { builtIns } from "../../../plugins/index.ts";
import { costNanodollars, type Meters } from "../../../src/contract/index.ts";
import type { ChatChunk } from "../../../src/provider/index.ts";
import { Sink } from "../kernel/streams.ts";
import { chatCall, createBench, runCall } from "../kernel/support.ts";

/** A call of a model whose provider gives this answer, and what it was asked. */
async function callOf(plugin: string, request: Record<string, unknown>, answer: () => Response) {
  const sent: Record<string, unknown>[] = [];
  const fetch = async (_: string, { body }: RequestInit) => {
    sent.push(JSON.parse(String(body)));
    return answer();
  };
  const bench = createBench(
    builtIns.filter(({ name }) => name === plugin),
    { fetch },
  );
  const sink = new Sink<ChatChunk>();
  const call = chatCall(request, request.stream === true ? { sink: sink as unknown as Sink<never> } : {});
  const completion = await runCall(bench.kernel, call);
  const usage = completion?.usage ?? sink.pieces.at(-1)?.usage;
  return { ...bench, call, usage, sent: sent[0] as Record<string, unknown> };
}

const details = { prompt_tokens_details: { cached_tokens: 60 } };
const openAiAnswer = {
  choices: [{ index: 0, message: { role: "assistant", content: "Yes" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105, ...details },
};
const claudeUsage = {
  input_tokens: 10,
  cache_read_input_tokens: 20,
  cache_creation_input_tokens: 70,
  cache_creation: { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 40 },
  output_tokens: 5,
};
const claudeAnswer = { content: [{ type: "text", text: "Yes" }], stop_reason: "end_turn", usage: claudeUsage };
const geminiAnswer = {
  candidates: [{ content: { parts: [{ text: "Yes" }] }, finishReason: "STOP" }],
  usageMetadata: { promptTokenCount: 100, cachedContentTokenCount: 60, candidatesTokenCount: 5, totalTokenCount: 105 },
};

test.each<[string, string, object, Meters]>([
  ["openai", "famA-4.1", openAiAnswer, { inputToken: 40, cacheReadToken: 60, outputToken: 5 }],
  ["groq", "famA/oss-120b", openAiAnswer, { inputToken: 40, cacheReadToken: 60, outputToken: 5 }],
  ["gemini", "famB-2.5-pro", geminiAnswer, { inputToken: 40, cacheReadToken: 60, outputToken: 5 }],
  [
    "anthropic",
    "famC-sonnet-4-6",
    claudeAnswer,
    { inputToken: 10, cacheReadToken: 20, cacheWriteToken: 30, cacheWrite1hToken: 40, outputToken: 5 },
  ],
])("the ledger has the cached tokens that %s reports", async (plugin, model, answer, meters) => {
  const { ledger, usage } = await callOf(plugin, { model }, () => Response.json(answer));
  expect(ledger.settlement).toMatchObject({ usageSource: "reported", meters });
  expect(ledger.settlement.meters).toEqual(meters);
  expect(usage).toMatchObject({ prompt_tokens: 100, completion_tokens: 5 });
});

const audio = (tokenCount: unknown) => [
  { modality: "TEXT", tokenCount: 1 },
  { modality: "AUDIO", tokenCount },
];

test.each<[string, object, Meters]>([
  [
    "as it divides the prompt",
    { promptTokensDetails: audio(50), cacheTokensDetails: audio(20) },
    { inputToken: 10, audioInputToken: 30, cacheReadToken: 40, audioCacheReadToken: 20 },
  ],
  [
    "at most as many as there are, where it divides the prompt wrongly",
    { promptTokensDetails: audio(900), cacheTokensDetails: audio(800) },
    { inputToken: 0, audioInputToken: 40, audioCacheReadToken: 60 },
  ],
  [
    "as text where it says nothing usable of it",
    { promptTokensDetails: [...audio(-5), ...audio("many"), null], cacheTokensDetails: "none" },
    { inputToken: 40, cacheReadToken: 60 },
  ],
])("the ledger has the tokens of sound that Gemini reports, %s", async (_, details, meters) => {
  const usageMetadata = { ...geminiAnswer.usageMetadata, ...details };
  const answer = { ...geminiAnswer, usageMetadata };
  const { ledger } = await callOf("gemini", { model: "famB-2.5-pro" }, () => Response.json(answer));
  expect(ledger.settlement.meters).toEqual({ ...meters, outputToken: 5 });
});

const hour = { type: "ephemeral", ttl: "1h" };

test("a streamed prompt that Claude keeps for an hour is held, charged and shown as such", async () => {
  const events = [
    { type: "message_start", message: { usage: { ...claudeUsage, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "Yes" } },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ];
  const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const messages = [{ role: "user", content: [{ type: "text", text: "x".repeat(100), cache_control: hour }] }];
  const request = { model: "famC-sonnet-4-6", messages, stream: true, stream_options: { include_usage: true } };
  const { ledger, usage, sent, call } = await callOf("anthropic", request, () => {
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  expect(sent.messages).toMatchObject([{ content: [{ cache_control: hour }] }]);
  expect(usage?.prompt_tokens_details).toEqual({
    cached_tokens: 20,
    cache_write_tokens: 70,
    cache_write_1h_tokens: 40,
  });
  const { meters, costNanodollars: cost = Number.NaN } = ledger.settlement;
  // 10 × $3 + 20 × $0.30 + 30 × $3.75 + 40 × $6 + 5 × $15 a million.
  expect([cost, meters.cacheWrite1hToken]).toEqual([463_500, 40]);
  expect(costNanodollars(call.run?.modelEntry.compiledPrice as never, { cacheWrite1hToken: 100 })).toBe(600_000);
  expect(ledger.claims[0]?.holdNanodollars).toBeGreaterThanOrEqual(106 * 6000);
});

test("prompt_cache_key reaches OpenAI, and not a provider that refuses it", async () => {
  const request = { prompt_cache_key: "session-1" };
  const openai = await callOf("openai", { model: "famA-4.1", ...request }, () => Response.json(openAiAnswer));
  const groq = await callOf("groq", { model: "famA/oss-120b", ...request }, () => Response.json(openAiAnswer));
  expect([openai.sent.prompt_cache_key, groq.sent.prompt_cache_key]).toEqual(["session-1", undefined]);
});

test("a model that has a price for each request is held and charged for it beside its tokens", async () => {
  const { ledger } = await callOf("perplexity", { model: "perplexity/sonar", max_tokens: 10 }, () =>
    Response.json({ ...openAiAnswer, usage: { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105 } }),
  );
  const { meters, costNanodollars: cost } = ledger.settlement;
  expect(meters).toEqual({ inputToken: 100, outputToken: 5, call: 1 });
  // 105 tokens at $1 a million, and $5 for a thousand requests.
  expect(cost).toBe(105_000 + 5_000_000);
  expect(ledger.claims[0]?.holdNanodollars).toBeGreaterThanOrEqual(5_000_000);
});
