import type { Price } from "../../src/contract/index.ts";
import { openai } from "./openai-rules.ts";
import { toMediaPrice, toTieredPrice, toTokenPrice, withSearchPrice } from "./price-list.ts";
import { approved, moving, ownProtocol, type ProviderRules } from "./provider-rules.ts";

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
      "low",
      "medium",
      "high",
      ...(listed.supports_xhigh_reasoning_effort === true ? ["xhigh"] : []),
      ...(listed.supports_max_reasoning_effort === true ? ["max"] : []),
    ];
    return {
      contextTokens: listed.max_input_tokens,
      price: withSearchPrice(toTokenPrice(listed), listed),
      // https://platform.claude.com/docs/en/api/versioning: no model from Opus 4.7 on takes them.
      omit: ["temperature", "top_p", ...omit],
      options: { thinking: "adaptive", jsonSchema: true, efforts },
    };
  },
};

/** https://ai.google.dev/gemini-api/docs/speech-generation#voices */
const geminiVoices =
  `Zephyr Puck Charon Kore Fenrir Leda Orus Aoede Callirrhoe Autonoe Enceladus Iapetus Umbriel Algieba Despina Erinome
  Algenib Rasalgethi Laomedeia Achernar Alnilam Schedar Gacrux Pulcherrima Achird Zubenelgenubi Vindemiatrix Sadachbia
  Sadaltager Sulafat`.split(/\s+/);

export const gemini = {
  provider: "gemini",
  prefix: "gemini/",
  ownedBy: () => "google",
  capabilities: ["chat", "embeddings", "images", "transcription", "speech"],
  pricingUrl: "https://ai.google.dev/gemini-api/docs/pricing",
  leftOut: [
    [/latest$/, moving],
    [/lyria|imagen|deep-research|computer-use|robotics|omni|live|native-audio/, ownProtocol],
    [/-exp-|gemma-2|learnlm|image-generation|nano-banana-pro/, "it is an experiment or another's name"],
  ],
  facts(id, listed, capability) {
    if (capability === "embeddings") {
      const dimensions = { default: 3072, min: 128, max: 3072 };
      return { price: toTokenPrice(listed), inputTokensMax: listed.max_input_tokens, dimensions };
    }
    if (capability === "images") {
      const { outputToken, imageOutputToken, inputToken, cacheReadToken } = toMediaPrice(listed) ?? {};
      const price = { inputToken, cacheReadToken, outputToken, imageOutputToken } as Price;
      // https://ai.google.dev/gemini-api/docs/image-generation: the first has one size, and the small ones too.
      const hasSizes = id === "gemini-3-pro-image" || id === "gemini-3.1-flash-image";
      const imageSizes = id.startsWith("gemini-2.5") ? [] : ["1K"];
      return {
        price: imageOutputToken && price,
        // The limit that is sent: the largest image, and 4,096 tokens to think and to say something.
        outputTokensMax: Math.min(2520 + 4096, listed.max_output_tokens ?? Number.POSITIVE_INFINITY),
        ...(!hasSizes && { options: { imageSizes } }),
      };
    }
    if (capability === "transcription") {
      // https://ai.google.dev/gemini-api/docs/models/gemini-3.5-transcribe: up to an hour.
      return { price: toMediaPrice(listed), outputTokensMax: listed.max_output_tokens, audioMsMax: 3_600_000 };
    }
    if (capability === "speech") {
      return {
        price: toMediaPrice(listed),
        voices: geminiVoices,
        voiceDefault: "Kore",
        // At 32 tokens a second an answer ends after eight minutes, which is this much in the slowest of scripts.
        inputCharactersMax: 2000,
        outputTokensMax: listed.max_output_tokens,
      };
    }
    const levels = [...(/-pro/.test(id) ? [] : ["minimal"]), "low", "medium", "high"];
    const isLevelled = !id.startsWith("gemini-2.5");
    return {
      contextTokens: listed.max_input_tokens,
      price: toTieredPrice(listed),
      timeoutSeconds: 900,
      omit: ["presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias"],
      options: isLevelled
        ? { thinking: "level", levels }
        : { thinking: "budget", budgetMin: 512, budgetMax: 24_576, canDisable: true },
    };
  },
} satisfies ProviderRules;

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
    [/^together-ai-|experimental$|^arize-ai\//, "it is not a model of its own"],
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

/** Rules by plugin. */
export const rules: Readonly<Record<string, ProviderRules>> = { anthropic, gemini, groq, openai, sarvam, together };

/** Successors of models that their provider ends, where the provider names one. */
export const successors: Readonly<Record<string, string>> = {
  "gpt-4o-2024-08-06": "gpt-6-luna",
  "gpt-4o-2024-11-20": "gpt-6-luna",
};
