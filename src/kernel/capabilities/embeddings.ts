import { Buffer } from "node:buffer";
import { GatewayError, isReportable, UpstreamError } from "../../contract/index.ts";
import { base64ToFloats, floatsToBase64 } from "../../lib/base64.ts";
import {
  type Call,
  type EmbeddingList,
  type Embeddings,
  type EmbeddingsBody,
  EmbeddingsRequest,
  embeddingTokensMax,
  getDisplayName,
  type Model,
} from "../../provider/index.ts";
import { withFailover } from "../failover.ts";
import { boundText, textPieces, tokensMax } from "../normalize/prompt-bounds.ts";
import { countedCharactersMax, countPieces, countTokens, decodeTokens } from "../normalize/tokenizer.ts";
import type { CapabilityHandler } from "../types.ts";
import { refuseOtherSchemes } from "../upstream/media-addresses.ts";

/** Ordinary text has shorter tokens on average: a longer text is refused without tokenizing it. */
const bytesPerTokenMax = 8;
/** A foreign vocabulary counts up to a quarter more tokens than the model's own, so only what is beyond is refused. */
const foreignMargin = 1.25;

export const embeddingsCapability: CapabilityHandler<"embeddings"> = {
  validate({ request, modelEntry }) {
    const { model, routes } = modelEntry;
    checkDimensions(request.dimensions, model);
    // Some servers accept messages with images in addition to the input.
    const { input: _, ...others } = request;
    refuseOtherSchemes(others);
    checkLengths(getInputs(request), model);
    if (!isTokens(request) || routes.every(({ plugin }) => plugin.takes?.includes("tokenInput"))) return undefined;
    return decodeInputs(request).then((input) => {
      checkLengths(input, model);
      return { ...request, input };
    });
  },

  upperBound: ({ request, modelEntry: { model } }) => ({ upper: { inputToken: promptTokensMax(request, model) } }),

  toReport: (_, usage) => {
    const { prompt_tokens: tokens } = usage as { prompt_tokens?: unknown };
    return isReportable(tokens) && tokens > 0 ? { inputToken: tokens } : undefined;
  },

  async estimate({ request }) {
    const inputs = getInputs(request);
    const texts = inputs.filter((input) => typeof input === "string");
    const tokens = inputs.reduce((sum, input) => sum + (typeof input === "string" ? 0 : input.length), 0);
    const { input: _, user, ...others } = request;
    const otherTokens =
      inputs.length * (await countPieces(textPieces(others, EmbeddingsRequest))) +
      (await countPieces(user ? [user] : []));
    return { inputToken: tokens + (await countPieces(texts, true)) + otherTokens };
  },

  async execute(kernel, run) {
    const { request, usageMeter } = run;
    await checkTokens(getInputs(request), run.modelEntry.model);
    const answer = await withFailover(kernel, run, {
      requestFor: () => request,
      async run(plugin, pluginCall) {
        // Tokens are left only where every plugin takes them.
        const embeddings = await plugin.handlers.embeddings?.(pluginCall as Call<EmbeddingsRequest>);
        if (!Array.isArray(embeddings?.vectors) || embeddings.vectors.length !== getInputs(request).length) {
          throw new UpstreamError("bad_response", "The provider's answer does not have one vector for each input");
        }
        const vectors = embeddings.vectors.map((vector) => encodeVector(vector, request.encoding_format === "base64"));
        return { ...embeddings, vectors };
      },
    });
    usageMeter.produced = true;
    usageMeter.complete = true;
    const reported = answer.usage?.prompt_tokens;
    if (isReportable(reported) && reported > 0) usageMeter.report({ inputToken: reported }, answer.usage);
    const { inputToken } = (await usageMeter.count()).meters;
    return toList(answer, run.publicName, inputToken as number);
  },
};

function toList({ vectors }: Embeddings, model: string, tokens: number): EmbeddingList {
  const data = vectors.map((embedding, index) => ({ object: "embedding" as const, index, embedding }));
  return { object: "list", data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } };
}

/**
 * A vector in the requested encoding. Called within the attempt, so an invalid vector makes the call try another route.
 */
function encodeVector(vector: unknown, asBase64: boolean): number[] | string {
  if (Array.isArray(vector)) return asBase64 ? floatsToBase64(vector) : vector;
  try {
    if (typeof vector === "string") return asBase64 ? vector : base64ToFloats(vector);
  } catch {
    // Not base64, or not a whole number of floats.
  }
  throw new UpstreamError("bad_response", "The provider returned an invalid embedding");
}

/** An input: a text, or its tokens. */
type Input = string | number[];

function getInputs({ input }: EmbeddingsBody): Input[] {
  return typeof input === "string" || typeof input[0] === "number" ? [input as Input] : (input as Input[]);
}

function isTokens(request: EmbeddingsBody): boolean {
  return typeof getInputs(request)[0] !== "string";
}

/** @throws {GatewayError} `invalid_request` for a token that the vocabulary does not have. */
async function decodeInputs(request: EmbeddingsBody): Promise<string[]> {
  const texts: string[] = [];
  for (const input of getInputs(request) as number[][]) {
    try {
      texts.push(await decodeTokens(input));
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause;
      const message = `input[${texts.length}] has a token that cl100k_base does not have; send text`;
      throw new GatewayError("invalid_request", message, { param: "input", cause });
    }
  }
  return texts;
}

/** The inputs, each up to what the model takes, with all other text of the request: a provider may put it before each. */
function promptTokensMax(request: EmbeddingsBody, { inputTokensMax = Number.POSITIVE_INFINITY }: Model): number {
  const { input: _, user, ...others } = request;
  const otherTokens = boundText(others, EmbeddingsRequest);
  let tokens = user ? tokensMax(user) : 0;
  for (const input of getInputs(request)) {
    const own = typeof input === "string" ? tokensMax(input) : input.length;
    tokens += Math.min(own + otherTokens, inputTokensMax);
  }
  return tokens;
}

function checkDimensions(dimensions: number | null | undefined, model: Model): void {
  const { dimensions: bounds } = model;
  if (dimensions === undefined || dimensions === null || bounds === undefined) return;
  if (dimensions >= bounds.min && dimensions <= bounds.max) return;
  const allowed = bounds.min === bounds.max ? `only ${bounds.max}` : `${bounds.min} to ${bounds.max}`;
  const message = `dimensions is ${dimensions}, but ${getDisplayName(model)} makes vectors of ${allowed}`;
  throw new GatewayError("invalid_request", message, { param: "dimensions" });
}

/** Refuses, before anything is held, what is too long in any vocabulary. */
function checkLengths(inputs: Input[], model: Model): void {
  const { inputTokensMax } = model;
  const margin = isOpenai(model) ? 1 : foreignMargin;
  let total = 0;
  for (const [index, input] of inputs.entries()) {
    const isText = typeof input === "string";
    const tokens = isText ? Math.ceil(Buffer.byteLength(input) / bytesPerTokenMax) : input.length;
    if (inputTokensMax !== undefined && tokens > inputTokensMax * (isText ? 1 : margin)) {
      throw contextLengthError(inputs.length === 1 ? "input" : `input[${index}]`, tokens, inputTokensMax);
    }
    total += tokens;
    if (total > embeddingTokensMax) {
      const message = `input has about ${total} tokens, but one request takes ${embeddingTokensMax} in all; send less`;
      throw new GatewayError("context_length_exceeded", message, { param: "input" });
    }
  }
}

/** Whether the model's vocabulary is cl100k_base, which makes a count by it exact. */
function isOpenai({ upstreamId }: Model): boolean {
  return /^text-embedding-(3-|ada-)/.test(upstreamId);
}

/** Counts what may be too long, once the call is admitted. What is beyond the bound of a request is left to the provider. */
async function checkTokens(inputs: Input[], model: Model): Promise<void> {
  const { inputTokensMax } = model;
  if (inputTokensMax === undefined) return;
  const ofOpenai = isOpenai(model);
  let charactersLeft = countedCharactersMax;
  for (const [index, text] of inputs.entries()) {
    if (typeof text !== "string") return;
    // A token has at least a byte.
    if (Buffer.byteLength(text) <= inputTokensMax) continue;
    charactersLeft -= text.length;
    if (charactersLeft < 0) return;
    const tokens = await countTokens(text, text.length, ofOpenai ? "cl100k_base" : "o200k_base");
    if (tokens <= inputTokensMax * (ofOpenai ? 1 : foreignMargin)) continue;
    throw contextLengthError(inputs.length === 1 ? "input" : `input[${index}]`, tokens, inputTokensMax);
  }
}

/** Begins like OpenAI's message, because clients recognize the error by it. */
function contextLengthError(param: string, tokens: number, tokensMax: number): GatewayError {
  const message = `This model's maximum context length is ${tokensMax} tokens. However, ${param} has about ${tokens} tokens; send less`;
  return new GatewayError("context_length_exceeded", message, { param });
}
