import { expect, test } from "bun:test";
import type { Meters } from "../../../../src/contract/index.ts";
import { toQuotaTokens } from "../../../../src/kernel/normalize/usage-meter.ts";
import type { Model } from "../../../../src/provider/index.ts";
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
  ["images of a model that does not say how much", { image: 2, inputToken: 3 }, undefined, 2583],
  ["sound and characters of a model that says it of other units", { audioMs: 1000, character: 8 }, { call: 1 }, 34],
  ["units that are said to be free", { image: 2, call: 1 }, { image: 0 }, 0],
])("%s draw quota", (_, meters, quotaWeights, tokens) => {
  expect(toQuotaTokens(meters, { ...chatModel, ...(quotaWeights && { quotaWeights }) })).toBe(tokens);
});
