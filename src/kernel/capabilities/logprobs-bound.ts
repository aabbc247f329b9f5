import { GatewayError } from "../../contract/index.ts";
import type { ModelRun } from "../call.ts";
import { getOutputTokensMax } from "./chat-bounds.ts";

/** What a token with its probability takes as JSON, and each of the likeliest others. */
const bytesPerToken = 70;

/**
 * Bounds a whole answer of which every token has its probability and those of others: 30 times the text, of which a provider
 * takes the money and the gateway the memory before it finds that it is too long. A stream is never in memory as a whole.
 *
 * @throws {GatewayError} `invalid_request`
 */
export function checkLogprobs({ request, sink, modelEntry }: ModelRun<"chat">, bytesMax: number): void {
  if (sink !== undefined || request.logprobs !== true) return;
  const { n, top_logprobs: others } = request;
  const tokens = (n ?? 1) * getOutputTokensMax(request, modelEntry);
  const bytes = tokens * (1 + (others ?? 0)) * bytesPerToken;
  if (bytes <= bytesMax) return;
  const sentence = `With logprobs ${tokens} tokens may take ${bytes} bytes, more than the ${bytesMax} of a whole answer; set a smaller max_completion_tokens, n or top_logprobs, or stream: true`;
  throw new GatewayError("invalid_request", sentence, { param: others ? "top_logprobs" : "logprobs" });
}
