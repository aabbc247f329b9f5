import { describe, expect, test } from "bun:test";
import bedrock from "../../../../plugins/bedrock/index.ts";
import sglang from "../../../../plugins/manifests/sglang.json" with { type: "json" };
import vllm from "../../../../plugins/manifests/vllm.json" with { type: "json" };
import type { Call, ChatRequest, Model, ProviderPlugin, ServerEvent } from "../../../../src/provider/index.ts";
import { readManifest } from "../../../../src/providers/manifest.ts";
import { anthropic, gemini, openai } from "../../../../src/sdk/index.ts";
import { parseEvents } from "../../../support/sse.ts";
import { createPlugin } from "../../kernel/support.ts";
import { fakeCall, plainModel } from "../../sdk/fake-call.ts";
import { httpOf, messages } from "../support.ts";

type Json = Record<string, unknown>;

/** The events of a provider's stream. */
async function* eventsOf(payloads: readonly Json[], event?: string): AsyncGenerator<ServerEvent> {
  for (const payload of payloads) {
    const data = event === undefined ? JSON.stringify(payload) : JSON.stringify(Object.values(payload)[0]);
    yield { event: event === undefined ? String(payload.type ?? "message") : String(Object.keys(payload)[0]), data };
  }
}

/** A provider's answer, whole and as the events of a stream. */
interface Answer {
  json: Json;
  events: () => AsyncIterable<ServerEvent>;
}

const usage = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };

/** An answer of OpenAI's dialect that says `text`, and beside its reason to finish what is given. */
function chatAnswer(text: string, ending: Json = {}): Answer {
  const finish_reason = "stop";
  const message = { role: "assistant", content: text };
  return {
    json: { choices: [{ index: 0, message, finish_reason, ...ending }], usage },
    events: () =>
      eventsOf([
        ...[...text].map((content) => ({
          choices: [{ index: 0, delta: { content }, finish_reason: null, stop_reason: null }],
        })),
        { choices: [{ index: 0, delta: {}, finish_reason, ...ending }] },
        { choices: [], usage },
      ]),
  };
}

function claudeAnswer(ending: Json): Answer {
  const content = [{ type: "text", text: "A" }];
  const figures = { input_tokens: 11, output_tokens: 4 };
  return {
    json: { type: "message", role: "assistant", content, usage: figures, ...ending },
    events: () =>
      eventsOf([
        { type: "message_start", message: { content: [], usage: figures } },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "A" } },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: ending, usage: { output_tokens: 4 } },
        { type: "message_stop" },
      ]),
  };
}

function converseAnswer(ending: Json): Answer {
  const figures = { inputTokens: 11, outputTokens: 4, totalTokens: 15 };
  return {
    json: { output: { message: { role: "assistant", content: [{ text: "A" }] } }, usage: figures, ...ending },
    events: () =>
      eventsOf(
        [
          { messageStart: { role: "assistant" } },
          { contentBlockDelta: { contentBlockIndex: 0, delta: { text: "A" } } },
          { contentBlockStop: { contentBlockIndex: 0 } },
          { messageStop: ending },
          { metadata: { usage: figures } },
        ],
        "named",
      ),
  };
}

const part = (text: string, ending: Json = {}) => ({
  candidates: [{ index: 0, content: { role: "model", parts: [{ text }] }, ...ending }],
  usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 4, totalTokenCount: 15 },
});
const geminiAnswer = (text: string): Answer => ({
  json: part(text, { finishReason: "STOP" }),
  events: () => eventsOf([...[...text].map((one) => part(one)), part("", { finishReason: "STOP" })]),
});

const responsesAnswer = (text: string): Answer => {
  const item = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text }] };
  const response = {
    status: "completed",
    output: [item],
    usage: { input_tokens: 11, output_tokens: 4, total_tokens: 15 },
  };
  return {
    json: response,
    events: () =>
      eventsOf([
        { type: "response.created", response: { status: "in_progress", output: [] } },
        ...[...text].map((delta) => ({
          type: "response.output_text.delta",
          item_id: "msg_1",
          output_index: 0,
          content_index: 0,
          delta,
        })),
        { type: "response.completed", response },
      ]),
  };
};

type Chat = NonNullable<ProviderPlugin["handlers"]["chat"]>;

const ofManifest = (manifest: object) => {
  const plugin = readManifest({ ...manifest, models: [{ id: "m", upstreamId: "m", premium: false }] }, "example");
  return plugin.handlers.chat as Chat;
};
const ofDialect = (options: object = {}) => openai({ chat: options }).chat as Chat;
const bedrockRow = (part: string) => bedrock.models.find(({ upstreamId }) => upstreamId.includes(part)) as Model;
const bedrockChat = bedrock.handlers.chat as Chat;
const claude = anthropic({ headers: {} }).handlers.chat as Chat;

interface Source {
  chat: Chat;
  model?: Model;
  answer: Answer;
  /** What the client sends. */
  stops: string[];
  /** What it is told; absent: that the model's turn is over. */
  told?: string;
  text?: string;
}

const two = ["END", "STOP"];
const six = ["END", "a", "b", "c", "d", "e"];
const sources: Record<string, Source> = {
  "the gateway, where the provider takes no stop sequences": {
    chat: ofDialect({ omit: ["stop"] }),
    answer: chatAnswer("A END and more STOP"),
    stops: two,
    told: "END",
    text: "A ",
  },
  "the gateway, where the provider takes fewer": {
    chat: ofDialect({ stopsMax: 1 }),
    answer: chatAnswer("A STOP"),
    stops: two,
    told: "STOP",
    text: "A ",
  },
  "the gateway, at a sequence that was complete before another": {
    chat: ofDialect({ omit: ["stop"] }),
    answer: chatAnswer("A abcd e"),
    stops: ["abcd", "bc"],
    told: "bc",
    text: "A a",
  },
  "the gateway, where Gemini takes five": {
    chat: gemini().handlers.chat as Chat,
    answer: geminiAnswer("A e f"),
    stops: six,
    told: "e",
    text: "A ",
  },
  "the gateway, where the Responses protocol has none": {
    chat: openai({ chat: {}, responses: {} }).chat as Chat,
    model: { ...plainModel, endpoint: "responses" },
    answer: responsesAnswer("A STOP B"),
    stops: two,
    told: "STOP",
    text: "A ",
  },
  vLLM: { chat: ofManifest(vllm), answer: chatAnswer("A", { stop_reason: "STOP" }), stops: two, told: "STOP" },
  "vLLM, at a token": { chat: ofManifest(vllm), answer: chatAnswer("A", { stop_reason: 151_643 }), stops: two },
  "vLLM, at the end": { chat: ofManifest(vllm), answer: chatAnswer("A", { stop_reason: null }), stops: two },
  SGLang: { chat: ofManifest(sglang), answer: chatAnswer("A", { matched_stop: "END" }), stops: two, told: "END" },
  "SGLang, at a token": { chat: ofManifest(sglang), answer: chatAnswer("A", { matched_stop: 2 }), stops: two },
  "SGLang, at a text that was not asked for": {
    chat: ofManifest(sglang),
    answer: chatAnswer("A", { matched_stop: "<eos>" }),
    stops: two,
  },
  "a server that hands on what Claude says": {
    chat: ofDialect(),
    answer: chatAnswer("A", { finish_reason: "stop_sequence", stop_sequence: "END" }),
    stops: two,
    told: "END",
  },
  "a server that names its reason alone, for the only sequence": {
    chat: ofDialect(),
    answer: chatAnswer("A", { finish_reason: "STOP_SEQUENCE" }),
    stops: ["END"],
    told: "END",
  },
  "a server that names its reason alone, for two": {
    chat: ofDialect(),
    answer: chatAnswer("A", { finish_reason: "stop_sequence" }),
    stops: two,
  },
  "a server that only stopped": { chat: ofDialect(), answer: chatAnswer("A"), stops: ["END"] },
  Claude: {
    chat: claude,
    answer: claudeAnswer({ stop_reason: "stop_sequence", stop_sequence: "STOP" }),
    stops: two,
    told: "STOP",
  },
  "Claude, at the end": {
    chat: claude,
    answer: claudeAnswer({ stop_reason: "end_turn", stop_sequence: null }),
    stops: two,
  },
  "the gateway, for a blank sequence that Claude does not take": {
    chat: claude,
    answer: claudeAnswer({ stop_reason: "stop_sequence", stop_sequence: "END" }),
    stops: ["END", " "],
    told: "END",
  },
  "Claude on Bedrock": {
    chat: bedrockChat,
    model: bedrockRow("anthropic.claude"),
    answer: converseAnswer({ stopReason: "stop_sequence", additionalModelResponseFields: { stop_sequence: "STOP" } }),
    stops: two,
    told: "STOP",
  },
  "Nova on Bedrock, for the only sequence": {
    chat: bedrockChat,
    model: bedrockRow("amazon.nova"),
    answer: converseAnswer({ stopReason: "stop_sequence", additionalModelResponseFields: null }),
    stops: ["END"],
    told: "END",
  },
  "Nova on Bedrock, for two": {
    chat: bedrockChat,
    model: bedrockRow("amazon.nova"),
    answer: converseAnswer({ stopReason: "stop_sequence" }),
    stops: two,
  },
  "Bedrock, at the end": {
    chat: bedrockChat,
    model: bedrockRow("amazon.nova"),
    answer: converseAnswer({ stopReason: "end_turn" }),
    stops: ["END"],
  },
};

/** A gateway whose provider is a source. */
function gateway({ chat, model = plainModel, answer }: Source) {
  const plugin = createPlugin({
    chat: (call: Call<ChatRequest>) => {
      const { call: inner } = fakeCall(
        call.request,
        { json: structuredClone(answer.json), events: answer.events },
        model,
      );
      return chat(inner);
    },
  });
  return httpOf([plugin]).post;
}

/** Whether a member of this name stands anywhere in a value. */
function hasMember(value: unknown, name: string): boolean {
  if (typeof value !== "object" || value === null) return false;
  return name in value || Object.values(value).some((member) => hasMember(member, name));
}

describe.each(Object.keys(sources))("an answer that was stopped by %s", (name) => {
  const source = sources[name] as Source;
  const { told, text = "A", stops } = source;
  const ending =
    told === undefined
      ? { stop_reason: "end_turn", stop_sequence: null }
      : { stop_reason: "stop_sequence", stop_sequence: told };

  test("says so to a client of Messages, whole and streamed", async () => {
    const post = gateway(source);
    const asked = { model: "chat-1", max_tokens: 50, messages, stop_sequences: stops };
    const whole = await post("messages", asked);
    expect(await whole.json()).toMatchObject({ content: [{ type: "text", text }], ...ending });
    const { events } = parseEvents(await (await post("messages", { ...asked, stream: true })).text());
    const said = (events as { delta?: { text?: string } }[]).map(({ delta }) => delta?.text ?? "").join("");
    expect(said).toBe(text);
    expect(events.at(-2)).toMatchObject({ type: "message_delta", delta: ending });
  });

  test("shows a client of chat no field for it", async () => {
    const post = gateway(source);
    // The least of what has to be there for it to be stopped: chat takes four.
    const asked = { model: "chat-1", messages, stop: stops.slice(0, 4) };
    const whole = (await (await post("chat/completions", asked)).json()) as { choices: Json[] };
    expect(whole.choices[0]).toMatchObject({ finish_reason: "stop" });
    const { events } = parseEvents(await (await post("chat/completions", { ...asked, stream: true })).text());
    expect(events.length).toBeGreaterThan(1);
    for (const answer of [whole, ...events]) expect(hasMember(answer, "stop_sequence")).toBe(false);
  });
});
