import { describe, expect, test } from "bun:test";
import { buildRows } from "../../../../scripts/refresh-catalogue/build-rows.ts";
import type { Listed } from "../../../../scripts/refresh-catalogue/price-list.ts";
import { rules } from "../../../../scripts/refresh-catalogue/rules.ts";
import type { Model } from "../../../../src/provider/index.ts";
import { compareModels } from "../../../../src/providers/compare-models.ts";
import { readModels } from "../../../../src/sdk/index.ts";

const claude: Listed = {
  litellm_provider: "anthropic",
  mode: "chat",
  max_input_tokens: 1_000_000,
  max_output_tokens: 128_000,
  input_cost_per_token: 1e-7,
  input_cost_per_token_above_100k_tokens: 5e-7,
  cache_read_input_token_cost: 1e-8,
  cache_creation_input_token_cost: 1.25e-7,
  output_cost_per_token: 5e-7,
  output_cost_per_token_above_100k_tokens: 2.5e-6,
  supports_vision: true,
  supports_function_calling: true,
  supports_reasoning: true,
  supports_max_reasoning_effort: true,
};
const build = (
  list: Record<string, Listed>,
  given: { taken?: Map<string, string>; before?: Model[]; today?: string } = {},
) => buildRows(list, rules.anthropic as never, { today: "2026-11-23", taken: new Map(), before: [], ...given });

describe("rows of the price list", () => {
  test("have the price of a search of the web where the list has one", () => {
    const search_context_cost_per_query = { search_context_size_low: 0.01, search_context_size_medium: 0.01 };
    const [row] = build({ "claude-new": { ...claude, search_context_cost_per_query } }).rows;
    expect(row?.price?.webSearch).toEqual({ usd: "10.00", per: 1000 });
    expect(build({ "claude-new": claude }).rows[0]?.price?.webSearch).toBeUndefined();
  });

  test("have prices, tiers, limits and features", () => {
    const [row] = build({ "claude-new": claude }).rows;
    expect(row).toMatchObject({
      id: "claude-new",
      upstreamId: "claude-new",
      premium: true,
      contextTokens: 1_000_000,
      outputTokensMax: 128_000,
      features: ["vision", "tools"],
      options: { efforts: ["low", "medium", "high", "max"] },
      price: {
        inputToken: { usd: "0.10", per: 1_000_000 },
        cacheWriteToken: { usd: "0.125", per: 1_000_000 },
        tiers: [
          {
            aboveInputTokens: 100_000,
            inputToken: { usd: "0.50", per: 1_000_000 },
            cacheReadToken: { usd: "0.01", per: 1_000_000 },
            outputToken: { usd: "2.50", per: 1_000_000 },
          },
        ],
      },
      checkedOn: "2026-11-23",
    });
    expect(readModels([row])).toHaveLength(1);
  });

  test("leave out what has no price, has ended, is sold already or is not for everyone", () => {
    const { input_cost_per_token: _, ...unpriced } = claude;
    const list = {
      "claude-unpriced": unpriced,
      "claude-free": { ...claude, input_cost_per_token: 0 },
      "claude-old": { ...claude, deprecation_date: "2026-11-23" },
      "claude-known": claude,
      "claude-mythos-9": claude,
      "gpt-9": { ...claude, litellm_provider: "openai" },
    };
    const { rows, leftOut } = build(list, { taken: new Map([["claude-known", "famC-known"]]) });
    expect(rows).toEqual([]);
    expect(Object.fromEntries(leftOut)).toEqual({
      "claude-unpriced": "the list has no price of it",
      "claude-free": "the list has no price of it",
      "claude-old": "its provider ended it on 2026-11-23",
      "claude-known": "it is sold as famC-known",
      "claude-mythos-9": "its provider sells it to approved customers only",
    });
  });

  test("make a dated name an alias, and keep a model that has ended for a year", () => {
    const dated = { "claude-new": claude, "claude-new-20261015": claude };
    expect(build(dated).rows).toMatchObject([
      { id: "claude-new", aliases: ["claude-new-20261015"], created: 1_792_022_400 },
    ]);
    const ending = { ...claude, deprecation_date: "2026-12-01" };
    const before = [...build({ "claude-new": ending }).rows];
    const later = (today: string) => build({ "claude-new": ending }, { before, today }).rows;
    expect(later("2026-12-02")).toEqual(before);
    expect(later("2027-12-02")).toEqual([]);
  });

  test("say what changed since the last time, and keep the day a model was first seen", () => {
    const before = [...build({ "claude-new": claude, "claude-gone": claude }).rows];
    const list = { "claude-new": { ...claude, input_cost_per_token: 2e-7 }, "claude-more": claude };
    const { rows } = build(list, { before, today: "2026-12-24" });
    expect(compareModels(before, rows, ["checkedOn"])).toEqual([
      "+ claude-more",
      "~ claude-new: price.inputToken 0.10/1000000 → 0.20/1000000",
      "- claude-gone",
    ]);
    expect(rows.find(({ id }) => id === "claude-new")?.created).toBe(Date.parse("2026-11-23") / 1000);
  });
});

describe("rows of models of pictures and sound", () => {
  const openai = (id: string, listed: Listed) => {
    const given = { today: "2026-11-23", taken: new Map(), before: [] };
    return buildRows({ [id]: { litellm_provider: "openai", ...listed } }, rules.openai as never, given).rows.find(
      (row) => row.id === id,
    );
  };
  const million = (usd: string) => ({ usd, per: 1_000_000 });

  test("have one rate where all of an answer is pictures", () => {
    const rates = {
      input_cost_per_token: 5e-6,
      cache_read_input_token_cost: 1.25e-6,
      output_cost_per_image_token: 3e-5,
    };
    expect(openai("gpt-image-2", { mode: "image_generation", ...rates })).toMatchObject({
      capability: "images",
      imageOutputTokensMax: { "high 1024x1024": 7024, "low 1024x1024": 196, high: 23_719 },
      price: { inputToken: million("5.00"), cacheReadToken: million("1.25"), outputToken: million("30.00") },
    });
  });

  test("have a rate of pictures beside that of words", () => {
    const rates = { input_cost_per_token: 5e-6, output_cost_per_token: 1e-5, output_cost_per_image_token: 3.2e-5 };
    expect(openai("gpt-image-1.5", { mode: "image_generation", ...rates })?.price).toEqual({
      inputToken: million("5.00"),
      cacheReadToken: million("5.00"),
      outputToken: million("10.00"),
      imageOutputToken: million("32.00"),
    });
  });

  test("have rates of sound where it is dearer than text, and take it", () => {
    const rates = {
      input_cost_per_token: 2.5e-6,
      output_cost_per_token: 1e-5,
      input_cost_per_audio_token: 3.2e-5,
      output_cost_per_audio_token: 6.4e-5,
      supports_audio_input: true,
    };
    expect(openai("gpt-audio", { mode: "chat", ...rates })).toMatchObject({
      features: ["audio"],
      price: { audioInputToken: million("32.00"), audioOutputToken: million("64.00") },
    });
    const equal = { ...rates, input_cost_per_audio_token: 2.5e-6, output_cost_per_audio_token: 1e-5 };
    expect(openai("gpt-audio", { mode: "chat", ...equal })?.price?.audioInputToken).toBeUndefined();
  });

  test("are priced by time or characters where the list says so", () => {
    const timed = openai("gpt-transcribe", { mode: "audio_transcription", input_cost_per_second: 7.5e-5 });
    expect(Object.keys(timed?.price ?? {})).toEqual(["audioMs"]);
    const spoken = openai("tts-1", { mode: "audio_speech", input_cost_per_character: 1.5e-5 });
    expect(spoken).toMatchObject({ price: { character: million("15.00") } });
    expect(spoken?.options).toBeUndefined();
  });
});
