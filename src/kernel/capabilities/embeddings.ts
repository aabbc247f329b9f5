import { Buffer } from "node:buffer";
import {
  type EmbeddingList,
  type Embeddings,
  type EmbeddingsRequest,
  GatewayError,
  type Model,
  UpstreamFault,
} from "../../contract/index.ts";
import { base64ToFloats, floatsToBase64 } from "../../sdk/base64.ts";
import { countTokens } from "../normalize/tokenizer.ts";
import { tokensMax } from "../normalize/usage.ts";
import { withFailover } from "../routing/failover.ts";
import type { ModelEntry } from "../routing/registry.ts";
import type { CapabilityHandler } from "../types.ts";

/** Tokens of all inputs of a request together: OpenAI's limit, applied to every provider. */
export const embeddingTokensMax = 300_000;
/** Ordinary text has shorter tokens on average: a longer text is refused without tokenizing it. */
const bytesPerTokenMax = 8;

export const embeddingsHandler: CapabilityHandler<"embeddings"> = {
  async validate({ request, modelEntry: { model } }) {
    checkDimensions(request.dimensions, model.dimensions, model.id);
    await checkLength(getInputs(request), model.inputTokensMax, model.id);
  },

  upperBound: ({ request, modelEntry: { model } }) => ({ inputToken: promptTokensMax(request, model) }),

  async estimate({ request }) {
    let inputToken = 0;
    for (const text of getInputs(request)) inputToken += await countTokens(text);
    return { inputToken };
  },

  async execute(kernel, call) {
    const { request, usageMeter } = call;
    const answer = await withFailover(kernel, call, {
      requestFor: () => request,
      async run(plugin, pluginCall) {
        const embeddings = await plugin.handlers.embeddings?.(pluginCall);
        if (!Array.isArray(embeddings?.vectors) || embeddings.vectors.length !== getInputs(request).length) {
          throw new UpstreamFault("bad_response", "The provider's answer does not have one vector for each input");
        }
        const vectors = embeddings.vectors.map((vector) => encodeVector(vector, request.encoding_format === "base64"));
        return { ...embeddings, vectors };
      },
    });
    call.firstByteMs = kernel.now() - call.startedMs;
    usageMeter.produced = true;
    usageMeter.complete = true;
    const reported = answer.usage?.prompt_tokens;
    if (Number.isSafeInteger(reported) && (reported as number) > 0)
      usageMeter.report({ inputToken: reported as number });
    const { inputToken } = (await usageMeter.count()).meters;
    return toList(answer, call.modelEntry.model.id, inputToken as number);
  },
};

function toList({ vectors }: Embeddings, model: string, tokens: number): EmbeddingList {
  const data = vectors.map((embedding, index) => ({ object: "embedding" as const, index, embedding }));
  return { object: "list", data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } };
}

/** A vector in the requested encoding. Called within the attempt, so that another route is tried after an invalid one. */
function encodeVector(vector: unknown, asBase64: boolean): number[] | string {
  if (Array.isArray(vector)) return asBase64 ? floatsToBase64(vector) : vector;
  try {
    if (typeof vector === "string") return asBase64 ? vector : base64ToFloats(vector);
  } catch {
    // Not base64, or not a whole number of floats.
  }
  throw new UpstreamFault("bad_response", "The provider returned an invalid embedding");
}

function getInputs(request: EmbeddingsRequest): string[] {
  return typeof request.input === "string" ? [request.input] : request.input;
}

function promptTokensMax(request: EmbeddingsRequest, { inputTokensMax = Number.POSITIVE_INFINITY }: Model): number {
  let tokens = 0;
  for (const text of getInputs(request)) tokens += Math.min(tokensMax(text), inputTokensMax);
  return Math.min(tokens, embeddingTokensMax);
}

function checkDimensions(
  wanted: number | null | undefined,
  bounds: ModelEntry["model"]["dimensions"],
  id: string,
): void {
  if (wanted === undefined || wanted === null || bounds === undefined) return;
  if (wanted >= bounds.min && wanted <= bounds.max) return;
  const allowed = bounds.min === bounds.max ? `only ${bounds.max}` : `${bounds.min} to ${bounds.max}`;
  const sentence = `dimensions is ${wanted}, but ${id} makes vectors of ${allowed}`;
  throw new GatewayError("invalid_request", sentence, { param: "dimensions" });
}

async function checkLength(inputs: string[], tokensMax: number | undefined, id: string): Promise<void> {
  let total = 0;
  for (const [index, text] of inputs.entries()) {
    const bytes = Buffer.byteLength(text);
    if (tokensMax !== undefined && bytes > tokensMax) {
      const tokens =
        bytes > tokensMax * bytesPerTokenMax ? Math.ceil(bytes / bytesPerTokenMax) : await countTokens(text);
      if (tokens > tokensMax)
        throw tooLong(inputs.length === 1 ? "input" : `input[${index}]`, tokens, `${id} takes ${tokensMax}`);
    }
    total += bytes / bytesPerTokenMax;
    if (total > embeddingTokensMax)
      throw tooLong("input", Math.ceil(total), `one request takes ${embeddingTokensMax} in all`);
  }
}

function tooLong(param: string, tokens: number, bound: string): GatewayError {
  return new GatewayError("context_length_exceeded", `${param} has about ${tokens} tokens, but ${bound}; send less`, {
    param,
  });
}
