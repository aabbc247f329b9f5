import { type AnswerUsage, classifyError, type Handler, isRecord, UpstreamError, warnOfOthers } from "modelgate/plugin";
import { readUsage as readOpenaiUsage } from "../../src/protocols/openai/usage-report.ts";

const translated = ["model", "input", "dimensions", "encoding_format", "input_type", "truncate"];
/** https://docs.cohere.com/reference/embed */
const textsMax = 96;

/** Vectors, by as many requests as the texts need. */
export const embeddings: Handler<"embeddings"> = async ({ request, model, upstream, warn }) => {
  warnOfOthers(request, translated, warn);
  const { input_type: type = "search_document", truncate } = request as { input_type?: unknown; truncate?: unknown };
  const texts = [request.input].flat().map(String);
  const { dimensions } = request;
  const vectors: number[][] = [];
  let tokens: number | undefined = 0;
  for (let start = 0; start < texts.length; start += textsMax) {
    const part = texts.slice(start, start + textsMax);
    const answer: unknown = await upstream.json("/v2/embed", {
      model: model.upstreamId,
      texts: part,
      input_type: type,
      embedding_types: ["float"],
      ...(typeof dimensions === "number" && { output_dimension: dimensions }),
      ...(typeof truncate === "string" && { truncate }),
    });
    vectors.push(...readVectors(answer, part.length));
    const billed = readBilled(answer);
    tokens = tokens === undefined || billed === undefined ? undefined : tokens + billed;
  }
  return { vectors, ...(tokens !== undefined && { usage: { prompt_tokens: tokens } }) };
};

function readVectors(answer: unknown, count: number): number[][] {
  const vectors = isRecord(answer) && isRecord(answer.embeddings) ? answer.embeddings.float : undefined;
  if (!Array.isArray(vectors)) throw classifyError(answer);
  const isVector = (vector: unknown) => Array.isArray(vector) && typeof vector[0] === "number";
  if (vectors.length === count && vectors.every(isVector)) return vectors;
  throw new UpstreamError("bad_response", `The provider's answer has not ${count} vectors`);
}

function readBilled(answer: unknown): number | undefined {
  const units = isRecord(answer) && isRecord(answer.meta) ? answer.meta.billed_units : undefined;
  return isRecord(units) && typeof units.input_tokens === "number" ? units.input_tokens : undefined;
}

/** Reads the usage of an answer: chat reports it in OpenAI's form, embeddings in Cohere's own. */
export function readUsage(part: Record<string, unknown>, before?: AnswerUsage): AnswerUsage | undefined {
  const billed = readBilled(part);
  return billed === undefined ? readOpenaiUsage(part, before) : { prompt_tokens: billed, total_tokens: billed };
}
