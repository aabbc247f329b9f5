import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { type ChatUsage, isAmount, type Meters, meterNames, toMeters } from "../../../src/contract/index.ts";

/** A report as it came over the wire, which no type holds to anything. */
const report = (usage: unknown) => usage as ChatUsage;

describe("toMeters", () => {
  test.each<[string, unknown, Meters]>([
    ["prompt and completion", { prompt_tokens: 12, completion_tokens: 3 }, { inputToken: 12, outputToken: 3 }],
    ["an embedding's prompt alone", { prompt_tokens: 8, total_tokens: 8 }, { inputToken: 8 }],
    [
      "a cached part, taken out of the input",
      { prompt_tokens: 100, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 60 } },
      { inputToken: 40, cacheReadToken: 60, outputToken: 1 },
    ],
    [
      "a read and a written part",
      {
        prompt_tokens: 100,
        completion_tokens: 1,
        prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 39 },
      },
      { inputToken: 1, cacheReadToken: 60, cacheWriteToken: 39, outputToken: 1 },
    ],
    [
      "written parts by how long they are kept, an unknown time as the longest",
      {
        prompt_tokens: 100,
        completion_tokens: 1,
        prompt_tokens_details: {
          cache_write_tokens: 99,
          cache_write_tokens_details: { ttl_30m_tokens: 9, ttl_1h_tokens: 10, ttl_12h_tokens: 50, ttl_7d_tokens: 30 },
        },
      },
      { inputToken: 1, cacheWriteToken: 9, cacheWrite1hToken: 10, cacheWrite12hToken: 80, outputToken: 1 },
    ],
    [
      "a prompt cached to its last token",
      { prompt_tokens: 60, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 60 } },
      { inputToken: 0, cacheReadToken: 60, outputToken: 0 },
    ],
    [
      "details that are null",
      { prompt_tokens: 5, completion_tokens: 2, prompt_tokens_details: null, completion_tokens_details: null },
      { inputToken: 5, outputToken: 2 },
    ],
    [
      "a cached count that is null",
      { prompt_tokens: 5, completion_tokens: 2, prompt_tokens_details: { cached_tokens: null } },
      { inputToken: 5, outputToken: 2 },
    ],
    [
      "a cached count of zero, without a meter for it",
      { prompt_tokens: 5, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 0 } },
      { inputToken: 5, outputToken: 2 },
    ],
    [
      "reasoning, which is a part of the completion",
      { prompt_tokens: 5, completion_tokens: 9, completion_tokens_details: { reasoning_tokens: 7 } },
      { inputToken: 5, outputToken: 9 },
    ],
    [
      "sound of the prompt, and sound and pictures of the completion, apart",
      {
        prompt_tokens: 50,
        completion_tokens: 90,
        prompt_tokens_details: { audio_tokens: 30, cached_tokens: 10 },
        completion_tokens_details: { audio_tokens: 40, image_tokens: 5, text_tokens: 45 },
      },
      {
        inputToken: 10,
        audioInputToken: 30,
        cacheReadToken: 10,
        outputToken: 45,
        audioOutputToken: 40,
        imageOutputToken: 5,
      },
    ],
    [
      "sound that was read from a cache as that",
      { prompt_tokens: 50, completion_tokens: 1, prompt_tokens_details: { audio_tokens: 50, cached_tokens: 20 } },
      { inputToken: 0, audioInputToken: 30, cacheReadToken: 20, outputToken: 1 },
    ],
    ["nothing at all used", { prompt_tokens: 0, completion_tokens: 0 }, { inputToken: 0, outputToken: 0 }],
  ])("reads %s", (_, usage, meters) => {
    expect(toMeters(report(usage))).toEqual(meters);
  });

  test.each<[string, unknown]>([
    ["is absent", undefined],
    ["is null", null],
    ["has no prompt", { completion_tokens: 3 }],
    ["has a null prompt", { prompt_tokens: null, completion_tokens: 3 }],
    ["has a negative prompt", { prompt_tokens: -1, completion_tokens: 3 }],
    ["has a negative completion", { prompt_tokens: 1, completion_tokens: -3 }],
    ["has half a token", { prompt_tokens: 1.5, completion_tokens: 3 }],
    ["has half a token of completion", { prompt_tokens: 1, completion_tokens: 0.5 }],
    ["counts in text", { prompt_tokens: "12", completion_tokens: 3 }],
    ["is not a number", { prompt_tokens: Number.NaN, completion_tokens: 3 }],
    ["is endless", { prompt_tokens: Number.POSITIVE_INFINITY, completion_tokens: 3 }],
    ["leaves 2^53", { prompt_tokens: 2 ** 53, completion_tokens: 3 }],
    ["has more cached than prompt", { prompt_tokens: 5, prompt_tokens_details: { cached_tokens: 6 } }],
    [
      "has more cached and written than prompt",
      { prompt_tokens: 5, prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 3 } },
    ],
    ["has more sound than prompt", { prompt_tokens: 5, prompt_tokens_details: { audio_tokens: 6 } }],
    [
      "has more sound than completion",
      { prompt_tokens: 5, completion_tokens: 5, completion_tokens_details: { audio_tokens: 6 } },
    ],
    ["has a negative cached part", { prompt_tokens: 5, prompt_tokens_details: { cached_tokens: -1 } }],
    ["has half a cached token", { prompt_tokens: 5, prompt_tokens_details: { cached_tokens: 0.5 } }],
    [
      "has more written for an hour than written",
      { prompt_tokens: 5, prompt_tokens_details: { cache_write_tokens: 2, cache_write_1h_tokens: 3 } },
    ],
    [
      "has more written for an hour and for twelve than written",
      {
        prompt_tokens: 5,
        prompt_tokens_details: { cache_write_tokens: 3, cache_write_1h_tokens: 2, cache_write_12h_tokens: 2 },
      },
    ],
    [
      "has a negative part written for an hour",
      { prompt_tokens: 5, prompt_tokens_details: { cache_write_tokens: 2, cache_write_1h_tokens: -1 } },
    ],
    ["has a negative written part", { prompt_tokens: 5, prompt_tokens_details: { cache_write_tokens: -1 } }],
  ])("cannot use a report that %s", (_, usage) => {
    expect(toMeters(report(usage))).toBeUndefined();
  });

  test("neither loses nor doubles a token of a true report", () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(1e9), { minLength: 6, maxLength: 6 }),
        ([plain = 0, read = 0, write = 0, hour = 0, halfDay = 0, out = 0]) => {
          const meters = toMeters({
            prompt_tokens: plain + read + write + hour + halfDay,
            completion_tokens: out,
            prompt_tokens_details: {
              cached_tokens: read,
              cache_write_tokens: write + hour + halfDay,
              cache_write_1h_tokens: hour,
              cache_write_12h_tokens: halfDay,
            },
          });
          expect(meters?.inputToken).toBe(plain);
          expect(meters?.cacheReadToken ?? 0).toBe(read);
          expect(meters?.cacheWriteToken ?? 0).toBe(write);
          expect(meters?.cacheWrite1hToken ?? 0).toBe(hour);
          expect(meters?.cacheWrite12hToken ?? 0).toBe(halfDay);
          expect(meters?.outputToken).toBe(out);
        },
      ),
    );
  });

  test("gives only whole amounts, or none, whatever the report holds", () => {
    const anything = fc.oneof(fc.anything(), fc.integer(), fc.double());
    fc.assert(
      fc.property(anything, anything, anything, (prompt, completion, cached) => {
        const meters = toMeters(
          report({
            prompt_tokens: prompt,
            completion_tokens: completion,
            prompt_tokens_details: { cached_tokens: cached },
          }),
        );
        for (const amount of Object.values(meters ?? {})) expect(isAmount(amount)).toBeTrue();
      }),
    );
  });
});

describe("isAmount", () => {
  test.each<[unknown, boolean]>([
    [0, true],
    [-0, true],
    [1, true],
    [2 ** 53 - 1, true],
    [2 ** 53, false],
    [-1, false],
    [0.5, false],
    [Number.NaN, false],
    ["1", false],
    [null, false],
    [undefined, false],
    [1n, false],
  ])("of %p is %p", (value, is) => {
    expect(isAmount(value)).toBe(is);
  });
});

test("docs/models.md has every meter in its table of prices, in the order of the code", () => {
  const page = readFileSync(join(import.meta.dir, "../../../docs/models.md"), "utf8");
  const [, table = ""] = page.split("| rate for");
  const [section = ""] = table.split("\n\n");
  const cells = [...section.matchAll(/^\| (`.+?) +\|/gm)].map(([, cell]) => cell as string);
  const fields = cells.flatMap((cell) => cell.replaceAll("`", "").split(", "));
  expect(fields).toEqual([...meterNames, "markupPercent", "tiers", "serviceTiers"]);
});
