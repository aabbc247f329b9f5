import { UpstreamError } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import type { Call, ModerationRequest, ModerationResult, Moderations } from "../../provider/index.ts";
import { classifyError } from "../upstream-errors.ts";
import { type RequestOptions, resolveOptions, toBody } from "./request.ts";

/** The moderation handler of a provider that speaks OpenAI's dialect, as Mistral does too. */
export function moderationHandler(defaults: RequestOptions) {
  return async (call: Call<ModerationRequest>): Promise<Moderations> => {
    const body = toBody(call, resolveOptions(defaults, call.model));
    return toModerations(await call.upstream.json("/moderations", body));
  };
}

/**
 * The results of an answer. Mistral's do not say whether an input is flagged: it is where a category applies.
 *
 * @throws {UpstreamError} When the answer is an error, or a result has no categories.
 */
function toModerations(answer: unknown): Moderations {
  if (!isRecord(answer) || !Array.isArray(answer.results)) throw classifyError(answer);
  const results = answer.results.map(toResult);
  const tokens = isRecord(answer.usage) ? answer.usage.prompt_tokens : undefined;
  return typeof tokens === "number" ? { results, usage: { prompt_tokens: tokens } } : { results };
}

function toResult(item: unknown, index: number): ModerationResult {
  const {
    flagged,
    categories,
    category_scores: scores,
    category_applied_input_types: types,
  } = isRecord(item) ? item : {};
  if (!isRecord(categories) || !isRecord(scores)) {
    throw new UpstreamError("bad_response", `Result ${index} of the provider's answer has no categories`);
  }
  const applied = Object.fromEntries(Object.entries(categories).map(([name, applies]) => [name, applies === true]));
  return {
    flagged: typeof flagged === "boolean" ? flagged : Object.values(applied).includes(true),
    categories: applied,
    category_scores: Object.fromEntries(Object.entries(scores).filter(isScore)) as Record<string, number>,
    ...(isRecord(types) && { category_applied_input_types: types as Record<string, string[]> }),
  };
}

const isScore = ([, score]: [string, unknown]) => typeof score === "number" && Number.isFinite(score);
