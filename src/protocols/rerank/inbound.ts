import { type Static, Type } from "@sinclair/typebox";
import { optional } from "../../contract/index.ts";
import { type RankedDocument, RerankRequest, rerankDocumentsMax } from "../../provider/index.ts";

const { documents: _, ...fields } = RerankRequest.properties;

/** A document: its text, or an object whose fields are its text. */
const Document = Type.Union([Type.String(), Type.Record(Type.String(), Type.Unknown())]);
type Document = Static<typeof Document>;

/** Body of POST /rerank, in the forms of Cohere (v1 and v2), Jina, vLLM and Voyage. */
export const RerankBody = Type.Object(
  {
    ...fields,
    documents: Type.Array(Document, { minItems: 1, maxItems: rerankDocumentsMax }),
    top_k: optional(Type.Integer({ minimum: 1, description: "Voyage's name of `top_n`" })),
    return_documents: optional(Type.Boolean()),
    rank_fields: optional(
      Type.Array(Type.String({ minLength: 1 }), { minItems: 1, description: "Fields of documents that are objects" }),
    ),
  },
  { additionalProperties: true },
);
export type RerankBody = Static<typeof RerankBody>;

const Result = Type.Object({
  index: Type.Integer({ description: "Place of the document in the request, from 0" }),
  relevance_score: Type.Number({ description: "Higher is more relevant; most models score from 0 to 1" }),
  document: Type.Optional(Type.Union([Type.Object({ text: Type.String() }), Type.String()])),
});

const Usage = Type.Object({ total_tokens: Type.Integer() });

/** The answer in Cohere's and Jina's form, plus Voyage's list. */
export const RerankResponse = Type.Object({
  id: Type.String(),
  object: Type.Literal("list"),
  model: Type.String(),
  results: Type.Array(Result),
  data: Type.Array(Result),
  meta: Type.Object({
    api_version: Type.Object({ version: Type.String() }),
    billed_units: Type.Object({
      search_units: Type.Optional(Type.Integer()),
      input_tokens: Type.Optional(Type.Integer()),
    }),
  }),
  usage: Type.Optional(Usage),
});

/** The answer in Voyage's form. */
export const RerankList = Type.Object({
  object: Type.Literal("list"),
  data: Type.Array(Result),
  model: Type.String(),
  usage: Type.Object({
    total_tokens: Type.Union([Type.Integer(), Type.Null()], { description: "Null where the provider does not say" }),
  }),
});

/** The request for plugins: documents as texts, `top_n` alone. Documents of the answer are the gateway's to add. */
export function toRerankRequest({ top_k, return_documents: __, rank_fields, ...body }: RerankBody): RerankRequest {
  const documents = body.documents.map((document) => toText(document, rank_fields ?? undefined));
  const count = body.top_n ?? top_k;
  return { ...body, documents, ...(count != null && { top_n: count }) };
}

/** An object of one text is that text; the fields of others are lines of YAML, as Cohere recommends them. */
function toText(document: Document, rankFields: readonly string[] | undefined): string {
  if (typeof document === "string") return document;
  const entries = Object.entries(document).filter(([name]) => rankFields === undefined || rankFields.includes(name));
  const [first] = entries;
  if (first !== undefined && entries.length === 1 && typeof first[1] === "string") return first[1];
  return entries
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("\n");
}

/** Fields of a call that an answer is made from. */
interface Answered {
  readonly id: string;
  readonly model: string;
  readonly results: readonly RankedDocument[];
  readonly tokens: number | undefined;
  readonly searchUnits: number | undefined;
}

/**
 * The answer to a request. Who sends `truncation` or `top_k` is a client of Voyage, which reads a list named `data`; others read
 * `results`, or are one of Voyage's that sent neither: they get both.
 */
export function toRerankResponse(
  body: RerankBody,
  documents: readonly string[],
  { id, model, results, tokens, searchUnits }: Answered,
): Static<typeof RerankResponse> | Static<typeof RerankList> {
  const isVoyage = "truncation" in body || "top_k" in body;
  const data = results.map(({ index, relevance_score }) => {
    if (body.return_documents !== true) return { index, relevance_score };
    return { index, relevance_score, document: documents[index] as string };
  });
  const usage = tokens === undefined ? undefined : { total_tokens: tokens };
  if (isVoyage) return { object: "list", data, model, usage: usage ?? { total_tokens: null } };
  const billed = {
    ...(searchUnits !== undefined && { search_units: searchUnits }),
    ...(tokens !== undefined && { input_tokens: tokens }),
  };
  return {
    id,
    object: "list",
    model,
    results: data.map(({ document, ...rest }) =>
      document === undefined ? rest : { ...rest, document: { text: document } },
    ),
    data,
    meta: { api_version: { version: "2" }, billed_units: billed },
    ...(usage && { usage }),
  };
}
