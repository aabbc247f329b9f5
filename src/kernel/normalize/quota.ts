import type { Meters, Model } from "../../contract/index.ts";

/** Tokens of the daily free quota that the meters draw: tokens as they are, other units by the row's weights. */
export function quotaTokensOf(meters: Meters, { quotaWeights }: Model): number {
  let tokens = drawn(meters.inputToken, 1) + drawn(meters.outputToken, 1);
  tokens += drawn(meters.cacheReadToken, 1) + drawn(meters.cacheWriteToken, 1);
  if (quotaWeights === undefined) return tokens;
  tokens += drawn(meters.character, quotaWeights.character) + drawn(meters.image, quotaWeights.image);
  tokens += drawn(meters.audioMs, quotaWeights.audioMs) + drawn(meters.call, quotaWeights.call);
  return Math.ceil(tokens);
}

/** A meter that was not used, or has no weight, draws nothing. */
function drawn(amount: number | undefined, weight: number | undefined): number {
  return amount === undefined || weight === undefined ? 0 : amount * weight;
}
