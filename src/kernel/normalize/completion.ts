import {
  type ChatCompletion,
  type ChatUsage,
  type FinishReason,
  finishReasons,
  type ToolCall,
} from "../../contract/index.ts";
import { randomText } from "../call-id.ts";

/** What all pieces of an answer carry. */
export interface AnswerHead {
  /** `chatcmpl-…` */
  id: string;
  /** Seconds since 1970. */
  created: number;
  /** The public model id. */
  model: string;
}

/** The head of a call's answer; the id is the call's with another prefix. */
export function headOf(callId: string, model: string, nowMs: number): AnswerHead {
  return { id: `chatcmpl-${callId.slice(4)}`, created: Math.floor(nowMs / 1000), model };
}

/**
 * Makes a provider's completion the one shape clients get: our id and model name, `refusal` and `logprobs` always
 * there, ids on tool calls, a finish reason of the five. Works on the object itself: it is ours by now.
 */
export function normalizeCompletion(raw: ChatCompletion, head: AnswerHead): ChatCompletion {
  const completion = raw as ChatCompletion & { system_fingerprint?: unknown };
  completion.id = head.id;
  completion.object = "chat.completion";
  completion.created = Number.isSafeInteger(raw.created) && raw.created > 0 ? raw.created : head.created;
  completion.model = head.model;
  if (typeof completion.system_fingerprint !== "string") delete completion.system_fingerprint;
  for (let index = 0; index < raw.choices.length; index++) {
    tidyChoice(raw.choices[index] as ChatCompletion["choices"][number] & { logprobs?: unknown }, index);
  }
  return completion;
}

function tidyChoice(choice: ChatCompletion["choices"][number] & { logprobs?: unknown }, index: number): void {
  const { message } = choice;
  choice.index = index;
  choice.logprobs = normalizeLogprobs(choice.logprobs);
  message.role = "assistant";
  message.content ??= null;
  message.refusal ??= null;
  if (message.tool_calls === undefined || message.tool_calls === null || message.tool_calls.length === 0) {
    delete message.tool_calls;
  } else {
    for (const call of message.tool_calls) tidyToolCall(call);
  }
  choice.finish_reason = finishOf(choice.finish_reason, message.tool_calls !== undefined);
}

function tidyToolCall(call: ToolCall): void {
  call.id ||= makeToolCallId();
  call.type = "function";
}

/** An id for a tool call whose provider gave none. */
export function makeToolCallId(): string {
  return `call_${randomText(24)}`;
}

/** One of OpenAI's reasons; an answer with tool calls that "stopped" did so for them. */
export function finishOf(reason: string | null | undefined, hasToolCalls: boolean): FinishReason {
  if (hasToolCalls && (reason === "stop" || reason === null || reason === undefined)) return "tool_calls";
  return finishReasons.includes(reason as FinishReason) ? (reason as FinishReason) : "stop";
}

/** Usage with its sum, as OpenAI's schema wants it: details are there or left out, never `null`. */
export function normalizeUsage(usage: ChatUsage): ChatUsage {
  const completion = usage.completion_tokens === undefined ? 0 : usage.completion_tokens;
  const tidy = { ...usage, completion_tokens: completion, total_tokens: usage.prompt_tokens + completion };
  if (tidy.prompt_tokens_details === null) delete tidy.prompt_tokens_details;
  if (tidy.completion_tokens_details === null) delete tidy.completion_tokens_details;
  return tidy;
}

/** Both lists of log probabilities are always there in OpenAI's shape; providers leave out the one of refusals. */
export function normalizeLogprobs(logprobs: unknown): unknown {
  if (typeof logprobs !== "object" || logprobs === null) return null;
  return { content: null, refusal: null, ...logprobs };
}
