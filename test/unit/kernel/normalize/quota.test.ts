import { expect, test } from "bun:test";
import type { Meters, Model } from "../../../../src/contract/index.ts";
import { toQuotaTokens } from "../../../../src/kernel/normalize/usage.ts";
import { chatModel } from "../support.ts";

const weights = { character: 0.25, image: 1290, audioMs: 0.01, call: 5 };

test.each<[string, Meters, Model["quotaWeights"], number]>([
  ["nothing", {}, weights, 0],
  ["tokens of every kind", { inputToken: 1, cacheWriteToken: 4, cacheWrite1hToken: 16, outputToken: 8 }, undefined, 29],
  ["a tenth of those read from a cache, rounded up", { inputToken: 1, cacheReadToken: 1001 }, undefined, 102],
  ["images", { image: 2 }, weights, 2580],
  ["characters, rounded up", { character: 5 }, weights, 2],
  ["sound", { audioMs: 1000 }, weights, 10],
  ["calls", { call: 1 }, weights, 5],
  ["all together, rounded up once", { inputToken: 1, character: 1, audioMs: 1 }, weights, 2],
  ["units without a weight", { image: 2 }, {}, 0],
  ["units of a model without weights", { image: 2, inputToken: 3 }, undefined, 3],
])("%s draw quota", (_, meters, quotaWeights, tokens) => {
  expect(toQuotaTokens(meters, { ...chatModel, ...(quotaWeights && { quotaWeights }) })).toBe(tokens);
});
