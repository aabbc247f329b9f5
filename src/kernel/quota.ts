import type { Meters, Model } from "../contract/index.ts";

/** Tokens of the daily free quota that the meters draw: tokens as they are, other units by the row's weights. */
export function quotaTokensOf(meters: Meters, model: Model): number {
  const { inputToken, cacheReadToken, cacheWriteToken, outputToken, character, image, audioMs, call } = meters;
  let tokens = 0;
  for (const amount of [inputToken, cacheReadToken, cacheWriteToken, outputToken]) {
    if (amount !== undefined) tokens += amount;
  }
  const weights = model.quotaWeights;
  if (weights === undefined) return tokens;
  for (const [amount, weight] of [
    [character, weights.character],
    [image, weights.image],
    [audioMs, weights.audioMs],
    [call, weights.call],
  ] as const) {
    if (amount !== undefined && weight !== undefined) tokens += amount * weight;
  }
  return Math.ceil(tokens);
}
