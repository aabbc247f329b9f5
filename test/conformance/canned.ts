import type { Capability } from "../../src/contract/index.ts";
import { eventStreamReply } from "../support/event-stream.ts";
import { binaryReply, eventsReply, jsonReply, type Reply } from "../support/reply.ts";
import { wavOf } from "../support/wav.ts";

const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
const calls = ["one", "two"].map((id) => ({ id, type: "function", function: { name: "look_up", arguments: "{}" } }));
const message = { role: "assistant", content: "Hello", tool_calls: calls };
const head = { id: "x", created: 1, model: "x" };
const completion = {
  ...head,
  object: "chat.completion",
  choices: [{ index: 0, message, finish_reason: "stop" }],
  usage,
};
const chunks = [
  { ...head, choices: [{ index: 0, delta: { role: "assistant", content: "Hello" }, finish_reason: null }] },
  { ...head, choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage },
];

const said = [
  { type: "text", text: "Hello" },
  ...calls.map(({ id }) => ({ type: "tool_use", id, name: "look_up", input: {} })),
];
const spent = { input_tokens: 5, output_tokens: 2 };
const events = [
  { type: "message_start", message: { content: [], usage: spent } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "Hello" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: spent },
  { type: "message_stop" },
];

const parts = [{ text: "Hello" }, ...calls.map(() => ({ functionCall: { name: "look_up", args: {} } }))];
const counts = { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 };
const generated = { candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }], usageMetadata: counts };
const pictured = {
  candidates: [{ content: { parts: [{ inlineData: { mimeType: "image/png", data: "AAAA" } }] }, finishReason: "STOP" }],
};
const samples = { mimeType: "audio/l16; rate=24000; channels=1", data: "AAAA" };
const spoken = { candidates: [{ content: { parts: [{ inlineData: samples }] }, finishReason: "STOP" }] };
const vector = { values: [0.1, 0.2, 0.3] };
const vectors = ["a", "b"].map((_, index) => ({ object: "embedding", index, embedding: vector.values }));
const wav = wavOf(1000);

const converseUsage = { inputTokens: 5, outputTokens: 2, totalTokens: 7 };
const uses = calls.map(({ id }) => ({ toolUse: { toolUseId: id, name: "look_up", input: {} } }));
const converse = {
  output: { message: { role: "assistant", content: [{ text: "Hello" }, ...uses] } },
  stopReason: "end_turn",
  usage: converseUsage,
};
const converseEvents: [string, unknown][] = [
  ["messageStart", { role: "assistant" }],
  ["contentBlockDelta", { contentBlockIndex: 0, delta: { text: "Hello" } }],
  ["contentBlockStop", { contentBlockIndex: 0 }],
  ["messageStop", { stopReason: "end_turn" }],
  ["metadata", { usage: converseUsage }],
];

/** A short answer of each provider, of each capability it has: what is asked for matters here, not what is answered. */
export function cannedReply(
  plugin: string,
  capability: Capability,
  { stream, count, isClaude = false }: CheckInput,
): Reply {
  // Clouds speak Anthropic's protocol for Claude.
  const protocol = isClaude ? "anthropic" : plugin === "vertex" ? "gemini" : plugin;
  if (capability === "embeddings" && plugin === "vertex") {
    return jsonReply({ predictions: [{ embeddings: { values: vector.values, statistics: { token_count: 3 } } }] });
  }
  switch (`${protocol} ${capability}`) {
    case "bedrock embeddings":
      return jsonReply({
        embedding: vector.values,
        inputTextTokenCount: 3,
        embeddings: Array(count).fill(vector.values),
      });
    case "bedrock images":
      return jsonReply({ seeds: [1], finish_reasons: [null], images: ["AAAA"] });
    case "bedrock chat":
      return stream ? eventStreamReply(...converseEvents) : jsonReply(converse);
    case "anthropic chat":
      return stream
        ? eventsReply(...events)
        : jsonReply({ type: "message", content: said, stop_reason: "end_turn", usage: spent });
    case "gemini chat":
      return stream ? eventsReply(generated) : jsonReply(generated);
    case "gemini embeddings":
      return jsonReply(count === 1 ? { embedding: vector } : { embeddings: Array(count).fill(vector) });
    case "gemini images":
    case "gemini imageEdits":
      return jsonReply(pictured);
    case "gemini transcription":
      return jsonReply({ candidates: [{ content: { parts: [{ text: "Hello" }] }, finishReason: "STOP" }] });
    case "gemini speech":
      return eventsReply(spoken);
    case "sarvam transcription":
      return jsonReply({ transcript: "Hello", language_code: "hi-IN" });
    case "sarvam speech":
      return jsonReply({ audios: [Buffer.from(wav).toString("base64")] });
  }
  if (capability === "chat") return stream ? eventsReply(...chunks, "[DONE]") : jsonReply(completion);
  if (capability === "embeddings") return jsonReply({ data: vectors.slice(0, count), usage: { prompt_tokens: 3 } });
  if (capability === "moderation") {
    const result = { flagged: false, categories: { hate: false }, category_scores: { hate: 0.1 } };
    return jsonReply({ results: Array(count).fill(result) });
  }
  if (capability === "rerank") {
    return jsonReply({ results: [{ index: 0, relevance_score: 0.9 }], usage: { total_tokens: 4 } });
  }
  if (capability === "transcription" || capability === "translation") return jsonReply({ text: "Hello", duration: 1 });
  if (capability === "images" || capability === "imageEdits") return jsonReply({ data: [{ b64_json: "AAAA" }] });
  if (stream) return eventsReply({ type: "speech.audio.delta", audio: wav.toBase64() }, { type: "speech.audio.done" });
  return binaryReply(wav, "audio/wav");
}

interface CheckInput {
  stream: boolean;
  /** How many vectors are wanted. */
  count: number;
  isClaude?: boolean;
}
