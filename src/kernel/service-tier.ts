import { type CompiledPrice, costMaxNanodollars, costNanodollars, getOwn, type Meters } from "../contract/index.ts";
import type { ModelRun } from "./call.ts";

/** Providers' own names of tiers, by what clients ask for. */
const namesOf: Readonly<Record<string, readonly string[]>> = {
  priority: ["performance", "fast"],
  default: ["on_demand"],
};

/** The price of the tier that a request asks for, if the model's price has it. */
function findAsked({ modelEntry, passthrough, request }: ModelRun, isAnswered: boolean) {
  const tiers = modelEntry.compiledPrice?.serviceTiers;
  if (tiers === undefined) return undefined;
  const isPassed = passthrough !== undefined && (!isAnswered || passthrough.isServing);
  const tier = isPassed
    ? passthrough.format.tierOf(passthrough.body)
    : (request as { service_tier?: unknown }).service_tier;
  const price = typeof tier === "string" ? getOwn(tiers, tier) : undefined;
  return price && { tier: tier as string, price };
}

/** The most that usage can cost by any tier that may serve the call; `undefined` as {@link costMaxNanodollars}. */
export function costMaxOfRun(run: ModelRun, meters: Meters): number | undefined {
  const { compiledPrice } = run.modelEntry;
  const cost = compiledPrice && costMaxNanodollars(compiledPrice, meters, run.keepsHour);
  const asked = findAsked(run, false);
  if (cost === undefined || asked === undefined) return cost;
  const other = costMaxNanodollars(asked.price, meters, run.keepsHour);
  return other === undefined ? undefined : Math.max(cost, other);
}

/**
 * The price that a call is charged by: that of the tier that was requested if the provider says that it served it, the
 * more expensive one if the provider says nothing, otherwise the model's own.
 */
export function priceOfRun(run: ModelRun, meters: Meters): CompiledPrice | undefined {
  const { compiledPrice } = run.modelEntry;
  const asked = findAsked(run, true);
  if (compiledPrice === undefined || asked === undefined || run.ignored.has("service_tier")) return compiledPrice;
  const { servedTier } = run;
  if (servedTier !== undefined) {
    const isServed = servedTier === asked.tier || getOwn(namesOf, asked.tier)?.includes(servedTier);
    return isServed ? asked.price : compiledPrice;
  }
  const [own, other] = [compiledPrice, asked.price].map((price) => costNanodollars(price, meters) ?? 0);
  return (other as number) > (own as number) ? asked.price : compiledPrice;
}
