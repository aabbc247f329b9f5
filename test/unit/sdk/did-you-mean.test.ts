import { expect, test } from "bun:test";
import { didYouMean } from "../../../src/sdk/did-you-mean.ts";

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
