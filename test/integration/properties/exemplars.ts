import type { Capability } from "../../../src/contract/index.ts";
import { wavOf } from "../../support/wav.ts";

/** An answer of a provider with as much in it as there may be: whole, and as the events of a stream. */
export interface Exemplar {
  readonly whole: unknown;
  readonly events?: readonly unknown[];
}

const call = { id: "call_1", index: 0, type: "function", function: { name: "look_up", arguments: '{"a":1}' } };
const token = { token: "Hi", logprob: -0.1, bytes: [72, 105] };
const logprobs = { content: [{ ...token, top_logprobs: [token] }], refusal: null };
const usage = {
  prompt_tokens: 5,
  completion_tokens: 7,
  total_tokens: 12,
  prompt_tokens_details: { cached_tokens: 2, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 3, accepted_prediction_tokens: 0 },
};
const spoken = {
  role: "assistant",
  content: "Hi <think>so</think>",
  reasoning_content: "so",
  reasoning: "so",
  refusal: null,
  annotations: [{ type: "url_citation", url_citation: { url: "https://example.org", title: "t", start_index: 0 } }],
  tool_calls: [call],
};
const head = {
  id: "x",
  object: "chat.completion",
  created: 1,
  model: "x",
  system_fingerprint: "f",
  service_tier: "default",
};
const ofOpenai: Partial<Record<Capability, Exemplar>> = {
  chat: {
    whole: { ...head, choices: [{ index: 0, message: spoken, logprobs, finish_reason: "tool_calls" }], usage },
    events: [
      {
        ...head,
        choices: [{ index: 0, delta: { role: "assistant", content: "" }, logprobs: null, finish_reason: null }],
      },
      { ...head, choices: [{ index: 0, delta: { ...spoken, content: "Hi" }, logprobs, finish_reason: null }] },
      { ...head, choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: "{}" } }] } }] },
      { ...head, choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
      { ...head, choices: [], usage, x_groq: { id: "r", usage } },
    ],
  },
  embeddings: {
    whole: { object: "list", data: [{ object: "embedding", index: 0, embedding: [0.1, 0.2] }], usage, model: "x" },
  },
  images: {
    whole: {
      created: 1,
      data: [{ b64_json: "AAAA", revised_prompt: "A kite" }],
      usage: { input_tokens: 3, output_tokens: 4, input_tokens_details: { text_tokens: 1, image_tokens: 2 } },
    },
  },
  transcription: {
    whole: {
      text: "Hi",
      language: "english",
      duration: 1.5,
      segments: [
        {
          id: 0,
          seek: 0,
          start: 0,
          end: 1.5,
          text: "Hi",
          tokens: [1],
          temperature: 0,
          avg_logprob: -0.1,
          compression_ratio: 1,
          no_speech_prob: 0,
        },
      ],
      words: [{ word: "Hi", start: 0, end: 1 }],
      usage: { type: "duration", seconds: 2 },
    },
  },
};

const spent = { input_tokens: 5, cache_creation_input_tokens: 1, cache_read_input_tokens: 2, output_tokens: 7 };
const start = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block });
const delta = (index: number, said: object) => ({ type: "content_block_delta", index, delta: said });
const ofAnthropic: Partial<Record<Capability, Exemplar>> = {
  chat: {
    whole: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "x",
      content: [
        { type: "thinking", thinking: "so", signature: "s" },
        { type: "redacted_thinking", data: "d" },
        { type: "text", text: "Hi", citations: [{ type: "char_location", cited_text: "H" }] },
        { type: "tool_use", id: "toolu_1", name: "look_up", input: { a: [1, { b: null }] } },
      ],
      stop_reason: "tool_use",
      stop_sequence: null,
      stop_details: { type: "refusal", explanation: "no" },
      usage: {
        ...spent,
        cache_creation: { ephemeral_5m_input_tokens: 1 },
        server_tool_use: { web_search_requests: 0 },
      },
    },
    events: [
      {
        type: "message_start",
        message: { id: "msg_1", type: "message", role: "assistant", content: [], usage: spent },
      },
      start(0, { type: "thinking", thinking: "", signature: "" }),
      delta(0, { type: "thinking_delta", thinking: "so" }),
      delta(0, { type: "signature_delta", signature: "s" }),
      { type: "content_block_stop", index: 0 },
      start(1, { type: "text", text: "" }),
      delta(1, { type: "text_delta", text: "Hi" }),
      { type: "ping" },
      { type: "content_block_stop", index: 1 },
      start(2, { type: "tool_use", id: "toolu_1", name: "look_up", input: {} }),
      delta(2, { type: "input_json_delta", partial_json: '{"a":1}' }),
      { type: "content_block_stop", index: 2 },
      { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: spent },
      { type: "message_stop" },
    ],
  },
};

const counts = {
  promptTokenCount: 5,
  cachedContentTokenCount: 2,
  candidatesTokenCount: 7,
  thoughtsTokenCount: 3,
  totalTokenCount: 15,
  promptTokensDetails: [{ modality: "TEXT", tokenCount: 5 }],
};
const candidate = {
  index: 0,
  content: {
    role: "model",
    parts: [
      { text: "so", thought: true },
      { text: "Hi", thoughtSignature: "s" },
      { functionCall: { id: "c", name: "look_up", args: { a: [1, { b: null }] } }, thoughtSignature: "s" },
    ],
  },
  finishReason: "STOP",
  finishMessage: "done",
  safetyRatings: [{ category: "c", probability: "LOW", blocked: false }],
  logprobsResult: {
    chosenCandidates: [{ token: "Hi", logProbability: -0.1 }],
    topCandidates: [{ candidates: [{ token: "Hi", logProbability: -0.1 }] }],
  },
};
const generated = {
  candidates: [candidate],
  usageMetadata: counts,
  promptFeedback: { safetyRatings: [] },
  modelVersion: "x",
  responseId: "r",
};
const pictured = {
  candidates: [
    {
      content: { parts: [{ text: "Here" }, { inlineData: { mimeType: "image/png", data: "AAAA" } }] },
      finishReason: "STOP",
    },
  ],
  usageMetadata: counts,
};
const ofGemini: Partial<Record<Capability, Exemplar>> = {
  chat: { whole: generated, events: [generated, generated] },
  embeddings: { whole: { embeddings: [{ values: [0.1, 0.2] }], embedding: { values: [0.1, 0.2] } } },
  images: { whole: pictured },
};

const ofSarvam: Partial<Record<Capability, Exemplar>> = {
  ...ofOpenai,
  transcription: {
    whole: {
      request_id: "r",
      transcript: "Hi",
      language_code: "hi-IN",
      timestamps: { words: ["Hi"], start_time_seconds: [0], end_time_seconds: [1] },
      diarized_transcript: {
        entries: [{ transcript: "Hi", start_time_seconds: 0, end_time_seconds: 1, speaker_id: "1" }],
      },
    },
  },
  speech: { whole: { request_id: "r", audios: [Buffer.from(wavOf(1000)).toString("base64")] } },
};

const ofBedrock: Partial<Record<Capability, Exemplar>> = {
  chat: {
    whole: {
      output: {
        message: {
          role: "assistant",
          content: [
            { reasoningContent: { reasoningText: { text: "so", signature: "s" } } },
            { reasoningContent: { redactedContent: "AAAA" } },
            { text: "Hi" },
            { toolUse: { toolUseId: "tooluse_1", name: "look_up", input: { a: [1, { b: null }] } } },
          ],
        },
      },
      stopReason: "tool_use",
      usage: {
        inputTokens: 5,
        outputTokens: 7,
        totalTokens: 22,
        cacheReadInputTokens: 4,
        cacheWriteInputTokens: 6,
        cacheDetails: [{ ttl: "1h", inputTokens: 2 }],
      },
      metrics: { latencyMs: 1 },
      serviceTier: { type: "default" },
    },
  },
};

const own: Readonly<Record<string, Partial<Record<Capability, Exemplar>>>> = {
  anthropic: ofAnthropic,
  bedrock: ofBedrock,
  gemini: ofGemini,
  sarvam: ofSarvam,
  vertex: { chat: ofGemini.chat as Exemplar },
};

/** What a provider answers at its fullest; absent where that is not JSON. */
export function exemplarOf(plugin: string, capability: Capability): Exemplar | undefined {
  return (own[plugin] ?? ofOpenai)[capability];
}
