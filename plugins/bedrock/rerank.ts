import { type AnswerOf, type Call, isRecord, type RequestOf, UpstreamError, warnOfOthers } from "modelgate/plugin";

/**
 * Ranks with Cohere's and Amazon's models, which take their own bodies. The answer does not report the billed unit, a
 * query with up to 100 documents.
 */
export async function rerank(
  { request, model, upstream, warn }: Call<RequestOf<"rerank">>,
  path: string,
): Promise<AnswerOf<"rerank">> {
  const { query, documents, top_n } = request;
  warnOfOthers(request, ["model", "query", "documents", "top_n"], warn);
  const isCohere = model.upstreamId.includes("cohere.");
  const body = { query, documents, ...(top_n != null && { top_n }), ...(isCohere && { api_version: 2 }) };
  const answer = await upstream.json(path, body);
  const results = isRecord(answer) ? answer.results : undefined;
  if (!Array.isArray(results)) throw new UpstreamError("bad_response", "The provider's answer has no results");
  return { results: results.filter(isRecord).map(toRanked) };
}

function toRanked({ index, relevance_score: score }: Record<string, unknown>): AnswerOf<"rerank">["results"][number] {
  if (typeof index === "number" && typeof score === "number") return { index, relevance_score: score };
  throw new UpstreamError("bad_response", "A result of the provider has no index or score");
}
