import { type Handler, type RequestOf, UpstreamError, warnOfOthers } from "modelgate/plugin";

/** How many texts one request takes, and how many requests go at once. https://ai.google.dev/api/embeddings */
const [textsMax, requestsAtOnceMax] = [100, 4] as const;
/** Requests, and the number of vectors in the answer to each: one text alone, more of them in batches. */
export function toEmbedOrders({ input, dimensions }: RequestOf<"embeddings">, upstreamId: string) {
  const model = `models/${upstreamId}`;
  const requests = [input].flat().map((text) => {
    return { model, content: { parts: [{ text }] }, outputDimensionality: dimensions ?? undefined };
  });
  if (requests.length === 1) return [{ path: `/${model}:embedContent`, body: { ...requests[0] }, count: 1 }];
  return Array.from({ length: Math.ceil(requests.length / textsMax) }, (_, index) => {
    const batch = requests.slice(index * textsMax, (index + 1) * textsMax);
    return { path: `/${model}:batchEmbedContents`, body: { requests: batch }, count: batch.length };
  });
}

/** @throws {UpstreamError} `bad_response` when there is not one vector for each text. */
export function fromEmbedAnswer(answer: unknown, count: number): number[][] {
  type Vector = { values?: number[] } | undefined;
  const { embedding, embeddings = [embedding] } = (answer ?? {}) as { embedding?: Vector; embeddings?: Vector[] };
  const vectors = [embeddings].flat().map((vector) => (Array.isArray(vector?.values) ? vector.values : []));
  if (vectors.length === count && vectors.every((vector) => vector.length > 0)) return vectors;
  throw new UpstreamError("bad_response", `The provider did not answer ${count} vectors that are not empty`);
}

/** The vectors in input order. The provider does not say what they cost in tokens. */
export const embeddings: Handler<"embeddings"> = async ({ request, model, upstream, warn }) => {
  warnOfOthers(request, ["model", "input", "dimensions", "encoding_format"], warn);
  const orders = toEmbedOrders(request, model.upstreamId);
  const vectors: number[][] = [];
  while (orders.length > 0) {
    const answers = orders.splice(0, requestsAtOnceMax).map(async ({ path, body, count }) => {
      return fromEmbedAnswer(await upstream.json(path, body), count);
    });
    vectors.push(...(await Promise.all(answers)).flat());
  }
  return { vectors };
};
