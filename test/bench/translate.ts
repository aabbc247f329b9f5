import { builtIns } from "../../plugins/index.ts";
import type { Call, ChatChunk, ChatRequest } from "../../src/contract/index.ts";
import { StreamNormalizer } from "../../src/kernel/normalize/stream.ts";
import { UsageMeter } from "../../src/kernel/normalize/usage.ts";
import { readEvents } from "../../src/sdk/index.ts";

/** What one piece of a provider's stream costs from its bytes to ours, beside OpenAI's own, which is passed through. */
export interface Translation {
  provider: string;
  chunkUs: number;
  ratio: number;
}

const chunksPerStream = 100;
const words = Array.from({ length: chunksPerStream }, (_, index) => ` word ${index}`);
const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "x", system_fingerprint: "fp_1" };
const usage = { prompt_tokens: 9, completion_tokens: 100, total_tokens: 109 };
const choice = (delta: object, finish_reason: string | null) => [{ index: 0, delta, logprobs: null, finish_reason }];

const streams: Record<string, unknown[]> = {
  openai: [
    { ...head, choices: choice({ role: "assistant", content: "", refusal: null }, null) },
    ...words.map((content) => ({ ...head, choices: choice({ content }, null) })),
    { ...head, choices: choice({}, "stop") },
    { ...head, choices: [], usage },
  ],
  anthropic: [
    { type: "message_start", message: { id: "msg_1", content: [], usage: { input_tokens: 9, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...words.map((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 100 } },
    { type: "message_stop" },
  ],
  gemini: words.map((text, index) => ({
    candidates: [
      { content: { parts: [{ text }], role: "model" }, index: 0, ...(index === 99 && { finishReason: "STOP" }) },
    ],
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: index + 1, totalTokenCount: index + 10 },
    modelVersion: "x",
    responseId: "y",
  })),
};

/** Takes the providers in turn, and of each the fastest round: the others were held up by something else. */
export async function measureTranslation(rounds: number): Promise<Translation[]> {
  const best = new Map<string, number>();
  for (let round = 0; round <= rounds; round++) {
    for (const provider of Object.keys(streams)) {
      const us = await measureRound(provider, round === 0 ? 200 : 1000);
      if (round > 0) best.set(provider, Math.min(us, best.get(provider) ?? Number.POSITIVE_INFINITY));
    }
  }
  const base = best.get("openai") as number;
  return [...best].map(([provider, chunkUs]) => ({ provider, chunkUs, ratio: chunkUs / base }));
}

async function measureRound(provider: string, times: number): Promise<number> {
  const bytes = bytesOf(provider);
  const before = process.cpuUsage();
  for (let time = 0; time < times; time++) await translate(provider, bytes);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times / chunksPerStream;
}

/** From the provider's bytes to ours: its events, the plugin's chunks, the kernel's, and their JSON. */
async function translate(provider: string, bytes: Uint8Array<ArrayBuffer>[]): Promise<number> {
  const plugin = builtIns.find(({ name }) => name === provider);
  const model = plugin?.models.find(({ capability }) => capability === "chat");
  if (plugin?.handlers.chat === undefined || model === undefined) throw new Error(`No chat of ${provider}`);
  const request = { model: model.id, stream: true, messages: [{ role: "user", content: "Hello" }] } as ChatRequest;
  const upstream = { events: async () => readEvents(iterate(bytes)) } as unknown as Call<ChatRequest>["upstream"];
  const signal = new AbortController().signal;
  const call = { id: "req_1", request, model, signal, upstream, warn: () => undefined };
  const head = { id: "chatcmpl-1", created: 1, model: "x" };
  const normalizer = new StreamNormalizer(head, new UsageMeter(async () => ({})), false);
  let length = 0;
  for await (const raw of (await plugin.handlers.chat(call)) as AsyncIterable<ChatChunk>) {
    for (const chunk of normalizer.push(raw)) length += JSON.stringify(chunk).length;
  }
  if (!normalizer.finished) throw new Error(`The stream of ${provider} was not read to its end`);
  return length;
}

/** A stream as it comes over the wire, some events in a piece. */
function bytesOf(provider: string): Uint8Array<ArrayBuffer>[] {
  const texts = (streams[provider] ?? []).map((event) => {
    const name = provider === "anthropic" ? `event: ${(event as { type: string }).type}\n` : "";
    return `${name}data: ${JSON.stringify(event)}\n\n`;
  });
  if (provider === "openai") texts.push("data: [DONE]\n\n");
  const encoder = new TextEncoder();
  return Array.from({ length: Math.ceil(texts.length / 10) }, (_, index) =>
    encoder.encode(texts.slice(index * 10, index * 10 + 10).join("")),
  );
}

async function* iterate<T>(items: T[]): AsyncGenerator<T> {
  yield* items;
}
