import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { countTokens as cl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
import type { ChatRequest, ContentPart } from "../../../../src/contract/index.ts";
import { countablePrompt, countTokens } from "../../../../src/kernel/normalize/tokenizer.ts";
import { promptTokensMax, tokensMax } from "../../../../src/kernel/normalize/usage.ts";

const ask = (content: string | ContentPart[], more: Partial<ChatRequest> = {}): ChatRequest => ({
  model: "m",
  messages: [{ role: "user", content }],
  ...more,
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

describe("tokensAtMost", () => {
  test.each([
    ["", 0],
    ["abc", 1],
    ["abcd", 2],
    ["é", 1],
    ["नम", 2],
    ["😀", 2],
  ])("of %p is %d", (text, tokens) => expect(tokensMax(text)).toBe(tokens));

  test("is not less than the count of ordinary text, of a sentence and more", async () => {
    const texts = fc.lorem({ maxCount: 50 }).filter(({ length }) => length >= 100);
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        expect(tokensMax(text)).toBeGreaterThanOrEqual(await countTokens(text));
      }),
      { numRuns: 50 },
    );
  });
});

describe("a prompt", () => {
  test.each<[string, ChatRequest, number]>([
    ["a text", ask("abc"), 7],
    ["no text", ask(""), 6],
    [
      "parts",
      ask([
        { type: "text", text: "abc" },
        { type: "refusal", refusal: "abc" },
      ]),
      8,
    ],
    ["a picture", ask([{ type: "image_url", image_url: { url: "https://x.example/a.png" } }]), 1506],
    ["sound", ask([{ type: "input_audio", input_audio: { data: "x".repeat(1000), format: "wav" } }]), 16],
    ["a file", ask([{ type: "file", file: { id: "abc" } }]), 10],
    ["tools", ask("abc", { tools: [{ type: "function", function: { name: "f" } }] }), 22],
    ["functions", ask("abc", { functions: [{ name: "f" }] }), 12],
    [
      "a schema",
      ask("abc", { response_format: { type: "json_schema", json_schema: { name: "abc", schema: {} } } }),
      28,
    ],
  ])("with %s has a known bound", (_, request, tokens) => expect(promptTokensMax(request)).toBe(tokens));

  test("with tool calls counts their names and arguments", () => {
    const tool_calls = [{ id: "a", type: "function" as const, function: { name: "abc", arguments: "{}x" } }];
    const request = { model: "m", messages: [{ role: "assistant" as const, content: null, tool_calls }] };
    expect(promptTokensMax(request)).toBe(8);
    expect(countablePrompt(request)).toEqual({ text: "abc{}x\n", otherTokens: 6 });
  });

  test("is split into what a tokenizer can count and what not", () => {
    const parts: ContentPart[] = [
      { type: "text", text: "abc" },
      { type: "image_url", image_url: { url: "data:," } },
    ];
    expect(countablePrompt(ask(parts))).toEqual({ text: "abc\n", otherTokens: 1506 });
  });
});
