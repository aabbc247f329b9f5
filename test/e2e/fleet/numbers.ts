/** How the provider of the simulator answers. */
export const manners = ["well", "fails", "hangs", "cuts"] as const;
export type ProviderManner = (typeof manners)[number];

const promptsMax = 250;
const completionsMax = 20;

/** Each call has a number below this one, which its usage stands for. */
export const numbersMax = promptsMax * completionsMax;

/**
 * Usage that the provider reports for a call. It names the call in the records of both sides, and is below what the gateway holds: the
 * question is longer than its prompt tokens, and `max_tokens` is the most that it has as output.
 */
export function usageOf(number: number): { prompt_tokens: number; completion_tokens: number; total_tokens: number } {
  const prompt = 1 + (number % promptsMax);
  const completion = 1 + Math.floor(number / promptsMax);
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

/** Number of the call that has this usage. */
export function numberOf(promptTokens: number, completionTokens: number): number {
  return (completionTokens - 1) * promptsMax + promptTokens - 1;
}

export const questionOf = (number: number) => `Call number ${number} ${"x".repeat(promptsMax)}`;
export const outputTokensMax = completionsMax;
