import type { Call, ChatRequest, Model } from "../provider/index.ts";

/** Fields that every translation handles itself. */
const handled = ["model", "messages", "stream", "stream_options", "parallel_tool_calls"];

/**
 * Picks the fields of a chat request that a provider with its own wire format supports. Fields in the row's `omit`, and
 * untranslated fields, are left out and noted; `null` counts as absent.
 *
 * @param translated The fields that have a counterpart there.
 *
 * @example
 * const lost = [];
 * const request = { model: "m", messages: [], top_p: 0.9, seed: 7, stop: null };
 * const fields = pickSupportedFields(request, ["top_p", "stop"], {}, (message) => lost.push(message));
 * [fields, lost.length]; // => [{ model: "m", messages: [], top_p: 0.9 }, 1]
 */
export function pickSupportedFields(
  request: ChatRequest,
  translated: readonly string[],
  { omit = [] }: Model,
  warn: Call<ChatRequest>["warn"],
): ChatRequest {
  const present = Object.entries(request).filter(([, value]) => value !== undefined && value !== null);
  const supported = present.filter(
    ([field]) => handled.includes(field) || (translated.includes(field) && !omit.includes(field)),
  );
  const lost = present.filter((entry) => !supported.includes(entry)).map(([field]) => field);
  if (lost.length > 0) warn(`Left out, because the model does not take it: ${lost.join(", ")}`, lost);
  return Object.fromEntries(supported) as ChatRequest;
}

/**
 * Tells of the fields of a request that a provider with its own wire format is not sent.
 *
 * @param handled The fields that are translated, and those that ask nothing of the provider.
 *
 * @example
 * const lost = [];
 * warnOfOthers({ model: "m", style: "vivid", user: null }, ["model"], (_, fields) => lost.push(fields));
 * lost; // => [["style"]]
 */
export function warnOfOthers(request: object, handled: readonly string[], warn: Call<unknown>["warn"]): void {
  const others = Object.entries(request).filter(([field, value]) => value != null && !handled.includes(field));
  const fields = others.map(([field]) => field);
  if (fields.length > 0) warn(`Left out, because the model does not take it: ${fields.join(", ")}`, fields);
}
