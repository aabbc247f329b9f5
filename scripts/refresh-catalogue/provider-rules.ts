import type { Capability } from "../../src/contract/index.ts";
import type { Model } from "../../src/provider/index.ts";
import { isPositive, type Listed, toRate, toTieredPrice, toTokenPrice } from "./price-list.ts";

/** The facts of a row that the price list does not have. */
export type Facts = { readonly [Field in keyof Model]?: Model[Field] | undefined };

/** How to find one provider's models in the price list, and facts of the models that the list lacks. */
export interface ProviderRules {
  /** The list that has its models, where that is not LiteLLM's. */
  readonly list?: "genai-prices";
  /** Name of the provider in the list, and the prefix of its ids there. */
  readonly provider: string;
  readonly prefix: string;
  /** The prefix of its ids here, where others sell the same model too. */
  readonly idPrefix?: string;
  /** Maps an id of the list to the id here, without `idPrefix`, and the provider's own; absent: both are the listed one. */
  readonly names?: (listedId: string) => { readonly id: string; readonly upstreamId: string };
  readonly ownedBy: (id: string) => string;
  /** Capabilities of the gateway's plugin. */
  readonly capabilities: readonly Capability[];
  readonly pricingUrl: string;
  /** Why a model is not sold, by what its id matches. */
  readonly leftOut: readonly (readonly [RegExp, string])[];
  /** Facts of a model; default {@link listedFacts}. */
  readonly facts?: (id: string, listed: Listed, capability: Capability) => Facts;
  /** Rows that the list lacks, from other sources. */
  readonly extra?: readonly Model[];
}

/** The provider's own name of a model in addition to the prefixed one, for clients that know nothing but the provider's. */
export const clientNames = (id: string): { aliases: string[] } => ({ aliases: [id] });

/**
 * The price and the limits of a model as the list says them. Without a price the model is not sold.
 *
 * @example
 * listedFacts({ input_cost_per_second: 0.0001 }, "transcription").price; // => { audioMs: { usd: "0.10", per: 1000000 } }
 */
export function listedFacts(listed: Listed, capability: Capability): Facts {
  const size = listed.output_vector_size;
  switch (capability) {
    case "chat": {
      const efforts = listed.reasoning_effort_levels;
      return {
        contextTokens: listed.max_input_tokens,
        price: toTieredPrice(listed),
        ...(listed.supports_reasoning === true && { timeoutSeconds: 900 }),
        ...(Array.isArray(efforts) && { options: { reasoningEfforts: efforts } }),
      };
    }
    case "embeddings":
      return {
        price: toTokenPrice(listed),
        inputTokensMax: listed.max_input_tokens,
        ...(size !== undefined && { dimensions: { default: size, min: size, max: size } }),
      };
    case "rerank": {
      const { input_cost_per_query: usd } = listed;
      return { price: isPositive(usd) ? { searchUnit: toRate(usd, 1000) } : toTokenPrice(listed) };
    }
    case "transcription": {
      const { input_cost_per_second: usd } = listed;
      return { price: isPositive(usd) ? { audioMs: toRate(usd / 1000, 1_000_000) } : undefined };
    }
    case "speech": {
      const { input_cost_per_character: usd } = listed;
      return { price: isPositive(usd) ? { character: toRate(usd, 1_000_000) } : undefined };
    }
    default: {
      const { input_cost_per_image: input, output_cost_per_image: usd = input } = listed;
      return { price: isPositive(usd) ? { image: toRate(usd, 1000) } : undefined };
    }
  }
}

export const approved = "its provider sells it to approved customers only";
export const moving = "the name moves on to other models, whose prices differ";
export const ownProtocol = "it is served by a protocol of its own";
export const search = "each of its searches has a price of its own, which a row does not have";
