import type { Call, SpeechRequest } from "../provider/index.ts";

/** The nearest sample rate that a model makes, in Hz. */
export function nearestSampleRate(sampleRates: readonly number[], target: number): number {
  return sampleRates.reduce((best, rate) => (Math.abs(rate - target) < Math.abs(best - target) ? rate : best));
}

/**
 * Limits the speed to the range that the models take; `undefined` for the ordinary speed. Warns the caller of a change.
 */
export function boundSpeed(
  { request: { speed }, warn }: Pick<Call<SpeechRequest>, "request" | "warn">,
  [min, max]: readonly [min: number, max: number],
): number | undefined {
  if (speed === undefined || speed === null || speed === 1) return undefined;
  const bounded = Math.min(Math.max(speed, min), max);
  if (bounded !== speed) warn(`Used speed ${bounded} instead of ${speed}: the models accept ${min} to ${max}`, "speed");
  return bounded;
}
