import type { Model } from "./api.ts";

/** Whether its provider ends it within 60 days. */
export function retiresSoon(model: Pick<Model, "retiredOn">, now: number = Date.now()): boolean {
  return !isRetired(model, now) && isRetired(model, now + 60 * 86_400_000);
}

export function isRetired({ retiredOn }: Pick<Model, "retiredOn">, now: number = Date.now()): boolean {
  return retiredOn !== undefined && Date.parse(retiredOn) <= now;
}
