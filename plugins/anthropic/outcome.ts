import type { ChatUsage, FinishReason } from "modelgate/plugin";
import type { MessageUsage, Reading, Stop } from "./wire.ts";

const finishReasons: Record<string, FinishReason> = {
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "content_filter",
};

/** Why an answer ended. Every reason not named above is the caller's turn: to answer, or to do the calls. */
export function toFinishReason(stop: Stop, callCount: number, reading: Reading): FinishReason {
  const calls = reading.legacy ? "function_call" : "tool_calls";
  return finishReasons[stop.stop_reason ?? ""] ?? (callCount > 0 ? calls : "stop");
}

/** What the provider says of a refusal, where it says something. */
export function toRefusal(stop: Stop): string | null {
  return stop.stop_reason === "refusal" ? (stop.stop_details?.explanation ?? null) : null;
}

/** @returns `undefined` when the report lacks the input or the output. */
export function toUsage(usage: MessageUsage): ChatUsage | undefined {
  const { input_tokens: input, output_tokens: output, output_tokens_details: details } = usage;
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage;
  if (typeof input !== "number" || typeof output !== "number") return undefined;
  const cached = {
    ...(typeof read === "number" && { cached_tokens: read }),
    ...(typeof written === "number" && { cache_write_tokens: written }),
  };
  const prompt = Object.values(cached).reduce((sum, count) => sum + count, input);
  const thought = details?.thinking_tokens;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: cached,
    ...(typeof thought === "number" && { completion_tokens_details: { reasoning_tokens: thought } }),
  };
}
