import { eventStreamReply } from "./event-stream.ts";
import { eventsReply, jsonReply, type Reply } from "./reply.ts";

/** One answer of a model, with the end that its provider writes. */
export interface WrittenAnswer {
  text: string;
  /** The provider's own word for the end. */
  word: unknown;
}

/** A provider's answers in its own dialect: whole, and as a stream. */
export interface Dialect {
  /** A model that is asked in this dialect. */
  model: string;
  whole(answer: WrittenAnswer): Reply;
  stream(answer: WrittenAnswer): Reply;
}

const [input, output] = [12, 5];
const openaiUsage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
const claudeUsage = { input_tokens: input, output_tokens: output };
const geminiUsage = { promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: input + output };
const converseUsage = { inputTokens: input, outputTokens: output, totalTokens: input + output };
const responsesUsage = { input_tokens: input, output_tokens: output, total_tokens: input + output };

function openaiChunk(delta: object, finish_reason: unknown = null) {
  const choices = [{ index: 0, delta, finish_reason }];
  return { id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices };
}

const openaiChat: Dialect = {
  model: "gpt-5-nano",
  whole({ text, word }) {
    const choices = [{ index: 0, message: { role: "assistant", content: text }, finish_reason: word }];
    return jsonReply({ id: "c", object: "chat.completion", created: 1, model: "m", choices, usage: openaiUsage });
  },
  stream: ({ text, word }) =>
    eventsReply(
      openaiChunk({ role: "assistant", content: "" }),
      ...(text === "" ? [] : [openaiChunk({ content: text })]),
      openaiChunk({}, word),
      { ...openaiChunk({}), choices: [], usage: openaiUsage },
      "[DONE]",
    ),
};

const responses: Dialect = {
  model: "gpt-5.3-codex",
  whole: (answer) => jsonReply(toResponse(answer)),
  stream(answer) {
    const { text } = answer;
    const events: object[] = [{ type: "response.created", response: { ...toResponse(answer), output: [] } }];
    if (text !== "")
      events.push({ type: "response.output_text.delta", output_index: 0, content_index: 0, delta: text });
    return eventsReply(...events, { type: "response.completed", response: toResponse(answer) });
  },
};

function toResponse({ text, word }: WrittenAnswer) {
  const content = [{ type: "output_text", text, annotations: [] }];
  const items = text === "" ? [] : [{ type: "message", id: "msg_1", role: "assistant", content }];
  return {
    id: "resp_1",
    object: "response",
    created_at: 1,
    model: "m",
    status: word,
    output: items,
    usage: responsesUsage,
  };
}

const claude: Dialect = {
  model: "claude-haiku-4-5",
  whole({ text, word }) {
    const content = text === "" ? [] : [{ type: "text", text }];
    const head = { id: "msg_1", type: "message", role: "assistant", model: "m" };
    return jsonReply({ ...head, content, stop_reason: word, stop_sequence: null, usage: claudeUsage });
  },
  stream({ text, word }) {
    const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], usage: claudeUsage };
    const block = [
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
      { type: "content_block_stop", index: 0 },
    ];
    return eventsReply(
      { type: "message_start", message },
      ...(text === "" ? [] : block),
      { type: "message_delta", delta: { stop_reason: word }, usage: { output_tokens: output } },
      { type: "message_stop" },
    );
  },
};

const gemini: Dialect = {
  model: "gemini-2.5-flash-lite",
  whole: ({ text, word }) => jsonReply(toCandidate(text, word)),
  stream: ({ text, word }) => eventsReply(...(text === "" ? [] : [toCandidate(text)]), toCandidate("", word)),
};

function toCandidate(text: string, finishReason?: unknown) {
  const parts = text === "" ? [] : [{ text }];
  return { candidates: [{ index: 0, content: { role: "model", parts }, finishReason }], usageMetadata: geminiUsage };
}

const converse: Dialect = {
  model: "bedrock/amazon.nova-micro-v1:0",
  whole({ text, word }) {
    const content = text === "" ? [] : [{ text }];
    return jsonReply({ output: { message: { role: "assistant", content } }, stopReason: word, usage: converseUsage });
  },
  stream: ({ text, word }) =>
    eventStreamReply(
      ["messageStart", { role: "assistant" }],
      ...(text === "" ? [] : [["contentBlockDelta", { contentBlockIndex: 0, delta: { text } }] as [string, object]]),
      ["contentBlockStop", { contentBlockIndex: 0 }],
      ["messageStop", { stopReason: word }],
      ["metadata", { usage: converseUsage }],
    ),
};

/** The dialects that are translated, by the name of their provider at {@link envOf}. */
export const dialects: Readonly<Record<string, Dialect>> = {
  openai: openaiChat,
  "openai-responses": responses,
  anthropic: claude,
  gemini,
  bedrock: converse,
};

/** Settings of a gateway whose providers are asked at a stand-in. Both dialects of OpenAI are asked by its name. */
export const envOf = (baseUrlOf: (provider: string, suffix?: string) => string): Record<string, string> => ({
  SANDBOX: "off",
  OPENAI_API_KEY: "sk-openai",
  OPENAI_BASE_URL: baseUrlOf("openai", "/v1"),
  ANTHROPIC_API_KEY: "sk-anthropic",
  ANTHROPIC_BASE_URL: baseUrlOf("anthropic", "/v1"),
  GEMINI_API_KEY: "sk-gemini",
  GEMINI_BASE_URL: baseUrlOf("gemini", "/v1beta"),
  BEDROCK_API_KEY: "a-key-of-the-cloud-0123456789",
  BEDROCK_REGION: "us-east-1",
  BEDROCK_BASE_URL: baseUrlOf("bedrock"),
});
