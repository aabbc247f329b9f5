import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { compilePrice, costNanodollars, formatUsd, type MeterName, type Meters } from "../../../src/contract/index.ts";
import type { Model } from "../../../src/provider/index.ts";
import { expectRows } from "../../support/expect-rows.ts";
import { modelOf, models } from "./models.ts";

function usdOf(id: string, meters: Meters): string {
  const cost = costNanodollars(compilePrice(modelOf(id).price ?? {}), meters);
  return cost === undefined ? "unknown" : formatUsd(cost);
}

describe("a call costs", () => {
  test.each<[string, string, Meters, string]>([
    ["an image with its markup", "famB-3-pro-image-preview", { image: 1 }, "0.046"],
    ["three images", "famB-3-pro-image-preview", { image: 3 }, "0.138"],
    ["one prompt token", "famA-4.1-nano", { inputToken: 1, outputToken: 0 }, "0.0000001"],
    ["one cached token", "famA-4.1-nano", { inputToken: 0, cacheReadToken: 1, outputToken: 0 }, "0.000000025"],
    ["a chat", "famA-4.1", { inputToken: 1000, outputToken: 500 }, "0.006"],
    [
      "a chat, most of its prompt cached",
      "famA-4.1",
      { inputToken: 24, cacheReadToken: 1000, outputToken: 7 },
      "0.000604",
    ],
    ["a chat at the tier's edge", "famA-5.4", { inputToken: 272_000, outputToken: 1000 }, "0.695"],
    ["a chat over it, at the dearer rates whole", "famA-5.4", { inputToken: 272_001, outputToken: 1000 }, "1.382505"],
    ["cached tokens too count to the tier", "famA-5.4", { inputToken: 1, cacheReadToken: 272_000 }, "0.136005"],
    ["a written cache", "famC-sonnet-4-6", { inputToken: 3, cacheWriteToken: 7351, outputToken: 100 }, "0.02907525"],
    [
      "a long prompt",
      "famC-sonnet-4-5",
      { inputToken: 150_000, cacheWriteToken: 50_001, outputToken: 10 },
      "1.2752325",
    ],
    ["a long prompt of another provider", "famB-2.5-pro", { inputToken: 200_001, outputToken: 1 }, "0.5000175"],
    ["an embedding", "text-embedding-3-small", { inputToken: 8 }, "0.00000016"],
    ["a cheaper embedding", "hostT/m2-bert-80M-32k-retrieval", { inputToken: 1 }, "0.000000008"],
    ["an hour of speech heard", "famW-large-v3", { audioMs: 3_600_000 }, "0.111"],
    ["a millisecond, rounded up", "famW-large-v3", { audioMs: 1 }, "0.000000031"],
    ["half a minute", "famF-stt", { audioMs: 30_000 }, "0.00275"],
    ["a sentence spoken", "famF-tts", { character: 100 }, "0.0033"],
    ["a character", "famT/v1-english", { character: 1 }, "0.000022"],
    ["nothing where the provider took nothing", "famF-m", { inputToken: 1000, outputToken: 1000 }, "0"],
    ["what nobody knows", "hostG/compound", { inputToken: 1 }, "unknown"],
  ])("%s (%s)", (_, id, meters, usd) => {
    expect(usdOf(id, meters)).toBe(usd);
  });
});

interface ListPrice {
  model: string;
  usd_per_million_tokens?: Record<string, number> | null;
  above_prompt_tokens?: { threshold: number; usd_per_million_tokens: Record<string, number> };
}

const file = join(import.meta.dir, "../../../../shared/prices.json");
const pricesMissing = existsSync(file)
  ? undefined
  : "(no list prices: expected ../shared/prices.json beside the project)";

/** Under which name a model stands in the list where that is not the provider's own. */
const listed: Record<string, string> = {
  "gpt-5.3-chat-latest": "gpt-5.3",
  "claude-sonnet-4-20250514": "claude-sonnet-4-0",
  "claude-opus-4-20250514": "claude-opus-4-0",
  "claude-sonnet-4-5-20250929": "claude-sonnet-4-5",
  "claude-opus-4-5-20251101": "claude-opus-4-5",
  "claude-haiku-4-5-20251001": "claude-haiku-4-5",
  "gemini-2.5-flash-lite-preview-06-17": "gemini-2.5-flash-lite",
  "gemini-2.5-pro-preview-06-05": "gemini-2.5-pro",
};

const meterOf: Record<string, MeterName> = {
  input: "inputToken",
  cached_input: "cacheReadToken",
  cache_write_5m: "cacheWriteToken",
  cache_write_1h: "cacheWrite1hToken",
  output: "outputToken",
};

/** A list price in the catalogue's shape with numbers, without the meters that no chat here uses (audio). */
function ratesOfList(usd: Record<string, number>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(meterOf).flatMap(([name, meter]) => (usd[name] === undefined ? [] : [[meter, usd[name]]])),
  );
}

function ratesOfRow(rates: Partial<Record<MeterName, { usd: string; per: number }>>): Record<string, number> {
  return Object.fromEntries(
    Object.values(meterOf).flatMap((meter) => {
      const rate = rates[meter];
      return rate === undefined ? [] : [[meter, (Number(rate.usd) * 1_000_000) / rate.per]];
    }),
  );
}

test.skipIf(pricesMissing !== undefined)(
  `every chat model of the catalogue costs its list price ${pricesMissing ?? ""}`.trim(),
  async () => {
    const list: ListPrice[] = Object.values(JSON.parse(readFileSync(file, "utf8")).models);
    const chats = models.filter(({ capability, price }) => capability === "chat" && price !== undefined);
    await expectRows(
      chats.map((model): [string, Model] => [model.id, model]),
      (_, model) => {
        const name = listed[model.upstreamId] ?? model.upstreamId;
        const entry = list.find((candidate) => candidate.model === name);
        const { threshold, usd_per_million_tokens: dearer } = { ...entry?.above_prompt_tokens };
        expect(ratesOfRow(model.price ?? {})).toEqual(ratesOfList(entry?.usd_per_million_tokens ?? {}));
        expect(model.price?.tiers?.[0]?.aboveInputTokens).toBe(threshold as number);
        expect(ratesOfRow(model.price?.tiers?.[0] ?? {})).toEqual(ratesOfList(dearer ?? {}));
      },
    );
  },
);
