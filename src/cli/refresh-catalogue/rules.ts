import type { Capability, Model } from "../../contract/index.ts";
import { isPositive, type Listed, toRate, toTieredPrice, toTokenPrice } from "./price-list.ts";

/** The facts of a row that the price list does not have. */
type Facts = { readonly [Field in keyof Model]?: Model[Field] | undefined };

/** How the models of one provider are found in the price list, and what is known of them beside it. */
export interface ProviderRules {
  /** The provider's name in the list, and what stands before its ids there. */
  readonly provider: string;
  readonly prefix: string;
  readonly ownedBy: (id: string) => string;
  /** What the gateway's plugin can do. */
  readonly capabilities: readonly Capability[];
  readonly pricingUrl: string;
  /** Why a model is not sold, by what its id matches. */
  readonly leftOut: readonly (readonly [RegExp, string])[];
  facts(id: string, listed: Listed, capability: Capability): Facts;
  /** Rows that the list lacks, from other sources. */
  readonly extra?: readonly Model[];
}

const approved = "its provider sells it to approved customers only";
const moving = "the name moves on to other models, whose prices differ";
const ownProtocol = "it is served by a protocol of its own";
const audio = "its audio tokens have a price of their own, which a row does not have";
const search = "each of its searches has a price of its own, which a row does not have";

const sampling = ["temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs"];
const samplingOmit = [...sampling, "logit_bias"];

const openai: ProviderRules = {
  provider: "openai",
  prefix: "",
  ownedBy: () => "openai",
  capabilities: ["chat", "embeddings", "transcription", "speech"],
  pricingUrl: "https://developers.openai.com/api/docs/pricing",
  leftOut: [
    [/^ft:|^openai\/|^text-embedding-ada-002-v2$|-1106$/, "it is no model of its own"],
    [/cyber|daybreak|rosalind|-law$/, approved],
    [/latest$/, moving],
    [/search-(preview|api)|deep-research/, search],
    [/audio/, audio],
    [/computer-use|realtime|-live-/, ownProtocol],
    [/^gpt-4o.*-transcribe/, "it is priced by audio tokens, and the gateway counts time"],
    [/-mini-tts/, "it is priced by audio tokens, and the gateway counts characters"],
  ],
  facts(id, listed, capability) {
    if (capability === "transcription") {
      return {
        price: { audioMs: toRate(Number(listed.input_cost_per_second) / 1000, 3_600_000) },
        ...(id !== "whisper-1" && { options: { verbose: false } }),
      };
    }
    if (capability === "speech") {
      const voices = ["alloy", "ash", "coral", "echo", "fable", "nova", "onyx", "sage", "shimmer"];
      const price = { character: toRate(Number(listed.input_cost_per_character), 1_000_000) };
      return { price, voices, voiceDefault: "alloy", inputCharactersMax: 4096 };
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
};

function openaiChatFacts(id: string, listed: Listed): Facts {
  const input = listed.max_input_tokens;
  const output = listed.max_output_tokens ?? 0;
  // The list says of some models how long the prompt may be, of others how long prompt and answer may be.
  const contextTokens = input === 272_000 || input === 922_000 ? input + output : input;
  const price = toTieredPrice(listed);
  // A cache that is kept for longer costs more than the row says.
  const keeping = Object.keys(listed).some((field) => field.includes("above_12hr"))
    ? ["prompt_cache_retention", "prompt_cache_options"]
    : [];
  if (listed.supports_reasoning !== true) {
    return { contextTokens, price, omit: ["reasoning_effort", "verbosity", ...keeping] };
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
  return {
    contextTokens,
    price,
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

const anthropic: ProviderRules = {
  provider: "anthropic",
  prefix: "",
  ownedBy: () => "anthropic",
  capabilities: ["chat"],
  pricingUrl: "https://www.anthropic.com/pricing#api",
  leftOut: [[/mythos/, approved]],
  facts(_, listed) {
    const omit = ["presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias", "seed"];
    const efforts = [
      ...["low", "medium", "high"],
      ...(listed.supports_xhigh_reasoning_effort === true ? ["xhigh"] : []),
      ...(listed.supports_max_reasoning_effort === true ? ["max"] : []),
    ];
    return {
      contextTokens: listed.max_input_tokens,
      price: toTokenPrice(listed),
      imageTokensMax: 4784,
      // https://platform.claude.com/docs/en/api/versioning: no model from Opus 4.7 on takes them.
      omit: ["temperature", "top_p", ...omit],
      options: { thinking: "adaptive", jsonSchema: true, efforts },
    };
  },
};

const gemini: ProviderRules = {
  provider: "gemini",
  prefix: "gemini/",
  ownedBy: () => "google",
  capabilities: ["chat", "embeddings", "images"],
  pricingUrl: "https://ai.google.dev/gemini-api/docs/pricing",
  leftOut: [
    [/latest$/, moving],
    [/lyria|imagen|deep-research|computer-use|robotics|omni|live|native-audio/, ownProtocol],
    [/-exp-|gemma-2|learnlm|image-generation|-tts$|nano-banana-pro/, "it is an experiment or another's name"],
  ],
  facts(id, listed, capability) {
    if (capability === "embeddings") {
      const dimensions = { default: 3072, min: 128, max: 3072 };
      return { price: toTokenPrice(listed), inputTokensMax: listed.max_input_tokens, dimensions };
    }
    if (capability === "images") {
      const isFirst = id.startsWith("gemini-2.5");
      const usd = Number(listed.output_cost_per_image_token) * (isFirst ? 1290 : 1120);
      // Larger pictures take more tokens, but for this one model.
      const imageSizes = isFirst ? [] : id === "gemini-3-pro-image" ? ["1K", "2K"] : ["1K"];
      return { price: isPositive(usd) ? { image: toRate(usd, 1) } : undefined, options: { imageSizes } };
    }
    const levels = [...(/-pro/.test(id) ? [] : ["minimal"]), "low", "medium", "high"];
    const isLevelled = !id.startsWith("gemini-2.5");
    return {
      contextTokens: listed.max_input_tokens,
      price: toTokenPrice(listed),
      timeoutSeconds: 900,
      imageTokensMax: 8256,
      omit: ["presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias"],
      options: isLevelled
        ? { thinking: "level", levels }
        : { thinking: "budget", budgetMin: 512, budgetMax: 24_576, canDisable: true },
    };
  },
};

const groq: ProviderRules = {
  provider: "groq",
  prefix: "groq/",
  ownedBy: (id) => (id.includes("/") ? (id.split("/")[0] as string) : "groq"),
  capabilities: ["chat"],
  pricingUrl: "https://console.groq.com/docs/models",
  leftOut: [[/prompt-guard/, "it classifies a prompt and answers none"]],
  facts(id, listed) {
    const omit = ["logprobs", "top_logprobs", "logit_bias", "metadata", "store", "verbosity"];
    const isReasoning = listed.supports_reasoning === true;
    return {
      contextTokens: listed.max_input_tokens,
      price: toTokenPrice(listed),
      ...(listed.supports_vision === true && { imageTokensMax: 3000 }),
      omit: isReasoning ? omit : [...omit, "reasoning_effort"],
      ...(isReasoning && {
        options: {
          reasoningEfforts: id.startsWith("qwen/") ? ["none", "low", "medium", "high"] : ["low", "medium", "high"],
        },
      }),
    };
  },
};

const together: ProviderRules = {
  provider: "together_ai",
  prefix: "together_ai/",
  ownedBy: (id) => id.split("/")[0] as string,
  capabilities: ["chat"],
  pricingUrl: "https://www.together.ai/pricing",
  leftOut: [
    [/^together-ai-|experimental$|^arize-ai\//, "it is no model of its own"],
    [/^Qwen\/Qwen2|^meta-llama\/|^arcee-ai\//, "it is not known to be served without machines of one's own"],
  ],
  facts: (_, listed) => ({
    contextTokens: listed.max_input_tokens,
    price: /together\.ai/.test(listed.source ?? "") && listed.max_output_tokens ? toTokenPrice(listed) : undefined,
    ...(listed.supports_reasoning === true && { timeoutSeconds: 900 }),
  }),
};

/** Sarvam's list is in rupees; these are dollars at the rate of the specification's two prices of its models, $0.011. */
const sarvamSource = "https://docs.sarvam.ai (page read 2026-09-20), a rupee taken as $0.011";
const sarvamChat = { capability: "chat" as const, premium: true, ownedBy: "sarvam", features: ["tools" as const] };

const sarvam: ProviderRules = {
  provider: "sarvam",
  prefix: "sarvam/",
  ownedBy: () => "sarvam",
  capabilities: [],
  pricingUrl: "https://docs.sarvam.ai",
  leftOut: [],
  facts: () => ({}),
  extra: [
    {
      id: "sarvam-105b",
      upstreamId: "sarvam-105b",
      ...sarvamChat,
      contextTokens: 131_072,
      reasoning: true,
      omit: ["logprobs", "top_logprobs", "logit_bias", "metadata", "store", "verbosity"],
      rename: { max_completion_tokens: "max_tokens" },
      options: {
        reasoningEfforts: ["low", "medium", "high"],
        values: { reasoning_effort: { minimal: "low", xhigh: "high", max: "high" } },
      },
      created: 1_772_323_200,
      price: {
        inputToken: { usd: "0.32208", per: 1_000_000 },
        cacheReadToken: { usd: "0.12078", per: 1_000_000 },
        outputToken: { usd: "0.8052", per: 1_000_000 },
      },
      source: sarvamSource,
      checkedOn: "2026-11-21",
    },
  ],
};

/** By plugin. */
export const rules: Readonly<Record<string, ProviderRules>> = { anthropic, gemini, groq, openai, sarvam, together };

/** What succeeds a model that its provider ends, where the provider names one. */
export const successors: Readonly<Record<string, string>> = {
  "gpt-4o-2024-08-06": "gpt-6-luna",
  "gpt-4o-2024-11-20": "gpt-6-luna",
};
