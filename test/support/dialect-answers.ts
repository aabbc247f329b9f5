import { eventStreamReply } from "./event-stream.ts";
import { eventsReply, jsonReply, type Reply } from "./reply.ts";

/** One answer of a model, with the end that its provider writes. */
export interface WrittenAnswer {
  text: string;
  /** The provider's own word for the end. */
  word: unknown;
  /** A call of the tool `f`, with its arguments in whatever form; in a stream they are one piece. */
  called?: { arguments?: unknown };
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
  whole({ text, word, called }) {
    const calls = called && { tool_calls: [toOpenaiCall(called)] };
    const choices = [{ index: 0, message: { role: "assistant", content: text, ...calls }, finish_reason: word }];
    return jsonReply({ id: "c", object: "chat.completion", created: 1, model: "m", choices, usage: openaiUsage });
  },
  stream: ({ text, word, called }) =>
    eventsReply(
      openaiChunk({ role: "assistant", content: "" }),
      ...(text === "" ? [] : [openaiChunk({ content: text })]),
      ...(called ? [openaiChunk({ tool_calls: [{ index: 0, ...toOpenaiCall(called) }] })] : []),
      openaiChunk({}, word),
      { ...openaiChunk({}), choices: [], usage: openaiUsage },
      "[DONE]",
    ),
};

const toOpenaiCall = (called: object) => ({ id: "call_1", type: "function", function: { name: "f", ...called } });

const responses: Dialect = {
  model: "gpt-5.3-codex",
  whole: (answer) => jsonReply(toResponse(answer)),
  stream(answer) {
    const { text, called } = answer;
    const events: object[] = [{ type: "response.created", response: { ...toResponse(answer), output: [] } }];
    if (text !== "")
      events.push({ type: "response.output_text.delta", output_index: 0, content_index: 0, delta: text });
    if (called !== undefined) {
      const item = { ...callItem, arguments: "" };
      const delta = called.arguments;
      events.push(
        { type: "response.output_item.added", output_index: 0, item },
        { type: "response.function_call_arguments.delta", output_index: 0, item_id: callItem.id, delta },
        { type: "response.output_item.done", output_index: 0, item: { ...callItem, ...called } },
      );
    }
    return eventsReply(...events, { type: "response.completed", response: toResponse(answer) });
  },
};

const callItem = { type: "function_call", id: "fc_1", call_id: "call_1", name: "f", status: "completed" };

function toResponse({ text, word, called }: WrittenAnswer) {
  const content = [{ type: "output_text", text, annotations: [] }];
  const message = text === "" ? [] : [{ type: "message", id: "msg_1", role: "assistant", content }];
  const items = called === undefined ? message : [...message, { ...callItem, ...called }];
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
  whole({ text, word, called }) {
    const content: object[] = text === "" ? [] : [{ type: "text", text }];
    if (called !== undefined) content.push({ type: "tool_use", id: "toolu_1", name: "f", input: called.arguments });
    const head = { id: "msg_1", type: "message", role: "assistant", model: "m" };
    return jsonReply({ ...head, content, stop_reason: word, stop_sequence: null, usage: claudeUsage });
  },
  stream({ text, word, called }) {
    const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], usage: claudeUsage };
    const block = [
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
      { type: "content_block_stop", index: 0 },
    ];
    return eventsReply(
      { type: "message_start", message },
      ...(text === "" ? [] : block),
      ...(called === undefined ? [] : callBlock(called)),
      { type: "message_delta", delta: { stop_reason: word }, usage: { output_tokens: output } },
      { type: "message_stop" },
    );
  },
};

/** Arguments are text in pieces; where they are another value, it comes with the beginning of the block. */
function callBlock({ arguments: input }: { arguments?: unknown }) {
  const isText = typeof input === "string";
  const block = { type: "tool_use", id: "toolu_1", name: "f", input: isText ? {} : input };
  const delta = { type: "input_json_delta", partial_json: input };
  return [
    { type: "content_block_start", index: 1, content_block: block },
    ...(isText ? [{ type: "content_block_delta", index: 1, delta }] : []),
    { type: "content_block_stop", index: 1 },
  ];
}

const gemini: Dialect = {
  model: "gemini-2.5-flash-lite",
  whole: (answer) => jsonReply(toCandidate(answer)),
  stream: ({ word, ...answer }) =>
    eventsReply(toCandidate({ ...answer, word: undefined }), toCandidate({ text: "", word })),
};

function toCandidate({ text, word: finishReason, called }: WrittenAnswer) {
  const parts: object[] = text === "" ? [] : [{ text }];
  if (called !== undefined) parts.push({ functionCall: { name: "f", args: called.arguments } });
  return { candidates: [{ index: 0, content: { role: "model", parts }, finishReason }], usageMetadata: geminiUsage };
}

const converse: Dialect = {
  model: "bedrock/amazon.nova-micro-v1:0",
  whole({ text, word, called }) {
    const content: object[] = text === "" ? [] : [{ text }];
    if (called !== undefined) content.push({ toolUse: { toolUseId: "tooluse_1", name: "f", input: called.arguments } });
    return jsonReply({ output: { message: { role: "assistant", content } }, stopReason: word, usage: converseUsage });
  },
  stream: ({ text, word, called }) =>
    eventStreamReply(
      ["messageStart", { role: "assistant" }],
      ...(called === undefined ? [] : toolUseEvents(called)),
      ...(text === "" ? [] : [["contentBlockDelta", { contentBlockIndex: 0, delta: { text } }] as [string, object]]),
      ["contentBlockStop", { contentBlockIndex: 0 }],
      ["messageStop", { stopReason: word }],
      ["metadata", { usage: converseUsage }],
    ),
};

const toolUseEvents = ({ arguments: input }: { arguments?: unknown }): [string, object][] => [
  ["contentBlockStart", { contentBlockIndex: 0, start: { toolUse: { toolUseId: "tooluse_1", name: "f" } } }],
  ["contentBlockDelta", { contentBlockIndex: 0, delta: { toolUse: { input } } }],
  ["contentBlockStop", { contentBlockIndex: 0 }],
];

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
