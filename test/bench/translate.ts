import { builtIns } from "../../plugins/index.ts";
import type { Caller } from "../../src/contract/index.ts";
import { openPassthrough, sendPassthrough } from "../../src/kernel/capabilities/passthrough.ts";
import {
  type ChatSink,
  ClientCall as GatewayCall,
  type Kernel,
  ModelRun,
  Passthrough,
} from "../../src/kernel/index.ts";
import { StreamNormalizer } from "../../src/kernel/normalize/answer.ts";
import { boundPrompt } from "../../src/kernel/normalize/prompt-bounds.ts";
import { UsageMeter } from "../../src/kernel/normalize/usage-meter.ts";
import { type BatchReader, pump, StreamReader } from "../../src/kernel/streaming.ts";
import { SseParser } from "../../src/lib/sse.ts";
import { formatEvents } from "../../src/protocols/inbound.ts";
import { MessagesStream } from "../../src/protocols/messages/client-stream.ts";
import * as messagesInbound from "../../src/protocols/messages/inbound.ts";
import { messagesFormat } from "../../src/protocols/messages/passthrough.ts";
import { createReasoningEnvelope } from "../../src/protocols/reasoning.ts";
import { createResponseHead, ResponseStream } from "../../src/protocols/responses/client-stream.ts";
import * as responsesInbound from "../../src/protocols/responses/inbound.ts";
import { responsesFormat } from "../../src/protocols/responses/passthrough.ts";
import type { ResponsesRequest } from "../../src/protocols/responses/schema.ts";
import type {
  Call,
  ChatChunk,
  ChatRequest,
  ChatStream,
  Model,
  ProviderPlugin,
  ServerEvent,
} from "../../src/provider/index.ts";

/** What one piece of a provider's stream costs from its bytes to ours, beside OpenAI's own, which is passed through. */
export interface Translation {
  provider: string;
  chunkUs: number;
  ratio: number;
}

const formats = { messages: messagesFormat, responses: responsesFormat };
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

const nativeStreams: Record<string, { handler: "responses" | "messages"; events: Record<string, unknown>[] }> = {
  openai: {
    handler: "responses",
    events: [
      { type: "response.created", sequence_number: 0, response: { id: "resp_1", model: "x", status: "in_progress" } },
      ...words.map((delta, index) => ({
        type: "response.output_text.delta",
        sequence_number: index + 1,
        item_id: "msg_1",
        output_index: 0,
        content_index: 0,
        delta,
        logprobs: [],
        obfuscation: "abcdefgh",
      })),
      {
        type: "response.completed",
        sequence_number: 101,
        response: {
          id: "resp_1",
          model: "x",
          status: "completed",
          output: [],
          usage: { input_tokens: 9, output_tokens: 100 },
        },
      },
    ],
  },
  anthropic: { handler: "messages", events: streams.anthropic as Record<string, unknown>[] },
};

/** The same for the native way: what one event costs that is handed on as it came. */
export async function measureNative(rounds: number): Promise<Translation[]> {
  const [base] = await measureTranslation(rounds);
  if (base === undefined) throw new Error("Nothing was measured");
  const results: Translation[] = [];
  for (const [provider, { handler, events }] of Object.entries(nativeStreams)) {
    const bytes = piecesOf(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`));
    let chunkUs = Number.POSITIVE_INFINITY;
    for (let round = 0; round <= rounds; round++) {
      const times = round === 0 ? 200 : 1000;
      const before = process.cpuUsage();
      for (let time = 0; time < times; time++) await handOn(provider, handler, bytes);
      const { user, system } = process.cpuUsage(before);
      if (round > 0) chunkUs = Math.min(chunkUs, (user + system) / times / chunksPerStream);
    }
    results.push({ provider: `${provider} ${handler}`, chunkUs, ratio: chunkUs / base.chunkUs });
  }
  return results;
}

/** What a request of about 300 kB costs before it is sent natively: its translation, its bound and the body itself. */
export async function measureLargeRequest(times: number): Promise<Record<string, number>> {
  const text = "Some words of a file that an agent has read. ".repeat(45);
  const turns = Array.from({ length: 75 }, (_, index) => ({ role: index % 2 === 0 ? "user" : "assistant", text }));
  const messages = turns.map(({ role }) => ({ role, content: [{ type: "text", text: text + text }] }));
  const input = turns.map(({ role }) => ({
    type: "message",
    role,
    content: [{ type: role === "user" ? "input_text" : "output_text", text: text + text }],
  }));
  const bodies = { messages: { model: "x", max_tokens: 9000, messages }, responses: { model: "x", input } };
  const envelope = createReasoningEnvelope(new Uint8Array(32), "a");
  const milliseconds: Record<string, number> = { bytes: JSON.stringify(bodies.messages).length };
  for (const protocol of ["messages", "responses"] as const) {
    const provider = protocol === "messages" ? "anthropic" : "openai";
    const plugin = builtIns.find(({ name }) => name === provider);
    const model = plugin?.models.find(({ capability }) => capability === "chat") as Model;
    const json = async (_: string, body: unknown) => ({ content: [], output: [], length: JSON.stringify(body).length });
    const upstream = { json } as unknown as Call<ChatRequest>["upstream"];
    const call = { id: "req_1", model, signal: new AbortController().signal, upstream, warn: () => undefined };
    const prepare = async () => {
      const body = bodies[protocol];
      const native = new Passthrough({ format: formats[protocol], body }, {}, 8);
      const request =
        protocol === "messages"
          ? messagesInbound.fromMessagesRequest(bodies.messages, { envelope, warn: () => undefined }).request
          : responsesInbound.fromResponsesRequest(bodies.responses as ResponsesRequest, { envelope, stored: false })
              .chat;
      boundPrompt(native.body, formats[protocol].prompt, model);
      await plugin?.handlers[protocol]?.({
        ...call,
        request: { body: native.toBody({ request, model, warn: () => undefined }, 0), headers: {} },
      });
    };
    for (let time = 0; time < 20; time++) await prepare();
    const before = process.cpuUsage();
    for (let time = 0; time < times; time++) await prepare();
    const { user, system } = process.cpuUsage(before);
    milliseconds[protocol] = (user + system) / times / 1000;
  }
  return milliseconds;
}

type Write = (chunk: ChatChunk) => string;

/** How a stream of chat goes out in each protocol. */
const writers: Record<string, () => Write> = {
  chat: () => (chunk) => JSON.stringify(chunk),
  responses() {
    const envelope = createReasoningEnvelope(new Uint8Array(32), "a");
    const { plan } = responsesInbound.fromResponsesRequest({ model: "x", input: "Hello" }, { envelope, stored: false });
    const stream = new ResponseStream(
      plan,
      createResponseHead("x", () => 1),
    );
    return (chunk) => formatEvents(stream.push(chunk));
  },
  messages() {
    const envelope = createReasoningEnvelope(new Uint8Array(32), "a");
    const body = { model: "x", max_tokens: 9000, messages: [{ role: "user", content: "Hello" }] };
    const { plan } = messagesInbound.fromMessagesRequest(body, { envelope, warn: () => undefined });
    const stream = new MessagesStream(plan);
    return (chunk) => formatEvents(stream.push(chunk));
  },
};

/** Takes the streams in turn, and of each the fastest round: the others were held up by something else. */
export async function measureTranslation(rounds: number): Promise<Translation[]> {
  const best = new Map<string, number>();
  const names = [...Object.keys(streams), "openai to responses", "openai to messages"];
  for (let round = 0; round <= rounds; round++) {
    for (const provider of names) {
      const us = await measureRound(provider, round === 0 ? 200 : 1000);
      if (round > 0) best.set(provider, Math.min(us, best.get(provider) ?? Number.POSITIVE_INFINITY));
    }
  }
  const base = best.get("openai") as number;
  return [...best].map(([provider, chunkUs]) => ({ provider, chunkUs, ratio: chunkUs / base }));
}

async function measureRound(name: string, times: number): Promise<number> {
  const [provider = "", protocol = "chat"] = name.split(" to ");
  const bytes = bytesOf(provider);
  const before = process.cpuUsage();
  for (let time = 0; time < times; time++) await translate(provider, bytes, writers[protocol]?.() as Write);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times / chunksPerStream;
}

/** From the provider's bytes to ours: its events, the plugin's chunks, the kernel's, and their JSON. */
async function translate(provider: string, bytes: Uint8Array<ArrayBuffer>[], write: Write): Promise<number> {
  const plugin = builtIns.find(({ name }) => name === provider);
  const model = plugin?.models.find(({ capability }) => capability === "chat");
  if (plugin?.handlers.chat === undefined || model === undefined) throw new Error(`No chat of ${provider}`);
  const request = { model: model.id, stream: true, messages: [{ role: "user", content: "Hello" }] } as ChatRequest;
  const upstream = { events: async () => toEvents(bytes) } as unknown as Call<ChatRequest>["upstream"];
  const signal = new AbortController().signal;
  const call = { id: "req_1", request, model, signal, upstream, warn: () => undefined };
  const head = { id: "chatcmpl-1", created: 1, model: "x" };
  const normalizer = new StreamNormalizer(head, new UsageMeter(async () => ({})));
  let length = 0;
  const reader = new StreamReader((await plugin.handlers.chat(call)) as ChatStream);
  await pump({ first: [], reader }, (raw) => {
    for (const chunk of normalizer.push(raw)) length += write(chunk).length;
    return undefined;
  });
  if (!normalizer.finished) throw new Error(`The stream of ${provider} was not read to its end`);
  return length;
}

/** From the provider's events to ours, as they came. */
async function handOn(
  provider: string,
  protocol: "responses" | "messages",
  bytes: Uint8Array<ArrayBuffer>[],
): Promise<number> {
  const plugin = builtIns.find(({ name }) => name === provider) as ProviderPlugin;
  const model = plugin.models.find(({ capability }) => capability === "chat") as Model;
  const native = new Passthrough({ format: formats[protocol], body: { model: model.id, stream: true } }, {}, 8);
  let length = 0;
  const upstream = { events: async () => toEvents(bytes) } as unknown as Call<ChatRequest>["upstream"];
  const request = { model: model.id, messages: [], stream: true } as ChatRequest;
  const { signal } = new AbortController();
  const opened = await openPassthrough(native, plugin, {
    id: "req_1",
    request,
    model,
    signal,
    upstream,
    warn: () => undefined,
  });
  const sink: ChatSink = {
    open: () => undefined,
    write: () => undefined,
    pass({ event, data }) {
      length += `event: ${event}\ndata: ${data}\n\n`.length;
      return undefined;
    },
  };
  const call = new GatewayCall({
    id: "req_1",
    openedAt: 0,
    startedMs: 0,
    caller: { accountId: "a" } as Caller,
    capability: "chat",
    body: request,
    protocol: protocol,
    sink,
  });
  const modelEntry = { model, compiledPrice: undefined, routes: [] };
  const run = new ModelRun(call, { modelEntry }, { usageMeterOf: () => new UsageMeter(async () => ({})) });
  await sendPassthrough({} as Kernel, run, opened);
  return length;
}

/** A stream as it comes over the wire, some events in a piece. */
function bytesOf(provider: string): Uint8Array<ArrayBuffer>[] {
  const texts = (streams[provider] ?? []).map((event) => {
    const name = provider === "anthropic" ? `event: ${(event as { type: string }).type}\n` : "";
    return `${name}data: ${JSON.stringify(event)}\n\n`;
  });
  if (provider === "openai") texts.push("data: [DONE]\n\n");
  return piecesOf(texts);
}

function piecesOf(texts: string[]): Uint8Array<ArrayBuffer>[] {
  const encoder = new TextEncoder();
  return Array.from({ length: Math.ceil(texts.length / 10) }, (_, index) =>
    encoder.encode(texts.slice(index * 10, index * 10 + 10).join("")),
  );
}

/** The events of a body as the kernel reads them, a batch for each piece. */
function toEvents(pieces: readonly Uint8Array[]): BatchReader<ServerEvent> & AsyncIterable<ServerEvent> {
  const parser = new SseParser();
  let next = 0;
  return {
    async read() {
      const piece = pieces[next++];
      if (piece !== undefined) return parser.push(piece);
      return next === pieces.length + 1 ? parser.end() : undefined;
    },
    cancel: () => undefined,
    [Symbol.asyncIterator]() {
      throw new Error("The kernel reads events in batches");
    },
  };
}
