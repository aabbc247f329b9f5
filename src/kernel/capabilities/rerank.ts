import {
  isReportable,
  type Meters,
  type Model,
  type RankedDocument,
  type Ranking,
  RerankRequest,
  UpstreamFault,
} from "../../contract/index.ts";
import { withFailover } from "../failover.ts";
import { boundText, getContextTokensMax, readText, tokensMax } from "../normalize/prompt-bounds.ts";
import { countPieces } from "../normalize/tokenizer.ts";
import type { CapabilityHandler } from "../types.ts";

/** What separates a query from a document, and what a model puts around both. */
const pairTokens = 16;

export const rerankHandler: CapabilityHandler<"rerank"> = {
  validate() {},

  upperBound: ({ request, modelEntry: { model } }) => boundRequest(request, model),

  toReport: (_, usage) => {
    const { prompt_tokens, total_tokens } = usage as { prompt_tokens?: unknown; total_tokens?: unknown };
    return toReported({ prompt_tokens: (prompt_tokens ?? total_tokens) as number | undefined });
  },

  async estimate({ request, modelEntry: { model } }) {
    const { documents, ...others } = request;
    const query = await countPieces(readText(others, RerankRequest));
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
    const reported = toReported(ranking.usage);
    if (reported !== undefined) usageMeter.report(reported);
    return ranking;
  },
};

/** The query is read with each document, each pair up to what the model takes. */
function boundRequest({ documents, ...others }: RerankRequest, model: Model): Meters {
  const pairMax = getContextTokensMax(model) ?? Number.POSITIVE_INFINITY;
  const query = boundText(others, RerankRequest) + pairTokens;
  let inputToken = 0;
  for (const document of documents) inputToken += Math.min(query + tokensMax(document), pairMax);
  return { inputToken };
}

function toReported(usage: Ranking["usage"]): Meters | undefined {
  const tokens = usage?.prompt_tokens;
  return isReportable(tokens) && tokens > 0 ? { inputToken: tokens } : undefined;
}

/** The most relevant first, at most as many as were asked for. @throws {UpstreamFault} For places that no document has. */
function checkRanking(ranking: Ranking | undefined, { documents, top_n: wanted }: RerankRequest): Ranking {
  const results: unknown = ranking?.results;
  const seen = new Set<number>();
  const isNew = ({ index, relevance_score: score }: RankedDocument) =>
    Number.isInteger(index) &&
    index >= 0 &&
    index < documents.length &&
    Number.isFinite(score) &&
    seen.size < seen.add(index).size;
  if (!Array.isArray(results) || results.length === 0 || !results.every(isNew)) {
    throw new UpstreamFault("bad_response", "The provider's answer does not rank the documents of the request");
  }
  const sorted = results.toSorted((a, b) => b.relevance_score - a.relevance_score);
  return { results: sorted.slice(0, wanted ?? documents.length), usage: ranking?.usage };
}
