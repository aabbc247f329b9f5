import {
  type AnswerOf,
  type Call,
  classifyError,
  type Handler,
  isRecord,
  type RequestOf,
  UpstreamError,
  warnOfOthers,
} from "modelgate/plugin";

const translated = ["model", "input", "dimensions", "encoding_format", "input_type"];
/** Number of requests at the same time: Titan takes one text per request. */
const parallelMax = 8;
/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed.html */
const cohereTextsMax = 96;

/** Vectors of Amazon's Titan and of Cohere, by as many requests as the texts need. */
export const embeddings: Handler<"embeddings"> = async (call) => {
  const { request, model, warn } = call;
  warnOfOthers(request, translated, warn);
  const texts = [request.input].flat().map(String);
  return model.upstreamId.includes("cohere.") ? await askCohere(call, texts) : await askTitan(call, texts);
};

const pathOf = (upstreamId: string) => `/model/${encodeURIComponent(upstreamId)}/invoke`;

/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html */
async function askTitan(
  { request, model, upstream }: Call<RequestOf<"embeddings">>,
  texts: string[],
): Promise<AnswerOf<"embeddings">> {
  const { dimensions } = request;
  const size = typeof dimensions === "number" ? { dimensions } : {};
  const vectors: number[][] = [];
  let tokens: number | undefined = 0;
  for (let start = 0; start < texts.length; start += parallelMax) {
    const part = texts.slice(start, start + parallelMax);
    const answers: unknown[] = await Promise.all(
      part.map((inputText) => upstream.json(pathOf(model.upstreamId), { inputText, ...size })),
    );
    for (const answer of answers) {
      const { embedding, inputTextTokenCount: count }: Record<string, unknown> = isRecord(answer) ? answer : {};
      if (!isVector(embedding)) throw classifyError(answer);
      vectors.push(embedding);
      tokens = tokens === undefined || typeof count !== "number" ? undefined : tokens + count;
    }
  }
  return { vectors, ...(tokens !== undefined && { usage: { prompt_tokens: tokens } }) };
}

/** Requests vectors from Cohere. Bedrock reports their tokens only in a header, so the gateway counts them. */
async function askCohere(
  { request, model, upstream }: Call<RequestOf<"embeddings">>,
  texts: string[],
): Promise<AnswerOf<"embeddings">> {
  const { dimensions, input_type: type = "search_document" } = request as {
    dimensions?: unknown;
    input_type?: unknown;
  };
  const vectors: number[][] = [];
  for (let start = 0; start < texts.length; start += cohereTextsMax) {
    const part = texts.slice(start, start + cohereTextsMax);
    const answer: unknown = await upstream.json(pathOf(model.upstreamId), {
      texts: part,
      input_type: type,
      ...(typeof dimensions === "number" && { output_dimension: dimensions }),
    });
    const embeddings = isRecord(answer) ? answer.embeddings : undefined;
    const vectorList = isRecord(embeddings) ? embeddings.float : embeddings;
    if (!Array.isArray(vectorList)) throw classifyError(answer);
    if (vectorList.length !== part.length || !vectorList.every(isVector)) {
      throw new UpstreamError("bad_response", `The provider's answer has not ${part.length} vectors`);
    }
    vectors.push(...vectorList);
  }
  return { vectors };
}

const isVector = (vector: unknown): vector is number[] => Array.isArray(vector) && typeof vector[0] === "number";
