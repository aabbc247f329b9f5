import type { Model } from "./model.ts";

/** How long before a model's end it is announced. */
const noticeMs = 60 * 86_400_000;

/**
 * Whether the provider has ended a model, or ends it within 60 days. A model ends with the first moment of `retiredOn`, UTC.
 *
 * @returns `undefined` when no end is known or near.
 */
export function getRetirement({ retiredOn }: Pick<Model, "retiredOn">, now: number): "past" | "soon" | undefined {
  if (retiredOn === undefined) return undefined;
  const endsAt = Date.parse(retiredOn);
  return endsAt <= now ? "past" : endsAt <= now + noticeMs ? "soon" : undefined;
}

/** Whether calls of the model itself are refused: it has ended, and its row does not say that it is still to be asked for. */
export function isEnded(model: Model, now: number): boolean {
  return getRetirement(model, now) === "past" && model.whenRetired !== "serve";
}
