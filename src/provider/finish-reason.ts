import { quoteValue, UpstreamError } from "../contract/index.ts";
import { type FinishReason, finishReasons } from "./chat.ts";

/**
 * Words of providers for the end of an answer, by OpenAI's finish reason. They are in lower case with `_` between
 * words, because providers differ in that. A word that is not listed never means success.
 */
const words: Readonly<Record<FinishReason, string>> = {
  stop: `stop stopped stop_sequence stop_token eos eos_token endoftext end end_turn end_of_turn complete completed done finish
    finished success normal pause_turn`,
  tool_calls: "tool_calls tool_call tool_use",
  function_call: "function_call",
  length: `length max_length max_tokens max_output_tokens max_completion_tokens token_limit model_length context_length
    context_window_exceeded model_context_window_exceeded continuation`,
  content_filter: `content_filter content_filtered sensitive refusal refused guardrail_intervened moderation safety recitation
    language blocklist prohibited_content spii image_safety image_prohibited_content image_recitation error_toxic`,
};

/**
 * Words for a failure. Some providers also use `interruptions` for an answer that was cut off but whose text is of use.
 */
const interruptions = "network_error insufficient_system_resource";
const failures = `error errored failed failure server_error internal_error cancelled canceled abort aborted timeout timed_out`;

const listOf = (text: string) => text.split(/\s+/);
const reasonByWord: ReadonlyMap<string, FinishReason> = new Map(
  finishReasons.flatMap((reason) => listOf(words[reason]).map((word) => [word, reason] as const)),
);
const interruptionWords: ReadonlySet<string> = new Set(listOf(interruptions));
const failureWords: ReadonlySet<string> = new Set(listOf(failures));

const fold = (word: string) => word.toLowerCase().replaceAll("-", "_");

/**
 * Maps a provider's word to a finish reason. An unknown word is returned unchanged, and {@link judgeFinish} decides
 * about it. Without a word, the answer ended normally.
 *
 * @param hasCalls Whether the answer calls tools; absent if unknown. An answer with calls that "stopped" did so for
 *   them, and one without stopped for none.
 *
 * @example
 * toFinishReason("end_turn"); // => "stop"
 * toFinishReason("MAX_TOKENS"); // => "length"
 * toFinishReason("end_turn", true); // => "tool_calls"
 */
export function toFinishReason(word: unknown, hasCalls?: boolean): FinishReason {
  if (word === undefined || word === null || word === "") return hasCalls ? "tool_calls" : "stop";
  const reason = typeof word === "string" ? (reasonByWord.get(word) ?? reasonByWord.get(fold(word))) : undefined;
  if (hasCalls === true && reason === "stop") return "tool_calls";
  if (hasCalls === false && reason === "tool_calls") return "stop";
  return reason ?? (word as FinishReason);
}

/** Whether a provider's word says that its answer failed, regardless of the output so far. */
export function isFailedFinish(word: unknown): boolean {
  return typeof word === "string" && failureWords.has(fold(word));
}

/** Finish reasons that let a caller run the tool calls of an answer. */
const callReasons: ReadonlySet<FinishReason> = new Set(["stop", "tool_calls", "function_call"]);

/** State of an answer at its end. */
export interface AnswerSoFar {
  /** The answer has something of use to the caller: text, a call, audio. Reasoning alone does not count. */
  hasOutput: boolean;
  hasCalls?: boolean | undefined;
  /** The arguments of a call break off: whatever the provider says, its answer was cut. */
  hasBrokenCall?: boolean | undefined;
  /** The provider's own words on the reason. */
  message?: string | undefined;
  /** Called with a word that is unknown. */
  onUnknown?: ((word: string) => void) | undefined;
}

/**
 * Judges the finish reason of an answer that has ended. An unknown word never means success: an answer with output was
 * cut off, and one without output failed.
 *
 * @throws {UpstreamError} `bad_response` when the provider or its model failed.
 *
 * @example
 * judgeFinish("stop", { hasOutput: false }); // => "stop"
 * judgeFinish("a_word_of_tomorrow", { hasOutput: true }); // => "length"
 */
export function judgeFinish(
  word: unknown,
  { hasOutput, hasCalls, hasBrokenCall, message, onUnknown }: AnswerSoFar,
): FinishReason {
  const reason = toFinishReason(word, hasCalls);
  if (hasBrokenCall === true && callReasons.has(reason)) return "length";
  if (finishReasons.includes(reason)) return reason;
  const shown = typeof word === "string" ? word.slice(0, 64) : quoteValue(word);
  const isInterrupted = typeof word === "string" && interruptionWords.has(fold(word));
  const isFailed = isFailedFinish(word);
  if (!isInterrupted && !isFailed) onUnknown?.(shown);
  if (hasOutput && !isFailed) return "length";
  const why = message === undefined ? "" : `: ${message.slice(0, 300)}`;
  const what = isFailed || isInterrupted ? "The provider failed at its answer" : "The model gave no answer";
  const code = /^[\w.:-]+$/.test(shown) ? shown : undefined;
  // A caller's prompt can bring forth a call that is malformed, and a word that nobody knows.
  const isOfRequest = !isFailed && !isInterrupted;
  throw new UpstreamError("bad_response", `${what} (${shown})${why}`, { code, isOfRequest });
}

/** A call without a name can be made by no client. @throws {UpstreamError} For one. */
export function expectCallName(name: unknown): void {
  if (typeof name === "string" && name !== "") return;
  throw new UpstreamError("bad_response", "A tool call in the provider's answer names no function");
}

/** No model makes as many tool calls in one answer. */
const callsMax = 1024;

/** Calls are compared with each other, so their number is bounded. @throws {UpstreamError} For more than an answer has. */
export function expectFewCalls(count: number): void {
  if (count <= callsMax) return;
  throw new UpstreamError("bad_response", `The provider's response has more than ${callsMax} tool calls`, {
    isOfRequest: true,
  });
}
