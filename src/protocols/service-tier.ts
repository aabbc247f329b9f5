import { getOwn, type Model } from "../contract/index.ts";

/**
 * The tier of service to ask a provider for: one that the price of the row has, or `default` where the client leaves it to
 * the provider or asks for no other.
 *
 * @param asked The `service_tier` of a request.
 * @returns `undefined` for a tier that the price does not cover.
 *
 * @example
 * const price = { serviceTiers: { flex: {} } };
 * ["flex", "auto", "priority"].map((tier) => toServiceTier(tier, { price })); // => ["flex", "default", undefined]
 */
export function toServiceTier(asked: unknown, model: Pick<Model, "price"> | undefined): string | undefined {
  if (typeof asked === "string" && getOwn(model?.price?.serviceTiers ?? {}, asked) !== undefined) return asked;
  // "auto" means what the operator's account is set to, which may cost more.
  return asked === "auto" || asked === "default" ? "default" : undefined;
}
