import { type Static, Type } from "@sinclair/typebox";
import { optional, type UnitsReport } from "../contract/index.ts";

/** Maximum number of documents of one request: Cohere's limit, applied to every provider. */
export const rerankDocumentsMax = 10_000;

/** Request of a `rerank` handler, whatever form the client used. Other fields pass to providers of the same dialect. */
export const RerankRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 200 }),
    query: Type.String({ minLength: 1 }),
    documents: Type.Array(Type.String(), { minItems: 1, maxItems: rerankDocumentsMax }),
    top_n: optional(Type.Integer({ minimum: 1, description: "How many results to return; default all" })),
  },
  { additionalProperties: true },
);
export type RerankRequest = Static<typeof RerankRequest>;

/** How relevant a document is, by its place in the request. */
export interface RankedDocument {
  index: number;
  relevance_score: number;
}

/** Answer of a `rerank` handler: the documents in any order, and the usage that the provider bills. */
export interface Ranking {
  results: RankedDocument[];
  usage?: ({ prompt_tokens?: number | undefined; search_units?: number | undefined } & UnitsReport) | undefined;
}
