import {
  type ChatChunk,
  type ChatCompletion,
  type ChunkChoice,
  type FinishReason,
  finishReasons,
  randomText,
  type ToolCall,
} from "../../contract/index.ts";
import { getSound } from "./sound.ts";
import { getCallTexts } from "./tool-call.ts";

/** What every chunk of an answer carries. */
export interface AnswerHead {
  /** `chatcmpl-…` */
  id: string;
  /** Seconds since 1970. */
  created: number;
  /** The public model id. */
  model: string;
}

/** The head of a call's answer. Its id is the call's with another prefix. */
export function createAnswerHead(callId: string, model: string, nowMs: number): AnswerHead {
  return { id: `chatcmpl-${callId.slice(4)}`, created: Math.floor(nowMs / 1000), model };
}

/**
 * Brings a provider's completion into the shape clients expect: our id and model name, `refusal` and `logprobs` always
 * present, ids on tool calls, one of OpenAI's finish reasons. Changes the object itself.
 */
export function normalizeCompletion(raw: ChatCompletion, head: AnswerHead): ChatCompletion {
  const completion = raw as ChatCompletion & { system_fingerprint?: unknown };
  completion.id = head.id;
  completion.object = "chat.completion";
  completion.created = Number.isSafeInteger(raw.created) && raw.created > 0 ? raw.created : head.created;
  completion.model = head.model;
  if (typeof completion.system_fingerprint !== "string") delete completion.system_fingerprint;
  for (let index = 0; index < raw.choices.length; index++) {
    normalizeChoice(raw.choices[index] as ChatCompletion["choices"][number] & { logprobs?: unknown }, index);
  }
  return completion;
}

function normalizeChoice(choice: ChatCompletion["choices"][number] & { logprobs?: unknown }, index: number): void {
  const { message } = choice;
  choice.index = index;
  choice.logprobs = normalizeLogprobs(choice.logprobs);
  message.role = "assistant";
  message.content ??= null;
  message.refusal ??= null;
  if (message.tool_calls === undefined || message.tool_calls === null || message.tool_calls.length === 0) {
    delete message.tool_calls;
  } else {
    for (const call of message.tool_calls) normalizeToolCall(call);
  }
  choice.finish_reason = toFinishReason(choice.finish_reason, message.tool_calls !== undefined);
}

function normalizeToolCall(call: ToolCall): void {
  call.id ||= makeToolCallId();
  if (!("custom" in call)) call.type = "function";
}

/** An id for a tool call without one. */
export function makeToolCallId(): string {
  return `call_${randomText(24)}`;
}

/** One of OpenAI's finish reasons. An answer with tool calls that "stopped" did so for them. */
export function toFinishReason(reason: string | null | undefined, hasToolCalls: boolean): FinishReason {
  if (hasToolCalls && (reason === "stop" || reason === null || reason === undefined)) return "tool_calls";
  return finishReasons.includes(reason as FinishReason) ? (reason as FinishReason) : "stop";
}

/** OpenAI's shape has both lists of log probabilities; providers leave out the one of refusals. */
export function normalizeLogprobs(logprobs: unknown): unknown {
  if (typeof logprobs !== "object" || logprobs === null) return null;
  return { content: null, refusal: null, ...logprobs };
}

/** All text of a completion. */
export function collectText(completion: Pick<ChatCompletion, "choices">): string {
  let text = "";
  for (const { message } of completion.choices) {
    const parts: unknown[] = [message.content, message.reasoning_content, message.refusal];
    parts.push(getSound(message)?.transcript);
    for (const call of message.tool_calls ?? []) parts.push(...getCallTexts(call));
    for (const part of parts) if (part) text += typeof part === "string" ? part : JSON.stringify(part);
  }
  return text;
}

/** A completion as the chunks of a stream, for providers that do not stream it. */
export function toChunks(completion: ChatCompletion): ChatChunk[] {
  const begun = completion.choices.map(
    ({ message: { role: _, ...delta } }, index) => ({ index, delta }) as ChunkChoice,
  );
  const ended = completion.choices.map(({ finish_reason }, index): ChunkChoice => {
    return { index, delta: {}, finish_reason: finish_reason ?? "stop" };
  });
  const usage = completion.usage ? [{ choices: [], usage: completion.usage }] : [];
  return [{ choices: begun }, { choices: ended }, ...usage];
}
