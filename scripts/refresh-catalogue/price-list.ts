import { isDeepStrictEqual } from "node:util";
import { getFallback, type MeterName, meterNames, type Price, type Rate } from "../../src/contract/index.ts";
import { isRecord } from "../../src/lib/json.ts";

/** A model in the price list of LiteLLM: dollars for one unit, and what the model can do. */
export interface Listed {
  readonly mode?: string;
  readonly litellm_provider?: string;
  readonly max_input_tokens?: number;
  readonly max_output_tokens?: number;
  /** The provider ends the model on this day. */
  readonly deprecation_date?: string;
  readonly supported_endpoints?: readonly string[];
  readonly output_vector_size?: number;
  readonly source?: string;
  readonly [field: string]: unknown;
}

/** The list's names of the meters, for one token. */
const tokenFields: Readonly<Record<string, string>> = {
  inputToken: "input_cost_per_token",
  cacheReadToken: "cache_read_input_token_cost",
  cacheWriteToken: "cache_creation_input_token_cost",
  cacheWrite1hToken: "cache_creation_input_token_cost_above_1hr",
  outputToken: "output_cost_per_token",
};

/**
 * Returns the price of a listed chat or embedding model.
 *
 * @returns `undefined` when the list has no price, or says that the model is free of charge.
 */
export function toTokenPrice(listed: Listed): Price | undefined {
  if (isPositive(listed.input_cost_per_token)) return toTariff(listed, "");
  return toSteppedPrice(listed.tiered_pricing);
}

/** The price of a model whose rates the list has by the length of the prompt: the first step is the price, the others its tiers. */
function toSteppedPrice(steps: unknown): Price | undefined {
  if (!Array.isArray(steps) || !steps.every((step) => isRecord(step) && isPositive(step.input_cost_per_token))) {
    return undefined;
  }
  const [first, ...others] = steps as (Listed & { range: [number, number] })[];
  if (first === undefined || first.range[0] !== 0) return undefined;
  const rates = toRates(first, "");
  const tiers = others.map((step) => ({ aboveInputTokens: step.range[0], ...rates, ...toRates(step, "") }));
  return tiers.length === 0 ? rates : { ...rates, tiers };
}

/**
 * Returns the token price of a model with the rates of its service tiers, as far as the list has them. The flex tier is
 * left out if the list lacks its rates for long prompts. Priority and ultrafast do not serve long prompts in that case.
 */
export function toTieredPrice(listed: Listed): Price | undefined {
  const price = toTokenPrice(listed);
  const tiers = ["flex", "priority", "ultrafast"].flatMap((name) => {
    const tariff = toTariff(listed, `_${name}`);
    const isKnown = isPositive(listed[`input_cost_per_token_${name}`]);
    const isWhole = name !== "flex" || (tariff.tiers?.length ?? 0) === (price?.tiers?.length ?? 0);
    return isKnown && isWhole ? [[name, tariff] as const] : [];
  });
  return price === undefined || tiers.length === 0 ? price : { ...price, serviceTiers: Object.fromEntries(tiers) };
}

/**
 * Adds the price of a web search, for models whose provider reports the number of searches. The list has a rate by the
 * size of the results, which these providers charge as tokens.
 */
export function withSearchPrice(price: Price | undefined, listed: Listed): Price | undefined {
  const { search_context_cost_per_query: rates } = listed;
  const usd = isRecord(rates) ? rates.search_context_size_medium : undefined;
  return price !== undefined && isPositive(usd) ? { ...price, webSearch: toRate(usd, 1000) } : price;
}

/** @param suffix Behind the names of the rates, such as `_flex`. */
export function toTariff(listed: Listed, suffix: string): Omit<Price, "serviceTiers"> {
  const rates = toRates(listed, suffix);
  const form = new RegExp(`^input_cost_per_token_above_(\\d+)k_tokens${suffix}$`);
  const tiers = Object.keys(listed)
    .flatMap((field) => Number(form.exec(field)?.[1] ?? []))
    .filter((thousands) => thousands > 0)
    .sort((a, b) => a - b)
    .map((thousands) => ({
      aboveInputTokens: thousands * 1000,
      // Rates that the list does not raise are the same in the tier.
      ...rates,
      ...toRates(listed, `_above_${thousands}k_tokens${suffix}`),
    }));
  return tiers.length === 0 ? rates : { ...rates, tiers };
}

function toRates(listed: Listed, suffix: string): Partial<Record<MeterName, Rate>> {
  const rates: Partial<Record<MeterName, Rate>> = {};
  for (const meter of meterNames) {
    const usd = listed[`${tokenFields[meter]}${suffix}`];
    if (isPositive(usd)) rates[meter] = toRate(usd, 1_000_000);
  }
  return rates;
}

/** The list's names of what a token of audio or of an image costs. */
const mediaFields = {
  audioInputToken: "input_cost_per_audio_token",
  imageInputToken: "input_cost_per_image_token",
  audioOutputToken: "output_cost_per_audio_token",
  imageOutputToken: "output_cost_per_image_token",
} as const;

/**
 * Price of a listed model by the tokens of text, audio and images. Reading from a cache costs as much as input unless
 * the list has a lower rate. Tokens of an answer that is all audio or images have one price. Images and text that were
 * read from a cache are not counted apart: both cost the higher of their two rates.
 */
export function toMediaPrice(listed: Listed): Price | undefined {
  const price = toTokenPrice(listed);
  if (price?.inputToken === undefined) return undefined;
  const media: Price = {};
  for (const [meter, field] of Object.entries(mediaFields) as [MeterName, string][]) {
    const usd = listed[field];
    if (isPositive(usd)) media[meter] = toRate(usd, 1_000_000);
  }
  const { cache_read_input_image_token_cost: imageUsd, cache_read_input_token_cost: textUsd } = listed;
  const isImageDearer = isPositive(imageUsd) && isPositive(textUsd) && imageUsd > textUsd;
  const { inputToken } = price;
  const cacheReadToken = isImageDearer ? toRate(imageUsd, 1_000_000) : (price.cacheReadToken ?? inputToken);
  const outputToken = price.outputToken ?? media.imageOutputToken ?? media.audioOutputToken;
  if (outputToken === undefined) return undefined;
  const all: Price = { inputToken, ...media, cacheReadToken, outputToken };
  // Audio and images that cost as much as text need no rate of their own.
  const isOwn = ([meter, rate]: [string, unknown]) => {
    const [[first] = []] = meter in mediaFields ? getFallback(meter as MeterName) : [];
    return first === undefined || !isDeepStrictEqual(rate, all[first]);
  };
  return Object.fromEntries(Object.entries(all).filter(isOwn));
}

/** @param usd Of one unit; @param per What the rate is written for. */
export function toRate(usd: number, per: number): Rate {
  const [whole, decimals = ""] = (usd * per).toFixed(9).split(".");
  return { usd: `${whole}.${decimals.replace(/0+$/, "").padEnd(2, "0")}`, per };
}

export function isPositive(value: unknown): value is number {
  return typeof value === "number" && value > 0 && Number.isFinite(value);
}
