import { expect, test } from "bun:test";
import { didYouMean, suggestName } from "../../../src/lib/did-you-mean.ts";

const words = ["account create", "account list", "key create", "wallet credit", "models"];

test.each([
  ["acount create", "account create"],
  ["account crate", "account create"],
  ["acconut list", "account list"],
  ["model", "models"],
  ["MODELS", "models"],
  ["walet credit", "wallet credit"],
  ["wibble", undefined],
  ["", undefined],
])("nearest takes %p for %p", (written, expected) => {
  expect(didYouMean(written, words)).toBe(expected as string);
});

test("nearest of no candidates is none", () => {
  expect(didYouMean("models", [])).toBeUndefined();
});

test("an unknown word is answered with what was meant, all there are, or some of many", () => {
  expect(suggestName("model", words)).toBe(", did you mean models?");
  expect(suggestName("wibble", words)).toBe(`; known are ${words.join(", ")}`);
  const many = Array.from({ length: 300 }, (_, index) => `name-${index}`);
  expect(suggestName("wibble", many)).toBe(`; known are ${many.slice(0, 8).join(", ")} and 292 others`);
});
