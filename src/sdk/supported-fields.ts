import type { ChatRequest, Model } from "../contract/index.ts";

/** Fields that ask nothing of the model: leaving them out is no loss. */
const silent = new Set(
  `model messages stream stream_options user metadata store safety_identifier prompt_cache_key
  parallel_tool_calls`.split(/\s+/),
);

/**
 * The part of a chat request that a provider with its own wire format can be told. Fields in the row's `omit`, and those
 * that are not translated, are left out and noted; `null` is taken for absent.
 *
 * @param translated The fields that have a counterpart there.
 *
 * @example
 * const lost = [];
 * const request = { model: "m", messages: [], top_p: 0.9, seed: 7, stop: null };
 * const asked = pickSupportedFields(request, ["top_p", "stop"], {}, (sentence) => lost.push(sentence));
 * [asked, lost.length]; // => [{ model: "m", messages: [], top_p: 0.9 }, 1]
 */
export function pickSupportedFields(
  request: ChatRequest,
  translated: readonly string[],
  { omit = [] }: Model,
  warn: (sentence: string) => void,
): ChatRequest {
  const present = Object.entries(request).filter(([, value]) => value !== undefined && value !== null);
  const kept = present.filter(([field]) => silent.has(field) || (translated.includes(field) && !omit.includes(field)));
  const lost = present.filter((entry) => !kept.includes(entry)).map(([field]) => field);
  if (lost.length > 0) warn(`Left out, because the model does not take it: ${lost.join(", ")}`);
  return Object.fromEntries(kept) as ChatRequest;
}
