import { UpstreamError } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import type { Call, RankedDocument, Ranking, RerankRequest } from "../../provider/index.ts";
import { type RequestOptions, resolveOptions, toBody } from "../openai/request.ts";
import { classifyError } from "../upstream-errors.ts";

/**
 * The rerank handler of a provider that takes `query` and `documents`, as Cohere, Jina, Voyage, vLLM and Together do. They
 * differ in the path, in the name of `top_n`, and in where the answer has its list and what is billed.
 */
export function rerankHandler(defaults: RequestOptions) {
  return async (call: Call<RerankRequest>): Promise<Ranking> => {
    const body = toBody(call, resolveOptions(defaults, call.model));
    return toRanking(await call.upstream.json("/rerank", body));
  };
}

/**
 * The ranking of an answer: its `results` or `data`, and its use by `meta.billed_units` or `usage`.
 *
 * @throws {UpstreamError} When the answer is an error, or not a list of scores.
 *
 * @example
 * toRanking({ results: [{ index: 1, relevance_score: 0.9 }], usage: { total_tokens: 12 } }).usage; // => { prompt_tokens: 12 }
 */
export function toRanking(answer: unknown): Ranking {
  const list = isRecord(answer) ? (answer.results ?? answer.data) : undefined;
  if (!isRecord(answer) || !Array.isArray(list)) throw classifyError(answer);
  const results = list.map((item: unknown): RankedDocument => {
    const { index, relevance_score: score } = isRecord(item) ? item : {};
    if (typeof index === "number" && typeof score === "number") return { index, relevance_score: score };
    throw new UpstreamError("bad_response", "The provider's answer has a result without index or relevance_score");
  });
  const usage = readRerankUsage(answer);
  return usage === undefined ? { results } : { results, usage };
}

function readRerankUsage({ meta, usage }: Record<string, unknown>): Ranking["usage"] {
  const billed = isRecord(meta) && isRecord(meta.billed_units) ? meta.billed_units : {};
  const figures = isRecord(usage) ? usage : {};
  const tokens = [billed.input_tokens, figures.total_tokens, figures.prompt_tokens].find(
    (each) => typeof each === "number",
  );
  const units = billed.search_units;
  if (tokens === undefined && typeof units !== "number") return undefined;
  return {
    ...(tokens !== undefined && { prompt_tokens: tokens as number }),
    ...(typeof units === "number" && { search_units: units }),
  };
}
