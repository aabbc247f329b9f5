import { describe, expect, test } from "bun:test";
import { type Meters, toTokenMeters } from "../../../src/contract/index.ts";

const usage = { input_tokens: 20, output_tokens: 100, total_tokens: 120 };

describe("toTokenMeters", () => {
  test.each<[string, object, Meters]>([
    [
      "undivided tokens as what they are for",
      {},
      { inputToken: 0, audioInputToken: 20, imageOutputToken: 100, outputToken: 0 },
    ],
    [
      "divided tokens as the provider says",
      {
        input_token_details: { text_tokens: 5, audio_tokens: 15 },
        output_tokens_details: { text_tokens: 1, image_tokens: 99 },
      },
      { inputToken: 5, audioInputToken: 15, outputToken: 1, imageOutputToken: 99 },
    ],
    [
      "what the details leave open as what it is for",
      { input_tokens_details: { text_tokens: 5, cached_tokens: 5 }, output_tokens_details: { text_tokens: 10 } },
      { inputToken: 0, audioInputToken: 15, cacheReadToken: 5, outputToken: 10, imageOutputToken: 90 },
    ],
  ])("counts %s", (_, details, meters) => {
    expect(toTokenMeters({ ...usage, ...details }, { input: "audio_tokens", output: "image_tokens" })).toEqual(meters);
  });

  test.each<[string, unknown]>([
    ["is absent", undefined],
    ["has no total", { input_tokens: 1, output_tokens: 1 }],
    ["has half a token", { ...usage, output_tokens: 1.5 }],
    ["is negative", { ...usage, input_tokens: -1 }],
    ["has more of a kind than there are", { ...usage, output_tokens_details: { image_tokens: 101 } }],
    ["has a kind in words", { ...usage, output_tokens_details: { image_tokens: "100" } }],
  ])("cannot use a report that %s", (_, report) => {
    expect(toTokenMeters(report, { input: "text_tokens", output: "image_tokens" })).toBeUndefined();
  });
});
