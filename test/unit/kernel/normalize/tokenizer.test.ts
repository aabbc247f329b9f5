import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { countTokens as cl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
import type { ChatRequest, ContentPart, Model } from "../../../../src/contract/index.ts";
import { promptTokensMax, tokensMax } from "../../../../src/kernel/normalize/prompt-bounds.ts";
import { countablePrompt, countTokens } from "../../../../src/kernel/normalize/tokenizer.ts";

const model = { contextTokens: 20_000, imageTokensMax: 2000 } as Model;

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

describe("a prompt", () => {
  test.each<[string, ChatRequest, number]>([
    ["a text", ask("abc"), 9],
    ["no text", ask(""), 6],
    [
      "parts",
      ask([
        { type: "text", text: "abc" },
        { type: "refusal", refusal: "abc" },
      ]),
      12,
    ],
    ["a picture", ask([{ type: "image_url", image_url: { url: "https://x.example/a.png" } }]), 2006],
    ["sound", ask([{ type: "input_audio", input_audio: { data: "x".repeat(1000), format: "wav" } }]), 30],
    ["a file", ask([{ type: "file", file: { id: "abc" } }]), 18],
    ["tools", ask("abc", { tools: [{ type: "function", function: { name: "f" } }] }), 54],
    ["functions", ask("abc", { functions: [{ name: "f" }] }), 23],
    [
      "a schema",
      ask("abc", { response_format: { type: "json_schema", json_schema: { name: "abc", schema: {} } } }),
      72,
    ],
    ["more than the context", ask("a".repeat(30_000)), 20_000],
  ])("with %s has a known bound", (_, request, tokens) => expect(promptTokensMax(request, model)).toBe(tokens));

  test("with tool calls counts their names and arguments", () => {
    const tool_calls = [{ id: "a", type: "function" as const, function: { name: "abc", arguments: "{}x" } }];
    const request = { model: "m", messages: [{ role: "assistant" as const, content: null, tool_calls }] };
    expect(promptTokensMax(request, model)).toBe(12);
    expect(countablePrompt(request, model)).toEqual({ text: "abc{}x\n", otherTokens: 6 });
  });

  test("is split into what a tokenizer can count and what not", () => {
    const parts: ContentPart[] = [
      { type: "text", text: "abc" },
      { type: "image_url", image_url: { url: "data:," } },
    ];
    expect(countablePrompt(ask(parts), model)).toEqual({ text: "abc\n", otherTokens: 1506 });
  });
});
