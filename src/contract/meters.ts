import type { ChatUsage } from "./chat.ts";

/**
 * The quantities that are counted and priced. They are disjoint: a token read from a cache is a `cacheReadToken` and
 * not also an `inputToken`, so that a bill is a dot product of meters and prices.
 */
export const meterNames = [
  "inputToken",
  "cacheReadToken",
  "cacheWriteToken",
  "outputToken",
  "image",
  "audioMs",
  "character",
  "call",
] as const;

export type MeterName = (typeof meterNames)[number];

/** Amounts by meter, whole and not negative. An absent meter is unknown or not of this capability, never zero by default. */
export type Meters = Partial<Record<MeterName, number>>;

/**
 * Where meters come from. `reported`: the provider said so. `estimated`: counted here from what went in and came out,
 * because the provider said nothing usable. `none`: nothing came out, so nothing is charged.
 */
export type UsageSource = "reported" | "estimated" | "none";

/**
 * Turns the usage of a chat or embedding answer into disjoint meters. Figures that are not whole, not finite or
 * negative make the report unusable.
 *
 * @returns `undefined` when the report cannot be used (absent, malformed, or cached exceeding the prompt).
 */
export function toMeters(usage: ChatUsage | null | undefined): Meters | undefined {
  if (usage === null || usage === undefined) return undefined;
  const { prompt_tokens: prompt, completion_tokens: completion } = usage;
  if (!isAmount(prompt)) return undefined;
  if (completion !== undefined && !isAmount(completion)) return undefined;
  const cacheRead = usage.prompt_tokens_details?.cached_tokens ?? undefined;
  const cacheWrite = usage.prompt_tokens_details?.cache_write_tokens ?? undefined;
  if (cacheRead !== undefined && !isAmount(cacheRead)) return undefined;
  if (cacheWrite !== undefined && !isAmount(cacheWrite)) return undefined;
  const input = prompt - (cacheRead === undefined ? 0 : cacheRead) - (cacheWrite === undefined ? 0 : cacheWrite);
  if (input < 0) return undefined;
  const meters: Meters = { inputToken: input };
  if (cacheRead !== undefined && cacheRead > 0) meters.cacheReadToken = cacheRead;
  if (cacheWrite !== undefined && cacheWrite > 0) meters.cacheWriteToken = cacheWrite;
  if (completion !== undefined) meters.outputToken = completion;
  return meters;
}

/** Tokens of all kinds; `undefined` if no meter counts tokens. */
export function sumTokens({ inputToken, cacheReadToken, cacheWriteToken, outputToken }: Meters): number | undefined {
  let tokens: number | undefined;
  for (const amount of [inputToken, cacheReadToken, cacheWriteToken, outputToken]) {
    if (amount !== undefined) tokens = tokens === undefined ? amount : tokens + amount;
  }
  return tokens;
}

/** Whether a figure may stand on a meter: a whole number from 0 to 2^53 − 1. */
export function isAmount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
