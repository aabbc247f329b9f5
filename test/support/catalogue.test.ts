import { expect, test } from "bun:test";
import { type CatalogueRow, costOf } from "./catalogue.ts";
import type { CallRow } from "./ledger-view.ts";

const unused = {
  input_tokens: null,
  audio_input_tokens: null,
  cache_read_tokens: null,
  cache_write_tokens: null,
  cache_write_1h_tokens: null,
  output_tokens: null,
  audio_output_tokens: null,
  image_output_tokens: null,
  images: null,
  audio_ms: null,
  characters: null,
};
const row = (price: CatalogueRow["price"]): CatalogueRow => ({
  id: "m",
  upstreamId: "m",
  capability: "chat",
  premium: true,
  ...(price === undefined ? {} : { price }),
});
const used = (amounts: Partial<CallRow>) => ({ ...unused, ...amounts }) as CallRow;

const perMillion = (usd: string) => ({ usd, per: 1_000_000 });
const tiered = {
  inputToken: perMillion("1"),
  outputToken: perMillion("2"),
  tiers: [{ aboveInputTokens: 100, inputToken: perMillion("3") }],
};

const cases: [string, CatalogueRow["price"], Partial<CallRow>, bigint][] = [
  [
    "whole tokens",
    { inputToken: perMillion("0.10"), outputToken: perMillion("0.40") },
    { input_tokens: 3, output_tokens: 2 },
    1100n,
  ],
  ["a third of a nanodollar, up", { audioMs: { usd: "0.111", per: 3_600_000 } }, { audio_ms: 1 }, 31n],
  ["an hour, to the cent", { audioMs: { usd: "0.111", per: 3_600_000 } }, { audio_ms: 3_600_000 }, 111_000_000n],
  ["the markup on an image", { image: { usd: "0.04", per: 1 }, markupPercent: 15 }, { images: 1 }, 46_000_000n],
  ["a prompt at the tier's edge", tiered, { input_tokens: 100, output_tokens: 1 }, 102_000n],
  ["a prompt in the tier", tiered, { input_tokens: 101, output_tokens: 1 }, 305_000n],
];

test.each(cases)("costs %s", (_, price, amounts, nanodollars) => {
  expect(costOf(row(price), used(amounts))).toBe(nanodollars);
});

test("what has no price costs nothing known, which is not zero", () => {
  expect(costOf(row({ inputToken: perMillion("1") }), used({ output_tokens: 1 }))).toBeNull();
});
