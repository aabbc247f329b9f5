import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  compilePrice,
  costMaxNanodollars,
  costNanodollars,
  formatPercent,
  itemizeCost,
  markupBasisPoints,
  meterNames,
  parsePercent,
  toSalePrice,
  toSaleVersion,
  withMarkup,
} from "../../../src/contract/index.ts";
import { fewMeters, markup, price } from "../../support/generated-prices.ts";
import { rounds } from "../../support/long.ts";

const compiled = price.map(({ markupPercent: _, ...rates }) => rates).filter((rates) => isHeld(rates));

function isHeld(rates: Parameters<typeof compilePrice>[0]): boolean {
  try {
    compilePrice(rates);
    return true;
  } catch {
    return false;
  }
}

test("a charge is the exact cost with the markup, rounded up once, and never below it, for any price and usage", () => {
  fc.assert(
    fc.property(compiled, fewMeters, markup, (rates, used, basisPoints) => {
      const own = compilePrice(rates);
      const charge = costNanodollars(withMarkup(own, basisPoints), used);
      const { tables } = own;
      const exact = costNanodollars(own, used);
      fc.pre(charge !== undefined && exact !== undefined && tables.length === 1);
      const { numerators, denominator } = tables[0] as (typeof tables)[number];
      const sum = meterNames.reduce((all, name) => all + BigInt(used[name] ?? 0) * BigInt(numerators[name] ?? 0), 0n);
      const [top, bottom] = [sum * BigInt(10_000 + basisPoints), BigInt(denominator) * 10_000n];
      expect(BigInt(charge as number)).toBe((top + bottom - 1n) / bottom);
      const cost = BigInt(exact as number);
      expect(BigInt(charge as number) * 10_000n < cost * BigInt(10_000 + basisPoints) + 10_000n).toBe(true);
      expect(BigInt(charge as number) * 10_000n >= (cost - 1n) * BigInt(10_000 + basisPoints)).toBe(true);
    }),
    { numRuns: rounds(300, 5000) },
  );
});

test("a hold with a markup covers the charge with it, however the prompt is divided", () => {
  fc.assert(
    fc.property(compiled, fewMeters, markup, (rates, used, basisPoints) => {
      const sale = withMarkup(compilePrice(rates), basisPoints);
      const hold = costMaxNanodollars(sale, used, true);
      const charge = costNanodollars(sale, used);
      fc.pre(hold !== undefined && charge !== undefined);
      expect(hold as number).toBeGreaterThanOrEqual(charge as number);
    }),
    { numRuns: rounds(300, 5000) },
  );
});

test("the lines of a charge with a markup sum to it to the nanodollar, at the rates that are shown as its price", () => {
  fc.assert(
    fc.property(compiled, fewMeters, markup, (rates, used, basisPoints) => {
      const sum = itemizeCost(withMarkup(compilePrice(rates), basisPoints), used);
      fc.pre(sum !== undefined);
      const { lines = [], roundingNanodollars = 0, costNanodollars: cost = 0 } = sum ?? {};
      expect(lines.reduce((all, line) => all + line.nanodollars, roundingNanodollars)).toBe(cost);
      const shown = toSalePrice(rates, basisPoints);
      if (isHeld(shown)) expect(costNanodollars(compilePrice(shown), used)).toBe(cost);
    }),
    { numRuns: rounds(300, 5000) },
  );
});

describe("a markup", () => {
  const base = compilePrice({ inputToken: { usd: "3", per: 1_000_000 }, outputToken: { usd: "15", per: 1_000_000 } });

  test("is a decimal with at most two places, above -100 and up to 1000", () => {
    expect(["20", "12.5", "-99.99", "1000", "0.01", "-0"].map(parsePercent)).toEqual([
      2000, 1250, -9999, 100_000, 1, 0,
    ]);
    for (const text of ["-100", "1000.01", "1.234", "1e2", "", "20 %", "Infinity"]) {
      expect(parsePercent(text)).toBeUndefined();
    }
    fc.assert(
      fc.property(fc.integer({ min: markupBasisPoints.min, max: markupBasisPoints.max }), (basisPoints) => {
        expect(parsePercent(formatPercent(basisPoints))).toBe(basisPoints);
      }),
    );
  });

  test("of 0 leaves the price itself, and equal ones are one object", () => {
    expect(withMarkup(base, 0)).toBe(base);
    expect(withMarkup(base, 2000)).toBe(withMarkup(base, 2000));
    expect(withMarkup(withMarkup(base, 2000), 0)).toEqual(base);
  });

  test("applies to the rates of long prompts and of service tiers as well", () => {
    const rates = {
      inputToken: { usd: "1", per: 1_000_000 },
      tiers: [{ aboveInputTokens: 10, inputToken: { usd: "2", per: 1_000_000 } }],
      serviceTiers: { flex: { inputToken: { usd: "0.5", per: 1_000_000 } } },
    };
    const sale = withMarkup(compilePrice(rates), 5000);
    expect(costNanodollars(sale, { inputToken: 20 })).toBe(60_000);
    const { flex } = sale.serviceTiers ?? {};
    expect(flex && costNanodollars(flex, { inputToken: 4 })).toBe(3000);
    expect(toSalePrice(rates, 5000)).toEqual({
      inputToken: { usd: "1.5", per: 1_000_000 },
      tiers: [{ aboveInputTokens: 10, inputToken: { usd: "3", per: 1_000_000 } }],
      serviceTiers: { flex: { inputToken: { usd: "0.75", per: 1_000_000 } } },
    });
  });

  test("with rates that nine decimals do not hold is shown for more units", () => {
    expect(toSalePrice({ call: { usd: "0.000000001", per: 1 } }, 1).call).toEqual({ usd: "0.000010001", per: 10_000 });
  });

  test("gives a version that is the same for the same sale rates, whatever the price without it is", () => {
    const twice = compilePrice({
      inputToken: { usd: "6", per: 1_000_000 },
      outputToken: { usd: "30", per: 1_000_000 },
    });
    const [one, other] = [toSaleVersion(withMarkup(base, 20_000)), toSaleVersion(withMarkup(twice, 5000))];
    expect(one).toBe(other);
    expect(one).not.toBe(base.version);
    expect(toSaleVersion(base)).toBe(base.version);
  });
});
