import { type AnswerUsage, type ChatCompletion, isRecord, UpstreamError } from "modelgate/plugin";
import type { ChatUsage } from "../../src/contract/index.ts";
import { type ParsedShape, parseShape } from "../../src/lib/parse-shape.ts";
import { claudeThoughts } from "../../src/protocols/messages/outbound.ts";
import { FenceStripper, toInput } from "../../src/protocols/messages/provider-stream.ts";
import { type BesideChoice, type ToolCall, toFigures, toFinishReason } from "../../src/provider/index.ts";
import type { Reading } from "./request.ts";

const reasoningShape = { reasoningText: { text: "string", signature: "string" }, redactedContent: "string" } as const;
const blockShape = {
  text: "string",
  toolUse: { toolUseId: "string", name: "string", input: "any" },
  reasoningContent: reasoningShape,
} as const;
const answerShape = {
  output: { message: { content: [blockShape] } },
  stopReason: "string",
  additionalModelResponseFields: { stop_sequence: "string" },
  usage: {},
  serviceTier: { type: "string" },
} as const;

/** How an answer, or the event at the end of a stream, says why it ended. */
type Ending = Pick<ParsedShape<typeof answerShape>, "stopReason" | "additionalModelResponseFields">;

/** Converts reasoning to a detail of the answer, with its signature: the client sends the detail back later. */
export function toDetail(thought: { text?: string; signature?: string; data?: string }, index: number) {
  const { text = "", signature = "", data } = thought;
  if (data !== undefined) return claudeThoughts.toDetail({ type: "redacted_thinking", data }, index);
  return claudeThoughts.toDetail({ type: "thinking", thinking: text, signature }, index);
}

/** Returns the service tier that made an answer, by OpenAI's name. */
export function toTier(tier: unknown): { service_tier?: string } {
  return isRecord(tier) && typeof tier.type === "string" ? { service_tier: tier.type } : {};
}

/** Returns the stop sequence that ended an answer: Claude names it if the request asked for the field. */
export function toStopSequence({ stopReason, additionalModelResponseFields: fields }: Ending): BesideChoice {
  return stopReason === "stop_sequence" ? { stop_sequence: fields?.stop_sequence || true } : {};
}

/** Translates an answer. @throws {UpstreamError} `bad_response` when the answer is not from Converse. */
export function fromConverse(answer: unknown, reading: Reading, nowMs: number): ChatCompletion {
  if (!parseShape(answer, answerShape) || answer.output?.message?.content === undefined) {
    throw new UpstreamError("bad_response", "The provider's answer is not a message");
  }
  const blocks = answer.output.message.content;
  const uses = blocks.flatMap(({ toolUse }) => toolUse ?? []);
  const json = uses.find(({ name }) => name !== undefined && name === reading.jsonTool);
  const others = uses.filter((use) => use !== json);
  const calls = (reading.firstOnly ? others.slice(0, 1) : others).map(
    ({ toolUseId = "", name = "", input }): ToolCall => {
      return { id: toolUseId, type: "function", function: { name, arguments: toInput(input) } };
    },
  );
  const thoughts = blocks.flatMap(({ reasoningContent }) => reasoningContent ?? []);
  const reasoning = thoughts.map(({ reasoningText }) => reasoningText?.text ?? "").join("");
  const details = thoughts.flatMap(({ reasoningText, redactedContent: data }, index) => {
    if (data !== undefined) return [toDetail({ data }, index)];
    const { text = "", signature } = reasoningText ?? {};
    return signature === undefined ? [] : [toDetail({ text, signature }, index)];
  });
  const written = blocks.map(({ text = "" }) => text).join("");
  const fences = new FenceStripper();
  const bare = reading.fenced === true ? fences.push(written) + fences.flush() : written;
  const content = json === undefined ? bare : toInput(json.input);
  const message: ChatCompletion["choices"][number]["message"] = {
    role: "assistant",
    content: content === "" ? null : content,
    refusal: null,
    ...(reasoning !== "" && { reasoning_content: reasoning }),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  const finish = toFinishReason(answer.stopReason, calls.length > 0);
  const usage = toUsage(answer.usage);
  return {
    id: "",
    object: "chat.completion",
    created: Math.floor(nowMs / 1000),
    model: "",
    choices: [{ index: 0, message, finish_reason: finish, ...toStopSequence(answer) }],
    ...(usage && { usage }),
    ...toTier(answer.serviceTier),
  } as ChatCompletion;
}

/** Reads the usage of an answer, or of the last event of a stream. */
export function readUsage(part: Record<string, unknown>, before?: AnswerUsage): AnswerUsage | undefined {
  const { inputTextTokenCount: count } = part;
  if (typeof count === "number") return { prompt_tokens: count, total_tokens: count };
  return (isRecord(part.usage) ? toUsage(part.usage) : undefined) ?? before;
}

/**
 * Converts reported tokens. Tokens that were read from a cache or written to it are not part of the input here.
 *
 * @returns `undefined` when the report lacks the input or the output.
 */
export function toUsage(reported: Record<string, unknown> = {}): ChatUsage | undefined {
  const usage = toFigures(reported);
  const { inputTokens: input, outputTokens: output, cacheDetails } = usage;
  const { cacheReadInputTokens: read, cacheWriteInputTokens: written } = usage;
  if (typeof input !== "number" || typeof output !== "number") return undefined;
  const cached = {
    ...(typeof read === "number" && { cached_tokens: read }),
    ...(typeof written === "number" && { cache_write_tokens: written }),
  };
  const prompt = Object.values(cached).reduce((sum, count) => sum + count, input);
  const details = Array.isArray(cacheDetails) ? cacheDetails : [];
  const hourly = details
    .filter((detail) => isRecord(detail) && detail.ttl === "1h" && typeof detail.inputTokens === "number")
    .reduce((sum: number, { inputTokens }: { inputTokens: number }) => sum + inputTokens, 0);
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { ...cached, ...(hourly > 0 && { cache_write_1h_tokens: hourly }) },
  };
}
