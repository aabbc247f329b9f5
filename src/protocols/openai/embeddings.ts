import { UpstreamError } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import type { Call, Embeddings, EmbeddingsRequest } from "../../provider/index.ts";
import { classifyError } from "../upstream-errors.ts";
import { type EmbeddingsOptions, resolveOptions, toBody } from "./request.ts";
import { completeUsage } from "./usage-report.ts";

/** The embedding handler of a provider that speaks OpenAI's dialect. */
export function embeddingsHandler(options: EmbeddingsOptions) {
  return async (call: Call<EmbeddingsRequest>): Promise<Embeddings> => {
    const body = toBody(call, resolveOptions(options, call.model));
    return toEmbeddings(await call.upstream.json("/embeddings", body));
  };
}

/**
 * The vectors of an answer in input order, as floats or base64, as the provider sent them.
 *
 * @throws {UpstreamError} When the answer is an error, or not a list of vectors.
 */
export function toEmbeddings(answer: unknown): Embeddings {
  if (!isRecord(answer) || !Array.isArray(answer.data)) throw classifyError(answer);
  const rows: unknown[] = answer.data;
  const vectors = new Array<number[] | string>(rows.length);
  for (const [position, row] of rows.entries()) {
    const index = isRecord(row) && Number.isInteger(row.index) ? (row.index as number) : position;
    const vector = isRecord(row) ? row.embedding : undefined;
    const isVector = typeof vector === "string" || (Array.isArray(vector) && typeof vector[0] === "number");
    if (!isVector || index < 0 || index >= rows.length || vectors[index] !== undefined) {
      throw new UpstreamError("bad_response", `The provider's answer has no vector for input ${index}`);
    }
    vectors[index] = vector;
  }
  const usage = isRecord(answer.usage) ? completeUsage(answer.usage).prompt_tokens : undefined;
  return typeof usage === "number" ? { vectors, usage: { prompt_tokens: usage } } : { vectors };
}
