import { getBasicMeters, isReportable, type Meters, UpstreamError } from "../../contract/index.ts";
import { type Model, type RankedDocument, type Ranking, RerankRequest } from "../../provider/index.ts";
import { withFailover } from "../failover.ts";
import { boundText, getContextTokensMax, textPieces, tokensMax } from "../normalize/prompt-bounds.ts";
import { countPieces } from "../normalize/tokenizer.ts";
import type { CapabilityHandler } from "../types.ts";

/** Tokens between a query and a document, and those that a model puts around both. */
const pairTokens = 16;
/** A search unit is a query with so many documents; a longer document counts as several. https://cohere.com/pricing */
const [unitDocuments, documentTokens] = [100, 500];
/** A long query leaves so much of each part to the document. */
const partTokensMin = 250;

export const rerankCapability: CapabilityHandler<"rerank"> = {
  validate() {},

  upperBound: ({ request, modelEntry: { model } }) => ({ upper: boundRequest(request, model) }),

  toReport: ({ modelEntry: { model } }, usage) => {
    const { prompt_tokens, total_tokens } = usage as { prompt_tokens?: unknown; total_tokens?: unknown };
    return toReported({ prompt_tokens: (prompt_tokens ?? total_tokens) as number | undefined }, model);
  },

  async estimate({ request, modelEntry: { model } }) {
    const { documents, ...others } = request;
    const query = await countPieces(textPieces(others, RerankRequest));
    if (isByUnit(model)) {
      const sizes = await Promise.all(documents.map((document) => countPieces([document])));
      return { searchUnit: countUnits(sizes, query, model) };
    }
    const texts = await countPieces(documents, true);
    const { inputToken = 0 } = boundRequest(request, model);
    return { inputToken: Math.min(texts + documents.length * query, inputToken) };
  },

  async execute(kernel, run) {
    const { request, usageMeter } = run;
    const ranking = await withFailover(kernel, run, {
      requestFor: () => request,
      run: async (plugin, pluginCall) => checkRanking(await plugin.handlers.rerank?.(pluginCall), request),
    });
    usageMeter.produced = true;
    usageMeter.complete = true;
    const reported = toReported(ranking.usage, run.modelEntry.model);
    if (reported !== undefined) usageMeter.report(reported, ranking.usage);
    return ranking;
  },
};

/** The query is read with each document, each pair up to what the model takes. */
function boundRequest({ documents, ...others }: RerankRequest, model: Model): Meters {
  const pairMax = getContextTokensMax(model) ?? Number.POSITIVE_INFINITY;
  const query = boundText(others, RerankRequest) + pairTokens;
  if (isByUnit(model)) return { searchUnit: countUnits(documents.map(tokensMax), query, model) };
  let inputToken = 0;
  for (const document of documents) inputToken += Math.min(query + tokensMax(document), pairMax);
  return { inputToken };
}

const isByUnit = ({ price }: Model) => getBasicMeters("rerank", price).includes("searchUnit");

/** The search units of documents of these lengths. */
function countUnits(lengths: readonly number[], queryTokens: number, model: Model): number {
  const partTokens = Math.max(partTokensMin, documentTokens - queryTokens);
  const lengthMax = getContextTokensMax(model) ?? Number.POSITIVE_INFINITY;
  let parts = 0;
  for (const length of lengths) parts += Math.max(1, Math.ceil(Math.min(length, lengthMax) / partTokens));
  return Math.ceil(parts / unitDocuments);
}

function toReported(usage: Ranking["usage"], model: Model): Meters | undefined {
  if (isByUnit(model)) {
    const units = usage?.search_units;
    return isReportable(units) && units > 0 ? { searchUnit: units } : undefined;
  }
  const tokens = usage?.prompt_tokens;
  return isReportable(tokens) && tokens > 0 ? { inputToken: tokens } : undefined;
}

/**
 * Sorts the ranking, the most relevant first, and returns at most the requested number.
 *
 * @throws {UpstreamError} For indexes that no document has.
 */
function checkRanking(ranking: Ranking | undefined, { documents, top_n: count }: RerankRequest): Ranking {
  const results: unknown = ranking?.results;
  const seen = new Set<number>();
  const isNew = ({ index, relevance_score: score }: RankedDocument) =>
    Number.isInteger(index) &&
    index >= 0 &&
    index < documents.length &&
    Number.isFinite(score) &&
    seen.size < seen.add(index).size;
  if (!Array.isArray(results) || results.length === 0 || !results.every(isNew)) {
    throw new UpstreamError("bad_response", "The provider's answer does not rank the documents of the request");
  }
  const sorted = results.toSorted((a, b) => b.relevance_score - a.relevance_score);
  return { results: sorted.slice(0, count ?? documents.length), usage: ranking?.usage };
}
