import type { Price, Rate } from "../../src/contract/index.ts";
import type { Model } from "../../src/provider/index.ts";
import {
  isPositive,
  type Listed,
  toMediaPrice,
  toRate,
  toTariff,
  toTieredPrice,
  toTokenPrice,
  withSearchPrice,
} from "./price-list.ts";
import { approved, type Facts, moving, ownProtocol, type ProviderRules, search } from "./provider-rules.ts";

/**
 * Maximum context of a prompt for web searches, in tokens, however long the context of the model is.
 * https://developers.openai.com/api/docs/guides/tools-web-search#limitations
 */
const searchTokensMax = 128_000;

const sampling = ["temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs"];
const samplingOmit = [...sampling, "logit_bias"];

const moderation: Model = {
  id: "omni-moderation-latest",
  aliases: ["omni-moderation-2024-09-26"],
  upstreamId: "omni-moderation-latest",
  capability: "moderation",
  premium: true,
  ownedBy: "openai",
  created: 1_727_308_800,
  price: { inputToken: { usd: "0", per: 1_000_000 } },
  source: "https://developers.openai.com/api/docs/guides/moderation: free of charge",
  checkedOn: "2026-11-26",
};

export const openai = {
  provider: "openai",
  prefix: "",
  ownedBy: () => "openai",
  capabilities: ["chat", "embeddings", "images", "transcription", "speech"],
  pricingUrl: "https://developers.openai.com/api/docs/pricing",
  extra: [moderation],
  leftOut: [
    [/^ft:|^openai\/|^text-embedding-ada-002-v2$|-1106$/, "it is not a model of its own"],
    [/cyber|daybreak|rosalind|-law$/, approved],
    [/latest$/, moving],
    [/search-(preview|api)|deep-research/, search],
    [/computer-use|realtime|-live-/, ownProtocol],
  ],
  facts(id, listed, capability) {
    if (capability === "images") return openaiImageFacts(id, listed);
    if (capability === "transcription" && isPositive(listed.input_cost_per_token)) {
      const isDiarizing = id.includes("diarize");
      return {
        price: toMediaPrice(listed),
        features: [],
        outputTokensMax: listed.max_output_tokens,
        // The message of its refusal says: "audio duration … is longer than 1400 seconds which is the maximum for this model".
        audioMsMax: isDiarizing ? 1_400_000 : 1_500_000,
        // https://developers.openai.com/api/docs/guides/speech-to-text: longer audio has to be divided, and no prompt is taken.
        ...(isDiarizing && { omit: ["prompt"] }),
        options: { verbose: false, ...(isDiarizing && { extra: { chunking_strategy: "auto" } }) },
      };
    }
    if (capability === "transcription") {
      return {
        price: { audioMs: toRate(Number(listed.input_cost_per_second) / 1000, 3_600_000) },
        features: id === "whisper-1" ? ["translation" as const] : [],
        // The size of a file is the only known limit: longer audio would have less than 15 kbit/s.
        audioMsMax: 14_400_000,
        ...(id !== "whisper-1" && { options: { verbose: false } }),
      };
    }
    if (capability === "speech") {
      const byToken = toMediaPrice(listed);
      const voices = ["alloy", "ash", "coral", "echo", "fable", "nova", "onyx", "sage", "shimmer"];
      const price = byToken ?? { character: toRate(Number(listed.input_cost_per_character), 1_000_000) };
      const more = byToken && { voices: [...voices, "ballad", "verse", "marin", "cedar"], options: { events: true } };
      return { price, voices, voiceDefault: "alloy", inputCharactersMax: 4096, ...more };
    }
    if (capability === "embeddings") {
      const isFixed = id === "text-embedding-ada-002";
      const size = isFixed ? 1536 : Number(listed.output_vector_size);
      return {
        price: toTokenPrice(listed),
        inputTokensMax: 8191,
        dimensions: { default: size, min: isFixed ? size : 1, max: size },
        ...(isFixed && { omit: ["dimensions"] }),
      };
    }
    return openaiChatFacts(id, listed);
  },
} satisfies ProviderRules;

/**
 * Maximum number of tokens of an image, by quality, and by size for usual sizes, with room for words in addition.
 * https://developers.openai.com/api/docs/guides/image-generation#cost-and-latency
 */
const firstImageTokens = { low: 1024, medium: 2048, high: 6912 };
const imageTokens = Object.fromEntries(
  Object.entries({ low: 16, medium: 48, high: 96 }).flatMap(([quality, parts]) => [
    [quality, toImageTokens(parts, 2880, 2880)],
    ...[
      [1024, 1024],
      [1536, 1024],
      [1024, 1536],
      [2048, 2048],
      [3840, 2160],
    ].map(([width = 0, height = 0]) => [`${quality} ${width}x${height}`, toImageTokens(parts, width, height)]),
  ]),
);

/** From `gpt-image-2` on: the longer side has as many parts as the quality, the other fewer. */
function toImageTokens(parts: number, width: number, height: number): number {
  const others = Math.round((parts * Math.min(width, height)) / Math.max(width, height));
  return Math.ceil((parts * others * (2_000_000 + width * height)) / 4_000_000);
}

function openaiImageFacts(id: string, listed: Listed): Facts {
  const price = toMediaPrice(listed);
  // https://developers.openai.com/api/docs/guides/image-generation: every one of them edits.
  const features: Model["features"] = ["edits"];
  const imageOutputTokensMax = id.startsWith("gpt-image-1") ? firstImageTokens : imageTokens;
  // Above the quality `high`, which `auto` may choose, OpenAI does not say how many tokens an image takes.
  if (!id.startsWith("gpt-image-2.5")) return { price, features, imageOutputTokensMax };
  const quality = { standard: "medium", hd: "high", auto: "medium" };
  return { price, features, imageOutputTokensMax, options: { extra: { quality: "medium" }, values: { quality } } };
}

/**
 * Adds the price of `POST /decisions`, whose output is free. https://developers.openai.com/api/docs/guides/decisions
 */
function withDecisionsPrice(price: Price | undefined, listed: Listed): Price | undefined {
  if (price === undefined || !isPositive(listed.input_cost_per_token_decisions)) return price;
  const { tiers, ...rates } = toTariff(listed, "_decisions");
  const outputToken: Rate = { usd: "0", per: 1_000_000 };
  const decisions = { ...rates, outputToken, ...(tiers && { tiers: tiers.map((tier) => ({ ...tier, outputToken })) }) };
  return { ...price, serviceTiers: { decisions, ...price.serviceTiers } };
}

function openaiChatFacts(id: string, listed: Listed): Facts {
  const input = listed.max_input_tokens;
  const output = listed.max_output_tokens ?? 0;
  // The list says of some models how long the prompt may be, of others how long prompt and answer may be.
  const contextTokens = input === 272_000 || input === 922_000 ? input + output : input;
  const price = /-audio/.test(id) ? toMediaPrice(listed) : toTieredPrice(listed);
  // A cache that is kept for longer costs more than the row says.
  const keeping = Object.keys(listed).some((field) => field.includes("above_12hr"))
    ? ["prompt_cache_retention", "prompt_cache_options"]
    : [];
  if (listed.supports_reasoning !== true) {
    // The list has the rates of the search's preview, by another name of these models.
    const webSearch = id.startsWith("gpt-4o-20") ? toRate(0.01, 1000) : undefined;
    const searching = webSearch === undefined || price === undefined ? price : { ...price, webSearch };
    return {
      contextTokens,
      ...(webSearch && { searchTokensMax }),
      price: searching,
      omit: ["reasoning_effort", "verbosity", ...keeping],
    };
  }
  const isFirst = /^(gpt-5(-mini|-nano)?(-20|$)|o\d)/.test(id);
  const isPro = /^gpt-5.*-pro/.test(id);
  const none = isFirst || isPro ? false : listed.supports_none_reasoning_effort === true || /^gpt-5\.[1-4]/.test(id);
  const efforts = [
    ...(none ? ["none"] : isFirst && !id.startsWith("o") ? ["minimal"] : []),
    ...(isPro ? (id.startsWith("gpt-5-") ? ["high"] : ["medium", "high"]) : ["low", "medium", "high"]),
    ...(listed.supports_xhigh_reasoning_effort === true ? ["xhigh"] : []),
    ...(listed.supports_max_reasoning_effort === true ? ["max"] : []),
  ];
  const reasonsByDefault = listed.mode === "responses" || !/^gpt-5\.[1-4]/.test(id);
  const omit = [...(reasonsByDefault ? [...samplingOmit, "stop"] : []), ...keeping];
  // https://platform.openai.com/docs/guides/reasoning: from 5.4 on, functions and reasoning go together at /responses only.
  const isNew = !isFirst && listed.mode !== "responses" && !/^gpt-5\.[1-3]/.test(id);
  const searching = withDecisionsPrice(withSearchPrice(price, listed), listed);
  return {
    contextTokens,
    ...(searching?.webSearch && { searchTokensMax }),
    price: searching,
    timeoutSeconds: 900,
    ...(omit.length > 0 && { omit }),
    rename: { max_tokens: "max_completion_tokens" },
    options: {
      systemRole: "developer",
      reasoningEfforts: efforts,
      ...(listed.supports_native_streaming === false && { streams: false }),
      ...(isNew && { toolEfforts: none ? ["none"] : [] }),
      ...(isNew && none && reasonsByDefault && { toolEffortDefault: "none" }),
    },
  };
}
