import {
  type AnswerUsage,
  type ChatCompletion,
  type ChatUsage,
  type FinishReason,
  type ToolCall,
  UpstreamFault,
} from "../../../contract/index.ts";
import { isRecord } from "../../json.ts";
import { parseShape } from "../../parse-shape.ts";
import { FenceStripper } from "./fences.ts";
import { toDetail } from "./reasoning.ts";
import type { MessageAnswer } from "./wire.ts";
import { messageShape, type Reading } from "./wire.ts";

/** @throws {UpstreamFault} `bad_response` when the answer is not a message. */
export function fromMessage(answer: unknown, reading: Reading, nowMs: number): ChatCompletion {
  if (!parseShape(answer, messageShape) || answer.content === undefined) {
    throw new UpstreamFault("bad_response", "The provider's answer is not a message");
  }
  const blocks = answer.content;
  const json = blocks.find(({ name }) => name !== undefined && name === reading.jsonTool);
  const calls = blocks
    .filter((block) => block.type === "tool_use" && block !== json)
    .map(({ id = "", name = "", input }): ToolCall => {
      return { id, type: "function", function: { name, arguments: JSON.stringify(input ?? {}) } };
    });
  const thoughts = blocks.filter(({ type }) => type === "thinking" || type === "redacted_thinking");
  const reasoning = thoughts.map(({ thinking = "" }) => thinking).join("");
  const fences = new FenceStripper();
  const text = blocks.map(({ type, text = "" }) => (type === "text" ? text : "")).join("");
  const bare = reading.fenced ? fences.push(text) + fences.flush() : text;
  const content = json === undefined ? bare : JSON.stringify(json.input ?? {});
  const message: ChatCompletion["choices"][number]["message"] = {
    role: "assistant",
    content: content === "" ? null : content,
    refusal: toRefusal(answer),
    ...(reasoning !== "" && { reasoning_content: reasoning }),
    ...(thoughts.length > 0 && { reasoning_details: thoughts.map(toDetail) }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  const choices = [{ index: 0, message, finish_reason: toFinishReason(answer, calls.length) }];
  const usage = toUsage(answer.usage);
  const created = Math.floor(nowMs / 1000);
  return { id: "", object: "chat.completion", created, model: "", choices, ...(usage && { usage }) };
}

/** Every other reason is the caller's turn: to answer, or to do the calls. */
const finishReasons = new Map<unknown, FinishReason>([
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["refusal", "content_filter"],
]);

export function toFinishReason({ stop_reason: reason }: MessageAnswer, callCount: number): FinishReason {
  return finishReasons.get(reason) ?? (callCount > 0 ? "tool_calls" : "stop");
}

/** What the provider says of a refusal, where it says something. */
export function toRefusal({ stop_reason: reason, stop_details: details }: MessageAnswer): string | null {
  return reason === "refusal" ? (details?.explanation ?? null) : null;
}

/** What a message, or an event of one, reports; an event at the end may have the output alone. */
export function readUsage(part: Record<string, unknown>, before?: AnswerUsage): AnswerUsage | undefined {
  const { usage } = isRecord(part.message) ? part.message : part;
  if (!isRecord(usage)) return before;
  const known = toUsage(usage);
  if (known !== undefined || before === undefined || typeof usage.output_tokens !== "number") return known ?? before;
  return { ...before, completion_tokens: usage.output_tokens };
}

/** @returns `undefined` when the report lacks the input or the output. */
export function toUsage(usage: Record<string, unknown> = {}): ChatUsage | undefined {
  const { input_tokens: input, output_tokens: output, output_tokens_details: details } = usage;
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written, cache_creation: split } = usage;
  if (typeof input !== "number" || typeof output !== "number") return undefined;
  const cached = {
    ...(typeof read === "number" && { cached_tokens: read }),
    ...(typeof written === "number" && { cache_write_tokens: written }),
  };
  // Of the tokens written, those that are kept for an hour.
  const hourly = isRecord(split) ? split.ephemeral_1h_input_tokens : undefined;
  const prompt = Object.values(cached).reduce((sum, count) => sum + count, input);
  const thought = isRecord(details) ? details.thinking_tokens : undefined;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { ...cached, ...(typeof hourly === "number" && { cache_write_1h_tokens: hourly }) },
    ...(typeof thought === "number" && { completion_tokens_details: { reasoning_tokens: thought } }),
  };
}
