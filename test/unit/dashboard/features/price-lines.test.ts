import { expect, test } from "bun:test";
import { priceLines, shortPrice } from "../../../../src/dashboard/features/models/price-lines.ts";

const million = (usd: string) => ({ usd, per: 1_000_000 });
const text = { inputToken: million("5"), outputToken: million("10") };

test.each([
  ["text", text, "$5.00 in · $10.00 out"],
  ["pictures", { ...text, imageOutputToken: million("32") }, "$5.00 in · $32.00 out"],
  ["speech", { ...text, audioOutputToken: million("12") }, "$5.00 in · $12.00 out"],
  [
    "chat in sound",
    { ...text, audioInputToken: million("32"), audioOutputToken: million("64") },
    "$5.00 in · $10.00 out",
  ],
])("the short price of %s", (_, price, usd) => {
  expect(shortPrice(price)).toEqual({ usd, unit: "per M tokens" });
});

test("every rate has a line", () => {
  expect(priceLines({ ...text, audioInputToken: million("32"), imageOutputToken: million("40") })).toEqual([
    { usd: "$5.00", unit: "per M input tokens" },
    { usd: "$32.00", unit: "per M audio input tokens" },
    { usd: "$10.00", unit: "per M output tokens" },
    { usd: "$40.00", unit: "per M image output tokens" },
  ]);
});
