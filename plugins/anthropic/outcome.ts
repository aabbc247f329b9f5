import { type ChatUsage, type FinishReason, isRecord } from "modelgate/plugin";
import type { MessageAnswer } from "./wire.ts";

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

/** @returns `undefined` when the report lacks the input or the output. */
export function toUsage(usage: Record<string, unknown> = {}): ChatUsage | undefined {
  const { input_tokens: input, output_tokens: output, output_tokens_details: details } = usage;
  const { cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage;
  if (typeof input !== "number" || typeof output !== "number") return undefined;
  const cached = {
    ...(typeof read === "number" && { cached_tokens: read }),
    ...(typeof written === "number" && { cache_write_tokens: written }),
  };
  const prompt = Object.values(cached).reduce((sum, count) => sum + count, input);
  const thought = isRecord(details) ? details.thinking_tokens : undefined;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: cached,
    ...(typeof thought === "number" && { completion_tokens_details: { reasoning_tokens: thought } }),
  };
}
