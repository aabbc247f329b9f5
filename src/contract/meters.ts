import type { ChatUsage } from "./chat.ts";

/**
 * The quantities that are counted and priced. They are disjoint: a token read from a cache is a `cacheReadToken` and
 * not also an `inputToken`, so that a bill is a dot product of meters and prices. A token written to a cache is a
 * `cacheWrite1hToken` where the provider keeps it for an hour, which costs more, otherwise a `cacheWriteToken`. Tokens of
 * sound and of pictures are counted apart where the provider does so.
 */
export const meterNames = [
  "inputToken",
  "audioInputToken",
  "cacheReadToken",
  "cacheWriteToken",
  "cacheWrite1hToken",
  "outputToken",
  "audioOutputToken",
  "imageOutputToken",
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

/** More than any call uses. A larger figure is a provider's mistake; sums and costs of such reports stay below 2^53. */
const reportedMax = 2 ** 33;

/**
 * Turns the usage of a chat or embedding answer into disjoint meters. Figures that are not whole, not finite, negative
 * or beyond what any call uses make the report unusable.
 *
 * @returns `undefined` when the report cannot be used (absent, malformed, or cached exceeding the prompt).
 */
export function toMeters(usage: ChatUsage | null | undefined): Meters | undefined {
  if (usage === null || usage === undefined) return undefined;
  const { prompt_tokens: prompt, completion_tokens: completion } = usage;
  if (!isReportable(prompt)) return undefined;
  if (completion !== undefined && !isReportable(completion)) return undefined;
  // An absent part is a part of zero tokens: the prompt's own figure has them.
  const details = usage.prompt_tokens_details;
  const { audio_tokens: spoken, image_tokens: drawn } = usage.completion_tokens_details ?? {};
  const parts = [
    details?.cached_tokens ?? 0,
    details?.cache_write_tokens ?? 0,
    details?.cache_write_1h_tokens ?? 0,
    details?.audio_tokens ?? 0,
    spoken ?? 0,
    drawn ?? 0,
  ] as const;
  if (!parts.every(isAmount)) return undefined;
  const [read, written, hourly, heard, audio, images] = parts;
  const input = prompt - read - written;
  const output = (completion ?? 0) - audio - images;
  if (input < 0 || heard > prompt || output < 0 || hourly > written) return undefined;
  // Sound that was read from a cache is counted as that.
  const audioInput = Math.min(heard, input);
  const meters: Meters = { inputToken: input - audioInput };
  if (audioInput > 0) meters.audioInputToken = audioInput;
  if (read > 0) meters.cacheReadToken = read;
  if (written > hourly) meters.cacheWriteToken = written - hourly;
  if (hourly > 0) meters.cacheWrite1hToken = hourly;
  if (completion !== undefined) meters.outputToken = output;
  if (audio > 0) meters.audioOutputToken = audio;
  if (images > 0) meters.imageOutputToken = images;
  return meters;
}

/** Whether a provider's figure can be believed and charged. */
export function isReportable(value: unknown): value is number {
  return isAmount(value) && value <= reportedMax;
}

/** Tokens of the prompt of all kinds, cached or not. */
export function sumPromptTokens(meters: Meters): number {
  const {
    inputToken = 0,
    audioInputToken = 0,
    cacheReadToken = 0,
    cacheWriteToken = 0,
    cacheWrite1hToken = 0,
  } = meters;
  return inputToken + audioInputToken + cacheReadToken + cacheWriteToken + cacheWrite1hToken;
}

/** Sound and pictures by the token cost what text does where they have no rate of their own. */
export const textMeterOf: Partial<Record<MeterName, MeterName>> = {
  audioInputToken: "inputToken",
  audioOutputToken: "outputToken",
  imageOutputToken: "outputToken",
};

/** What comes out of a call. */
export const outputMeters = [
  ...["outputToken", "audioOutputToken", "imageOutputToken"],
  ...["image", "audioMs", "character"],
] as readonly MeterName[];

/** Tokens of the answer of all kinds; `undefined` if none are counted. */
export function sumOutputTokens({ outputToken, audioOutputToken, imageOutputToken }: Meters): number | undefined {
  const known = [outputToken, audioOutputToken, imageOutputToken].filter((amount) => amount !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, amount) => sum + amount, 0);
}

/** How much a token of each kind takes of the tokens per minute and of the free quota: one read from a cache, a tenth. */
export const tokenWeights = {
  inputToken: 1,
  audioInputToken: 1,
  cacheReadToken: 0.1,
  cacheWriteToken: 1,
  cacheWrite1hToken: 1,
  outputToken: 1,
  audioOutputToken: 1,
  imageOutputToken: 1,
} as const satisfies Meters;

/** What tokens of all kinds take of the tokens per minute; `undefined` if no meter counts tokens. */
export function sumTokens(meters: Meters): number | undefined {
  let tokens: number | undefined;
  for (const name in tokenWeights) {
    const amount = meters[name as keyof typeof tokenWeights];
    if (amount !== undefined) tokens = (tokens ?? 0) + amount * tokenWeights[name as keyof typeof tokenWeights];
  }
  return tokens === undefined ? undefined : Math.ceil(tokens);
}

/** Whether a figure may stand on a meter: a whole number from 0 to 2^53 − 1. */
export function isAmount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
