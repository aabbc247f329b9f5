import { type AnswerUsage, toFigures } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";

/**
 * The `usage` of an answer of OpenAI's dialect, or of one of its events: at the top level or in one of its members, as in
 * `response` of the Responses protocol. Later reports replace earlier ones.
 *
 * @example
 * readUsage({ response: { usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 } } })?.total_tokens; // => 5
 */
export function readUsage(part: Record<string, unknown>, before?: AnswerUsage): AnswerUsage | undefined {
  const usage = findUsage(part);
  return usage === undefined ? before : (completeUsage(usage) as unknown as AnswerUsage);
}

function findUsage(part: Record<string, unknown>): Record<string, unknown> | undefined {
  if (isRecord(part.usage)) return part.usage;
  for (const name in part) {
    const member = part[name];
    if (isRecord(member) && isRecord(member.usage)) return member.usage;
  }
  return undefined;
}

/**
 * A report in OpenAI's form, of a provider that puts its figures together otherwise. What belongs to what shows by the total, so
 * that no report of another meaning is changed:
 *
 * - reasoning or cached tokens that stand beside the others (xAI) are added to those that they belong to;
 * - cached tokens beside the details (`cached_tokens` of Moonshot, `prompt_cache_hit_tokens` of DeepSeek, `cache_read_input_tokens` of
 *   proxies) go into them;
 * - a total alone (Voyage, Jina) is that of the prompt, as for vectors.
 *
 * @example
 * completeUsage({ total_tokens: 7 }); // => { prompt_tokens: 7, total_tokens: 7 }
 */
export function completeUsage(reported: Record<string, unknown>): Record<string, unknown> {
  const usage = toFigures(reported);
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage;
  const beside = usage.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cache_read_input_tokens;
  if (typeof total !== "number") return usage;
  if (prompt === undefined && completion === undefined && usage.input_tokens === undefined) {
    return { prompt_tokens: total, ...usage };
  }
  if (typeof prompt !== "number" || typeof completion !== "number") return usage;
  const promptDetails = isRecord(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const cached = promptDetails.cached_tokens ?? beside;
  const details =
    typeof cached === "number" && promptDetails.cached_tokens === undefined
      ? { ...promptDetails, cached_tokens: cached }
      : undefined;
  const output = isRecord(usage.completion_tokens_details)
    ? usage.completion_tokens_details.reasoning_tokens
    : undefined;
  const reasoning = typeof output === "number" ? output : 0;
  const apart = typeof cached === "number" && cached > prompt ? cached : 0;
  const isApart = total === prompt + apart + completion + reasoning && apart + reasoning > 0;
  const isCachedApart = !isApart && apart > 0 && total === prompt + apart + completion;
  if (details === undefined && !isApart && !isCachedApart) return usage;
  return {
    ...usage,
    ...(details && { prompt_tokens_details: details }),
    ...((isApart || isCachedApart) && { prompt_tokens: prompt + apart }),
    ...(isApart && { completion_tokens: completion + reasoning }),
  };
}
