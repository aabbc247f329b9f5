import { type CompiledPrice, costMaxNanodollars, costNanodollars, getOwn, type Meters } from "../contract/index.ts";
import type { ModelRun } from "./call.ts";

/** Providers' own names of tiers, by what clients ask for. */
const namesOf: Readonly<Record<string, readonly string[]>> = {
  priority: ["performance", "fast"],
  default: ["on_demand"],
};

/** A tier with its price. */
interface Asked {
  readonly tier: string;
  readonly price: CompiledPrice;
}

/** The price of the tier that a request asks for, if the model's price has it. */
function findAsked({ price: own, passthrough, request }: ModelRun, isAnswered: boolean): Asked | undefined {
  const tiers = own?.serviceTiers;
  if (tiers === undefined) return undefined;
  const isPassed = passthrough !== undefined && (!isAnswered || passthrough.isServing);
  const tier = isPassed
    ? passthrough.format.tierOf(passthrough.body)
    : (request as { service_tier?: unknown }).service_tier;
  if (typeof tier !== "string") return undefined;
  const price = getOwn(tiers, tier);
  return price && { tier, price };
}

/** The most that usage can cost by any tier that may serve the call; `undefined` as {@link costMaxNanodollars}. */
export function costMaxOfRun(run: ModelRun, meters: Meters): number | undefined {
  const { price } = run;
  const keepsLonger = run.bounds.keepsLonger === true;
  const cost = price && costMaxNanodollars(price, meters, keepsLonger);
  const requested = findAsked(run, false);
  if (cost === undefined || requested === undefined) return cost;
  const other = costMaxNanodollars(requested.price, meters, keepsLonger);
  return other === undefined ? undefined : Math.max(cost, other);
}

/**
 * The price that a call is charged by, with the markup that it was admitted with.
 *
 * - The provider says that it served the requested tier: the price of that tier.
 * - It does not say which tier it served: the requested tier or the model's own price, whichever is more expensive.
 * - It says that it served another tier: that tier's rates if the row has them and they are lower than the model's
 *   own. Otherwise the model's own price, which the hold covers.
 */
export function priceOfRun(run: ModelRun, meters: Meters): CompiledPrice | undefined {
  const { price } = run;
  if (price?.serviceTiers === undefined) return price;
  const { servedTier } = run.answer;
  const requested = run.ignored.has("service_tier") ? undefined : findAsked(run, true);
  const own = costNanodollars(price, meters) ?? 0;
  if (requested !== undefined && servedTier === undefined) {
    return (costNanodollars(requested.price, meters) ?? 0) > own ? requested.price : price;
  }
  if (servedTier === undefined) return price;
  const isServed = servedTier === requested?.tier || getOwn(namesOf, requested?.tier ?? "")?.includes(servedTier);
  if (requested !== undefined && isServed) return requested.price;
  const served = getOwn(price.serviceTiers, servedTier);
  return served !== undefined && (costNanodollars(served, meters) ?? own) < own ? served : price;
}

/** The service tier of a model whose price this is; `undefined`: the model's own. */
export function tierOfPrice(run: ModelRun, price: CompiledPrice | undefined): string | undefined {
  const tiers = Object.entries(run.price?.serviceTiers ?? {});
  return tiers.find(([, own]) => own === price)?.[0];
}
