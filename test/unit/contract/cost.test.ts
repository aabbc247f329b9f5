import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type Capability,
  compilePrice,
  costMaxNanodollars,
  costNanodollars,
  formatUsd,
  getBasicMeters,
  getFallback,
  itemizeCost,
  type MeterName,
  type Meters,
  meterNames,
  nanodollarsPerUsd,
  type Price,
  parseUsd,
  type Rate,
} from "../../../src/contract/index.ts";
import { meters, price, rate } from "../../support/generated-prices.ts";
import { rounds } from "../../support/long.ts";

const perMillion = (usd: string): Rate => ({ usd, per: 1_000_000 });

/** The same sum in exact fractions over 10^9 × 100 × 3600 × 10^6, written without a look at the code under test. */
function costInFractions(price: Price, meters: Meters): bigint | undefined {
  const input = [
    meters.inputToken,
    meters.audioInputToken,
    meters.imageInputToken,
    meters.audioCacheReadToken,
    meters.cacheReadToken,
    meters.cacheWriteToken,
    meters.cacheWrite1hToken,
    meters.cacheWrite12hToken,
  ];
  const prompt = input.reduce((sum: bigint, tokens) => sum + BigInt(tokens ?? 0), 0n);
  const tiers = (price.tiers ?? []).filter(({ aboveInputTokens }) => prompt > BigInt(aboveInputTokens));
  const highest = tiers.reduce((best, { aboveInputTokens }) => Math.max(best, aboveInputTokens), 0);
  const table = { ...price, ...tiers.find(({ aboveInputTokens }) => aboveInputTokens === highest) };
  const scale = 3_600_000_000n;
  let total = 0n;
  let [isPriced, isUnpriced] = [false, false];
  for (const name of meterNames) {
    const used = BigInt(meters[name] ?? 0);
    if (used === 0n) continue;
    const steps = [[name], ...getFallback(name)].map((step) => step.flatMap((meter) => table[meter] ?? []));
    const known = steps.find((step) => step.length > 0);
    if (known === undefined) {
      isUnpriced = true;
      continue;
    }
    isPriced = true;
    const costs = known.map(({ usd, per }) => {
      const nanodollars = BigInt(usd.replace(".", "")) * 1000n;
      return (used * nanodollars * BigInt(100 + (price.markupPercent ?? 0)) * scale) / BigInt(per);
    });
    total += costs.sort((a, b) => Number(a < b) - Number(a > b))[0] as bigint;
  }
  if (isUnpriced && !isPriced) return undefined;
  const whole = scale * 100n;
  const cost = (total + whole - 1n) / whole;
  return cost > BigInt(Number.MAX_SAFE_INTEGER) ? undefined : cost;
}

/** A price whose rates share no denominator below 2^53 is refused; such a price proves nothing about sums. */
function compiled(price: Price) {
  try {
    return compilePrice(price);
  } catch (error) {
    fc.pre(!(error instanceof RangeError));
    throw error;
  }
}

describe("costNanodollars", () => {
  test("is the exact sum rounded up once, for any price and any amounts", () => {
    fc.assert(
      fc.property(price, meters, (price, meters) => {
        const cost = costNanodollars(compiled(price), meters);
        expect(cost === undefined ? undefined : BigInt(cost)).toBe(costInFractions(price, meters) as bigint);
      }),
      { numRuns: rounds(500, 20_000) },
    );
  });

  test("never falls when more is used at one tier", () => {
    fc.assert(
      fc.property(rate, fc.nat(9000), fc.nat(9000), (outputToken, less, more) => {
        const compiledPrice = compilePrice({ outputToken });
        const [low, high] = [less, less + more].map((tokens) =>
          costNanodollars(compiledPrice, { outputToken: tokens }),
        );
        expect(low as number).toBeLessThanOrEqual(high as number);
      }),
    );
  });

  test.each<[string, Price, Meters, number | undefined]>([
    ["nothing used costs nothing", { inputToken: perMillion("1") }, {}, 0],
    ["zero of an unpriced meter costs nothing", { inputToken: perMillion("1") }, { inputToken: 0, image: 0 }, 0],
    ["a meter without any rate adds nothing", { inputToken: perMillion("1") }, { inputToken: 5, image: 1 }, 5000],
    ["the cost of what has no rate at all is unknown", { inputToken: perMillion("1") }, { image: 1 }, undefined],
    [
      "a token read from a cache costs what any token of the prompt does",
      { inputToken: perMillion("1") },
      { inputToken: 5, cacheReadToken: 7, audioCacheReadToken: 1 },
      13_000,
    ],
    [
      "audio that was read from a cache costs what new audio does where nothing says less",
      { inputToken: perMillion("1"), audioInputToken: perMillion("40") },
      { audioCacheReadToken: 1 },
      40_000,
    ],
    [
      "a token written to a cache costs the most of what is known of the prompt and of other writes",
      { inputToken: perMillion("3"), cacheWrite1hToken: perMillion("6") },
      { cacheWriteToken: 1, cacheWrite12hToken: 1, cacheWrite1hToken: 1 },
      18_000,
    ],
    [
      "a write costs no less than the prompt where other writes are said to",
      { inputToken: perMillion("3"), cacheWrite1hToken: perMillion("2") },
      { cacheWriteToken: 1 },
      3000,
    ],
    ["a fraction of a nanodollar is a whole one", { inputToken: perMillion("0.0001") }, { inputToken: 1 }, 1],
    [
      "fractions are added before they are rounded",
      { inputToken: perMillion("0.0005"), outputToken: perMillion("0.0005") },
      { inputToken: 1, outputToken: 1 },
      1,
    ],
    ["a markup is on every rate", { image: { usd: "0.04", per: 1 }, markupPercent: 15 }, { image: 1 }, 46_000_000],
    ["a free meter is priced", { inputToken: perMillion("0") }, { inputToken: 1_000_000 }, 0],
    ["thirds are exact", { audioMs: { usd: "1", per: 3 } }, { audioMs: 3 }, nanodollarsPerUsd],
  ])("%s", (_, price, meters, cost) => {
    expect(costNanodollars(compilePrice(price), meters)).toBe(cost as number);
  });

  const tiered: Price = {
    inputToken: perMillion("1"),
    cacheReadToken: perMillion("1"),
    tiers: [
      { aboveInputTokens: 100, inputToken: perMillion("2"), cacheReadToken: perMillion("2") },
      { aboveInputTokens: 200, inputToken: perMillion("3"), cacheReadToken: perMillion("3") },
    ],
  };

  test.each<[string, Meters, number]>([
    ["at a threshold the rate below it holds", { inputToken: 100 }, 100_000],
    ["over it the whole call has the higher rate", { inputToken: 101 }, 202_000],
    ["the highest tier passed stands", { inputToken: 201 }, 603_000],
    ["cached tokens count to the threshold", { inputToken: 1, cacheReadToken: 200 }, 603_000],
  ])("%s", (_, meters, cost) => {
    expect(costNanodollars(compilePrice(tiered), meters)).toBe(cost);
  });

  test("is known up to 2^53 − 1 nanodollars and not beyond", () => {
    const compiledPrice = compilePrice({ call: { usd: "0.000000001", per: 1 } });
    expect(costNanodollars(compiledPrice, { call: Number.MAX_SAFE_INTEGER })).toBe(Number.MAX_SAFE_INTEGER);
    const twice = compilePrice({ call: { usd: "0.000000002", per: 1 } });
    expect(costNanodollars(twice, { call: 2 ** 52 - 1 })).toBe(2 ** 53 - 2);
    expect(costNanodollars(twice, { call: 2 ** 52 })).toBeUndefined();
  });
});

describe("itemizeCost", () => {
  test("has lines that are quantity times rate, and come to the cost with the rounding, for any price and any amounts", () => {
    fc.assert(
      fc.property(price, meters, (price, meters) => {
        const compiledPrice = compiled(price);
        const sum = itemizeCost(compiledPrice, meters);
        const cost = costNanodollars(compiledPrice, meters);
        expect(sum?.costNanodollars).toBe(cost as number);
        if (sum === undefined) return;
        const total = sum.lines.reduce((total, line) => total + BigInt(line.nanodollars), 0n);
        expect(total + BigInt(sum.roundingNanodollars)).toBe(BigInt(cost as number));
        // Less than a nanodollar is lost in each line.
        expect(sum.roundingNanodollars).toBeGreaterThanOrEqual(0);
        expect(sum.roundingNanodollars).toBeLessThanOrEqual(sum.lines.length);
        for (const { quantity, rate, nanodollars } of sum.lines) {
          const each = rate === undefined ? 0n : BigInt(parseUsd(rate.usd) as number);
          expect((BigInt(quantity) * each) / BigInt(rate?.per ?? 1)).toBe(BigInt(nanodollars));
        }
        expect(sum.lines.map(({ meter }) => meter)).toEqual(meterNames.filter((name) => meters[name]));
      }),
      { numRuns: rounds(500, 20_000) },
    );
  });

  test.each<[string, Price, Meters, Rate | undefined]>([
    ["tokens by the million", { inputToken: { usd: "0.00125", per: 1000 } }, { inputToken: 7 }, perMillion("1.25")],
    [
      "audio by the minute",
      { audioMs: { usd: "0.36", per: 3_600_000 } },
      { audioMs: 1 },
      { usd: "0.006", per: 60_000 },
    ],
    [
      "images one by one, with the markup",
      { image: { usd: "40", per: 1000 }, markupPercent: 25 },
      { image: 2 },
      { usd: "0.05", per: 1 },
    ],
    ["thirds by as many as have no fraction", { call: { usd: "1", per: 3 } }, { call: 1 }, { usd: "1", per: 3 }],
    ["what has no rate without one", { inputToken: perMillion("1") }, { page: 2 }, undefined],
  ])("writes the rate of %s", (_, price, meters, rate) => {
    const sum = itemizeCost(compilePrice({ ...price, character: perMillion("1") }), { ...meters, character: 1 });
    const line = sum?.lines.find(({ meter }) => meter !== "character");
    expect([line?.quantity, line?.rate]).toEqual([Object.values(meters)[0], rate]);
  });
});

describe("compilePrice", () => {
  const price: Price = { inputToken: perMillion("1.25"), outputToken: perMillion("10") };

  test("names equal rates alike however they are written, and others differently", () => {
    const { version } = compilePrice(price);
    expect(version).toMatch(/^[0-9a-f]{16}$/);
    expect(compilePrice({ outputToken: perMillion("10.00"), inputToken: { usd: "0.00125", per: 1000 } }).version).toBe(
      version,
    );
    expect(compilePrice({ ...price, outputToken: perMillion("10.000001") }).version).not.toBe(version);
    expect(compilePrice({ ...price, markupPercent: 1 }).version).not.toBe(version);
  });

  test("refuses rates that it cannot hold exactly", () => {
    const prime = { usd: "0.000000001", per: 999_999_937 };
    const other = { usd: "0.000000001", per: 999_999_929 };
    expect(() => compilePrice({ inputToken: prime, outputToken: other })).toThrow(RangeError);
    expect(() => compilePrice({ inputToken: { usd: "1.0000000001", per: 1 } })).toThrow(RangeError);
  });
});

describe("getBasicMeters", () => {
  const tokens: Price = { inputToken: perMillion("1"), outputToken: perMillion("2") };

  test.each<[Capability, Price | undefined, MeterName[]]>([
    ["chat", undefined, ["inputToken", "outputToken"]],
    ["embeddings", tokens, ["inputToken"]],
    ["images", undefined, ["image"]],
    ["images", { ...tokens, image: perMillion("3") }, ["image"]],
    ["images", tokens, ["inputToken", "outputToken"]],
    ["transcription", tokens, ["inputToken", "outputToken"]],
    ["speech", { audioOutputToken: perMillion("3") }, ["character"]],
  ])("of %s by %j are %j", (capability, price, meters) => {
    expect(getBasicMeters(capability, price)).toEqual(meters);
  });
});

describe("sound and pictures by the token", () => {
  const tokens: Price = { inputToken: perMillion("1"), outputToken: perMillion("2") };
  const meters: Meters = { inputToken: 5, audioInputToken: 7, audioOutputToken: 11, imageOutputToken: 13 };

  test("cost what text does where they have no rate of their own", () => {
    expect(costNanodollars(compilePrice(tokens), meters)).toBe(1000 * (5 + 7) + 2000 * (11 + 13));
  });

  test("cost their own rates", () => {
    const own = {
      audioInputToken: perMillion("3"),
      audioOutputToken: perMillion("4"),
      imageOutputToken: perMillion("5"),
    };
    const cost = 1000 * 5 + 3000 * 7 + 4000 * 11 + 5000 * 13;
    expect(costNanodollars(compilePrice({ ...tokens, ...own }), meters)).toBe(cost);
  });
});

describe("formatUsd and parseUsd", () => {
  test("give back any amount of nanodollars", () => {
    fc.assert(
      fc.property(fc.integer({ min: -999_999_999 * 1000, max: Number.MAX_SAFE_INTEGER }), (nanodollars) => {
        expect(parseUsd(formatUsd(nanodollars))).toBe(nanodollars);
      }),
    );
  });

  test.each<[number, string]>([
    [0, "0"],
    [-0, "0"],
    [1, "0.000000001"],
    [-1, "-0.000000001"],
    [1_500_000, "0.0015"],
    [nanodollarsPerUsd, "1"],
    [10 * nanodollarsPerUsd, "10"],
    [-46_000_000, "-0.046"],
    [Number.MAX_SAFE_INTEGER, "9007199.254740991"],
  ])("write %d as %s", (nanodollars, usd) => {
    expect(formatUsd(nanodollars)).toBe(usd);
  });

  test.each<[string, number | undefined]>([
    ["5", 5_000_000_000],
    [" 5.00 ", 5_000_000_000],
    ["-0", 0],
    ["-0.5", -500_000_000],
    ["0.000000001", 1],
    ["0.0000000001", undefined],
    ["9007199.254740991", Number.MAX_SAFE_INTEGER],
    ["9007199.254740992", undefined],
    ["1234567890", undefined],
    ["", undefined],
    [".5", undefined],
    ["5.", undefined],
    ["1e3", undefined],
    ["+1", undefined],
    ["1,5", undefined],
    ["0x10", undefined],
    ["Infinity", undefined],
  ])("read %j as %p", (text, nanodollars) => {
    expect(parseUsd(text)).toBe(nanodollars as number);
  });
});

describe("the most that a call can cost", () => {
  const write = {
    inputToken: perMillion("3"),
    cacheWriteToken: perMillion("3.75"),
    cacheWrite1hToken: perMillion("6"),
  };
  const most = (price: Price, keepsLonger: boolean) =>
    costMaxNanodollars(
      compilePrice({ ...price, outputToken: perMillion("15") }),
      { inputToken: 100, outputToken: 10 },
      keepsLonger,
    );

  test.each<[string, Price, boolean, number | undefined]>([
    ["has its prompt written to the cache", write, false, 525_000],
    ["has it written for an hour where that is asked for", write, true, 750_000],
    ["has it written for twelve", { ...write, cacheWrite12hToken: perMillion("8") }, true, 950_000],
    ["is the plain price where there is no other", { inputToken: perMillion("3") }, true, 450_000],
    ["is the plain price where that is the dearest", { ...write, inputToken: perMillion("9") }, true, 1_050_000],
    ["is unknown where that of the prompt is", { cacheWriteToken: perMillion("3") }, true, undefined],
    [
      "has it written where only another write has a rate",
      { inputToken: perMillion("3"), cacheWrite1hToken: perMillion("6") },
      false,
      750_000,
    ],
    [
      "has images of it at their own rate",
      { inputToken: perMillion("3"), imageInputToken: perMillion("5") },
      false,
      650_000,
    ],
  ])("%s", (_, price, keepsLonger, cost) => {
    expect(most(price, keepsLonger)).toBe(cost);
  });

  test("is never below the cost of any split of the prompt", () => {
    fc.assert(
      fc.property(
        price,
        fc.array(fc.nat(1e6), { minLength: 6, maxLength: 6 }),
        (tariff, [plain = 0, read = 0, seen = 0, written = 0, hour = 0, halfDay = 0]) => {
          const known = compiled(tariff);
          const shorter: Meters = {
            inputToken: plain,
            cacheReadToken: read,
            imageInputToken: seen,
            cacheWriteToken: written,
          };
          const longer: Meters = { ...shorter, cacheWrite1hToken: hour, cacheWrite12hToken: halfDay };
          for (const [meters, keepsLonger] of [
            [shorter, false],
            [longer, true],
          ] as const) {
            const all = Object.values(meters).reduce((sum, tokens) => sum + tokens, 0);
            const bound = costMaxNanodollars(known, { inputToken: all }, keepsLonger);
            const cost = costNanodollars(known, meters);
            if (bound !== undefined && cost !== undefined) expect(cost).toBeLessThanOrEqual(bound);
          }
        },
      ),
    );
  });
});
