import { type AnswerUsage, classifyError, type Handler, isRecord, warnOfOthers } from "modelgate/plugin";

const translated = ["model", "input", "dimensions", "encoding_format", "task_type"];
/**
 * Number of requests at the same time. Gemini's model takes one text per request, the others 250 with 20,000 tokens.
 */
const parallelMax = 8;

/** https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api */
export const embeddings: Handler<"embeddings"> = async ({ request, model, upstream, warn }) => {
  warnOfOthers(request, translated, warn);
  const { dimensions, task_type: type } = request as { dimensions?: unknown; task_type?: unknown };
  const parameters = typeof dimensions === "number" ? { parameters: { outputDimensionality: dimensions } } : {};
  const texts = [request.input].flat().map(String);
  const vectors: number[][] = [];
  let tokens: number | undefined = 0;
  for (let start = 0; start < texts.length; start += parallelMax) {
    const answers: unknown[] = await Promise.all(
      texts.slice(start, start + parallelMax).map((content) => {
        const instance = { content, ...(typeof type === "string" && { task_type: type }) };
        return upstream.json(`/models/${model.upstreamId}:predict`, { instances: [instance], ...parameters });
      }),
    );
    for (const answer of answers) {
      const { values, count } = findVector(answer) ?? {};
      if (!Array.isArray(values) || typeof values[0] !== "number") throw classifyError(answer);
      vectors.push(values);
      tokens = tokens === undefined || count === undefined ? undefined : tokens + count;
    }
  }
  return { vectors, ...(tokens !== undefined && { usage: { prompt_tokens: tokens } }) };
};

/** Reads the usage of an answer with vectors. */
export function readTokens(part: Record<string, unknown>): AnswerUsage | undefined {
  const count = findVector(part)?.count;
  return count === undefined ? undefined : { prompt_tokens: count, total_tokens: count };
}

function findVector(answer: unknown): { values: unknown; count: number | undefined } | undefined {
  const [prediction]: unknown[] = isRecord(answer) && Array.isArray(answer.predictions) ? answer.predictions : [];
  if (!isRecord(prediction) || !isRecord(prediction.embeddings)) return undefined;
  const { values, statistics } = prediction.embeddings;
  const count = isRecord(statistics) ? statistics.token_count : undefined;
  return { values, count: typeof count === "number" ? count : undefined };
}
