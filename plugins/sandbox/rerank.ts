import type { Handler } from "modelgate/plugin";
import { applyFaults, failWhole, readFaults } from "./faults.ts";
import { toPieces } from "./reply.ts";

/** Scores a document by the share of the query's words that it has. */
export const rerank: Handler<"rerank"> = async ({ request, signal }) => {
  const { query, documents } = request;
  const { text, faults } = readFaults(query);
  await applyFaults(faults, signal);
  failWhole(faults);
  const queryWords = toWords(text);
  const results = documents.map((document, index) => {
    const words = toWords(document);
    const shared = [...queryWords].filter((word) => words.has(word)).length;
    return { index, relevance_score: queryWords.size === 0 ? 0 : shared / queryWords.size };
  });
  if (faults.usageMissing) return { results };
  const queryTokens = toPieces(query).length;
  let tokens = 0;
  for (const document of documents) tokens += queryTokens + toPieces(document).length;
  return { results, usage: { prompt_tokens: tokens } };
};

function toWords(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}
