import type { Capability, Model } from "../../src/contract/index.ts";
import type { Listed } from "./price-list.ts";

/** The facts of a row that the price list does not have. */
export type Facts = { readonly [Field in keyof Model]?: Model[Field] | undefined };

/** How the models of one provider are found in the price list, and what is known of them beside it. */
export interface ProviderRules {
  /** The provider's name in the list, and what stands before its ids there. */
  readonly provider: string;
  readonly prefix: string;
  /** What stands before its ids here, where the same model is sold by others too. */
  readonly idPrefix?: string;
  readonly ownedBy: (id: string) => string;
  /** What the gateway's plugin can do. */
  readonly capabilities: readonly Capability[];
  readonly pricingUrl: string;
  /** Why a model is not sold, by what its id matches. */
  readonly leftOut: readonly (readonly [RegExp, string])[];
  facts(id: string, listed: Listed, capability: Capability): Facts;
  /** Rows that the list lacks, from other sources. */
  readonly extra?: readonly Model[];
}

export const approved = "its provider sells it to approved customers only";
export const moving = "the name moves on to other models, whose prices differ";
export const ownProtocol = "it is served by a protocol of its own";
export const search = "each of its searches has a price of its own, which a row does not have";
