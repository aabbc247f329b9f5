import fc from "fast-check";
import { markupBasisPoints, meterNames, type Price, type Rate } from "../../src/contract/index.ts";

/** The rates as providers write them: units of a thousand to an hour of milliseconds, six decimals at the most. */
export const rate = fc
  .record({ micros: fc.integer({ min: 0, max: 500_000_000 }), per: fc.constantFrom(1, 1000, 1_000_000, 3_600_000) })
  .map(({ micros, per }): Rate => ({ usd: (micros / 1e6).toFixed(6), per }));
const rates = fc.record(Object.fromEntries(meterNames.map((name) => [name, rate])), { requiredKeys: [] });
export const price = fc
  .record(
    {
      base: rates,
      markupPercent: fc.integer({ min: 0, max: 1000 }),
      tiers: fc.array(fc.record({ above: fc.integer({ min: 1, max: 2_000_000 }), tier: rates }), { maxLength: 3 }),
    },
    { requiredKeys: ["base"] },
  )
  .map(({ base, tiers = [], markupPercent }): Price => {
    const written: Price = { ...base, tiers: tiers.map(({ above, tier }) => ({ aboveInputTokens: above, ...tier })) };
    return markupPercent === undefined ? written : { ...written, markupPercent };
  });
/** A markup in basis points, mostly one as people set it. */
export const markup = fc.oneof(
  fc.constantFrom(0, 2_000, 1_250, -1_000),
  fc.integer({ min: markupBasisPoints.min, max: markupBasisPoints.max }),
);
const amount = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3_000_000 }), fc.maxSafeInteger().map(Math.abs));
export const meters = fc.record(Object.fromEntries(meterNames.map((name) => [name, amount])), { requiredKeys: [] });
/** Amounts whose cost is below 2^53 nanodollars by nearly any price. */
export const fewMeters = fc.record(
  Object.fromEntries(meterNames.map((name) => [name, fc.integer({ min: 0, max: 300 })])),
  { requiredKeys: [] },
);
