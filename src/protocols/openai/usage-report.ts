import { countOutput, withEarlierFigures } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import { type AnswerUsage, toFigures } from "../../provider/index.ts";

/**
 * The `usage` of an answer of OpenAI's dialect, or of one of its events: at the top level or in one of its members, as in
 * `response` of the Responses protocol, or in its choice (Moonshot). A later report replaces an earlier one, but for a half that it lacks.
 *
 * @example
 * readUsage({ response: { usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 } } })?.total_tokens; // => 5
 */
export function readUsage(part: Record<string, unknown>, before?: AnswerUsage): AnswerUsage | undefined {
  const report = findReport(part);
  if (report === undefined) return before;
  const usage = completeUsage(report) as unknown as AnswerUsage;
  return before === undefined ? usage : withEarlierFigures(usage, before);
}

/** The report of an answer or of one of its events as its provider wrote it, wherever that is. */
export function findReport(part: Record<string, unknown>): Record<string, unknown> | undefined {
  if (isRecord(part.usage)) return part.usage;
  for (const name in part) {
    const member = part[name];
    if (isRecord(member) && isRecord(member.usage)) return member.usage;
  }
  const [choice]: unknown[] = Array.isArray(part.choices) ? part.choices : [];
  return isRecord(choice) && isRecord(choice.usage) ? choice.usage : undefined;
}

/**
 * A report in OpenAI's form, of a provider that puts its figures together otherwise. What belongs to what shows by the total, so
 * that no report of another meaning is changed:
 *
 * - reasoning or cached tokens that stand beside the others (xAI) are added to those that they belong to, and what only the total has
 *   (Gemini behind a proxy) to the output;
 * - cached tokens beside the details (`cached_tokens` of Moonshot, `prompt_cache_hit_tokens` of DeepSeek, `cache_read_input_tokens` and
 *   `cache_creation_input_tokens` of proxies) go into them;
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
  const written = promptDetails.cache_write_tokens ?? usage.cache_creation_input_tokens;
  const { reasoning_tokens: thought } = isRecord(usage.completion_tokens_details)
    ? usage.completion_tokens_details
    : {};
  const reasoning = typeof thought === "number" ? thought : 0;
  const inCache = (typeof cached === "number" ? cached : 0) + (typeof written === "number" ? written : 0);
  const apart = isCachedApart(inCache, prompt, total - prompt - completion, reasoning) ? inCache : 0;
  const added = {
    ...(typeof cached === "number" && promptDetails.cached_tokens === undefined && { cached_tokens: cached }),
    ...(typeof written === "number" &&
      promptDetails.cache_write_tokens === undefined &&
      inCache <= prompt + apart && { cache_write_tokens: written }),
  };
  const details = Object.keys(added).length > 0 ? { ...promptDetails, ...added } : undefined;
  const output = countOutput({ prompt: prompt + apart, output: completion, total });
  if (details === undefined && apart === 0 && output === completion) return usage;
  return {
    ...usage,
    ...(details && { prompt_tokens_details: details }),
    ...(apart > 0 && { prompt_tokens: prompt + apart }),
    ...(output > completion && { completion_tokens: output }),
  };
}

/** Whether cached tokens are no part of the prompt, by what the total has beyond prompt and completion. */
function isCachedApart(cached: number, prompt: number, rest: number, reasoning: number): boolean {
  return cached > 0 && (rest === cached + reasoning || (cached > prompt && rest === cached));
}
