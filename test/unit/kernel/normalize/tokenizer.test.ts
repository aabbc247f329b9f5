import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { countTokens as cl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
import { tokensMax } from "../../../../src/kernel/normalize/prompt-bounds.ts";
import { countPieces, countTokens, readRanks } from "../../../../src/kernel/normalize/tokenizer.ts";

describe("a vocabulary", () => {
  const modules = {
    o200k_base: [() => import("gpt-tokenizer/bpeRanks/o200k_base"), "o200k_base.tiktoken"],
    cl100k_base: [() => import("gpt-tokenizer/bpeRanks/cl100k_base"), "cl100k_base.tiktoken"],
  } as const;

  test.each(["o200k_base", "cl100k_base"] as const)("%s is read from its file as the package has it", async (name) => {
    const [load, file] = modules[name];
    const path = require.resolve(`gpt-tokenizer/data/${file}`);
    const ranks = await readRanks(readFileSync(path, "utf8"));
    const expected = (await load()).default;
    expect(ranks.length).toBe(expected.length);
    expect(ranks.filter((token, rank) => String(token) !== String(expected[rank])).length).toBe(0);
  });

  test("is read in many turns of the event loop, so that calls go on", async () => {
    const text = readFileSync(require.resolve("gpt-tokenizer/data/cl100k_base.tiktoken"), "utf8");
    let [turns, isReading] = [0, true];
    const count = () => {
      turns++;
      if (isReading) setImmediate(count);
    };
    setImmediate(count);
    await readRanks(text);
    isReading = false;
    // At 4 ms a turn a machine would have to read it in 20 ms to make fewer.
    expect(turns).toBeGreaterThan(4);
  });
});

test("a text of which the beginning is known counts as its whole length", async () => {
  const text = "one two three ".repeat(1000);
  expect(await countTokens(text, text.length * 10)).toBe((await countTokens(text)) * 10);
});

describe("countTokens", () => {
  test.each([
    ["", 0],
    ["Hello world", 2],
    ["नमस्ते दुनिया", 5],
    ["<|endoftext|>", 7],
    ["\ud800", 1],
  ])("%p has %d tokens", async (text, tokens) => expect(await countTokens(text)).toBe(tokens));

  test.each([
    ["one word", "a".repeat(200_000)],
    ["only spaces", " ".repeat(200_000)],
    ["marks", "!?".repeat(100_000)],
    ["one word and a half million more characters", "ab".repeat(350_000)],
  ])("a text that is %s does not hold the process up", async (_, text) => {
    // The tokenizer alone takes a minute for some of these, and the test would run out of its time.
    const tokens = await countTokens(text);
    expect(tokens).toBeGreaterThan(700);
    expect(tokens).toBeLessThan(text.length);
  });

  test.each(["o200k_base", "cl100k_base"] as const)("counts in pieces what %s counts at once", async (vocabulary) => {
    const whole = { o200k_base: o200k, cl100k_base: cl100k }[vocabulary];
    const readme = readFileSync(new URL("../../../../docs/api.md", import.meta.url), "utf8");
    const chinese = "模型网关把许多供应商放在同一个接口后面，按照实际使用量计费。它很快！".repeat(200);
    const hindi = "यह एक गेटवे है। यह कई मॉडल परोसता है, और हर कॉल का हिसाब रखता है। ".repeat(200);
    for (const text of [readme, chinese, hindi])
      expect(await countTokens(text, text.length, vocabulary)).toBe(whole(text));
  });

  test("gives other calls a turn while it counts", async () => {
    await countTokens("load");
    const text = Array.from({ length: 40_000 }, (_, index) => ((index * 7919) % 46_655).toString(36)).join(" ");
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    await countTokens(text);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
  });

  test("a text longer than the sample is counted in proportion", async () => {
    const sentence = "The quick brown fox jumps over the lazy dog. ";
    const tokens = await countTokens(sentence.repeat(10_000));
    expect(tokens).toBeGreaterThan(99_000);
    expect(tokens).toBeLessThan(101_000);
  });
});

describe("a long text of parts that differ", () => {
  const sparse = " ".repeat(200_000);
  const dense = Array.from({ length: 30_000 }, (_, at) => String.fromCodePoint(0x3400 + ((at * 7919) % 6500))).join("");

  test.each([
    ["begins with nothing but spaces", sparse + dense],
    ["ends with nothing but spaces", dense + sparse],
    ["is sparse everywhere but in its middle", sparse + dense + sparse],
    [
      "has both in turns",
      Array.from({ length: 60 }, (_, at) => sparse.slice(0, 8000) + dense.slice(at * 500, at * 500 + 500)).join(""),
    ],
  ])("that %s is estimated by samples from all of it", async (_, text) => {
    const exact = await countTokens(dense);
    const tokens = await countTokens(text);
    expect(tokens).toBeGreaterThan(0.9 * exact);
    expect(tokens).toBeLessThan(1.6 * exact + text.length / 10);
    expect(await countPieces([text.slice(0, 100_000), text.slice(100_000)])).toBeGreaterThan(0.9 * exact);
  });
});

test("texts that stand apart are counted each by itself", async () => {
  expect(await countPieces(["Hello world", "Hello world"], true)).toBe(4);
});

describe("tokensMax", () => {
  test.each([
    ["", 0],
    ["abc", 3],
    ["é", 2],
    ["नम", 6],
    ["😀", 4],
  ])("of %p is %d", (text, tokens) => expect(tokensMax(text)).toBe(tokens));

  test("is not less than the count of any text, also of one that no tokenizer compresses", async () => {
    const rare = fc.stringMatching(/^[\u3400-\u4dbf\ud840-\ud86f\udc00-\udfff]{0,200}$/);
    const texts = fc.oneof(fc.lorem({ maxCount: 50 }), fc.string({ unit: "binary", maxLength: 300 }), rare);
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        expect(tokensMax(text)).toBeGreaterThanOrEqual(await countTokens(text));
      }),
      { numRuns: 200, examples: [["QbQb".repeat(500)], ["gq".repeat(500)], ["1 1 ".repeat(500)]] },
    );
  });
});
