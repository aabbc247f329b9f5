import type { Price, Rate } from "../../src/contract/index.ts";
import type { Model } from "../../src/provider/index.ts";
import { openai } from "./openai-rules.ts";
import { isPositive, type Listed, toRate, toTieredPrice, toTokenPrice } from "./price-list.ts";
import {
  approved,
  type Facts,
  listedFacts,
  moving,
  ownProtocol,
  type ProviderRules,
  search,
} from "./provider-rules.ts";
import { gemini } from "./rules.ts";

const claudeOmit = ["presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias", "seed"];
const special = "it is an older one, or not of general use: write a row for it";
const otherPlace = "the price is that of other places or deployments: write a row for it";

/** Facts of a Claude model wherever it is sold, including how it is switched to reasoning. */
function claudeFacts(listed: Listed): Facts {
  const isAdaptive = listed.supports_adaptive_thinking === true;
  const efforts = [
    "low",
    "medium",
    "high",
    ...(listed.supports_xhigh_reasoning_effort === true ? ["xhigh"] : []),
    ...(listed.supports_max_reasoning_effort === true ? ["max"] : []),
  ];
  return {
    contextTokens: listed.max_input_tokens,
    price: tidy(toTokenPrice(listed)),
    omit: [...(listed.supports_sampling_params === false ? ["temperature", "top_p"] : []), ...claudeOmit],
    options: isAdaptive ? { thinking: "adaptive", efforts } : { thinking: "budget" },
  };
}

/**
 * Gives the tiers of a price exactly the rates of the price itself; rates that only a tier has are left out. A service
 * tier that lacks a rate is left out as a whole, because the list does not say what it charges.
 */
function tidy(price: Price | undefined): Price | undefined {
  if (price === undefined) return undefined;
  const { tiers, serviceTiers = {}, ...own } = price;
  const names = Object.keys(own);
  const trim = (all: Price["tiers"]) =>
    all?.map(({ aboveInputTokens, ...rates }) => ({
      aboveInputTokens,
      ...Object.fromEntries(
        names.map((name) => [name, rates[name as keyof typeof rates] ?? own[name as keyof typeof own]]),
      ),
    }));
  const services = Object.entries(serviceTiers).flatMap(([name, { tiers: long, ...rates }]) => {
    const isWhole = names.every((meter) => rates[meter as keyof typeof rates] !== undefined);
    if (!isWhole) return [];
    const basicRates = Object.fromEntries(names.map((meter) => [meter, rates[meter as keyof typeof rates]]));
    return [[name, { ...basicRates, ...(long && { tiers: trim(long) }) }] as const];
  });
  return {
    ...own,
    ...(tiers && { tiers: trim(tiers) }),
    ...(services.length > 0 && { serviceTiers: Object.fromEntries(services) }),
  } as Price;
}

/** A model's maker: `anthropic` of `eu.anthropic.claude-sonnet-5`. */
const makerOf = (id: string) => id.replace(/^(us|eu|global)\./, "").split(".")[0] as string;

/** Ranking is sold by the query with up to 100 chunks of documents. */
const ranking = (upstreamId: string, usd: string): Model => ({
  id: `bedrock/${upstreamId}`,
  upstreamId,
  capability: "rerank",
  premium: true,
  contextTokens: 4096,
  ownedBy: makerOf(upstreamId),
  created: 1_795_651_200,
  price: { searchUnit: { usd, per: 1000 } },
  // https://docs.aws.amazon.com/bedrock/latest/userguide/rerank-pricing.html: a query has up to 100 document chunks.
  source: "https://aws.amazon.com/bedrock/pricing, by way of litellm",
  checkedOn: "2026-11-27",
});

const bedrock: ProviderRules = {
  provider: "bedrock_converse",
  prefix: "",
  idPrefix: "bedrock/",
  ownedBy: makerOf,
  capabilities: ["chat"],
  pricingUrl: "https://aws.amazon.com/bedrock/pricing",
  extra: [ranking("amazon.rerank-v1:0", "1.00"), ranking("cohere.rerank-v3-5:0", "2.00")],
  leftOut: [
    [/^bedrock\/|^(us-gov|apac|au|jp|in)\./, otherPlace],
    [/mythos/, approved],
    [/(^|\.)(openai\.gpt-[56]|xai\.)/, ownProtocol],
    [/safeguard|voxtral|preview|@|claude-3|claude-(opus|sonnet)-4-2|palmyra|pixtral|nova-premier/, special],
  ],
  facts(id, listed) {
    const isClaude = id.includes("anthropic.");
    const claude = isClaude ? claudeFacts(listed) : {};
    const hasTools = listed.supports_function_calling === true;
    const isTold = id.includes("gpt-oss") && listed.supports_reasoning === true;
    const options = {
      ...claude.options,
      ...(isTold && { thinking: "effort", efforts: ["low", "medium", "high"] }),
      ...(listed.supports_bedrock_native_structured_output_by_default === true && { jsonSchema: true }),
      // Without a price for cache writes, nothing is written to the cache.
      ...(isPositive(listed.cache_creation_input_token_cost) && { cachePoints: true }),
      ...(hasTools && listed.supports_tool_choice !== true && { toolChoice: false }),
    };
    return {
      contextTokens: listed.max_input_tokens,
      ...claude,
      price: tidy(toTieredPrice(listed)),
      omit: claude.omit ?? [...claudeOmit, ...(hasTools ? [] : ["tools", "tool_choice"])],
      ...(Object.keys(options).length > 0 && { options }),
    };
  },
};

/** Images of Stability AI, at one price per image. Its editing tools take requests of another form and are left out. */
const bedrockImages: ProviderRules = {
  ...bedrock,
  provider: "bedrock",
  extra: [],
  capabilities: ["images"],
  leftOut: [
    [/^bedrock\/|^(us|eu|global|us-gov|apac|au|jp|in)\./, otherPlace],
    [/^(?!stability\.(sd3-5-large|stable-image-(core|ultra)-v1:1))/, special],
  ],
  facts: (_, listed) => ({ ...listedFacts(listed, "images"), features: [] }),
};

/** Factor between the price of a region's endpoint and the price of the global endpoint. */
function regionalFactor(listed: Listed): number | undefined {
  const factor = listed.regional_endpoint_uplift_multiplier;
  return isPositive(factor) && factor !== 1 ? factor : undefined;
}

/** Embeddings, which are requested with `invoke` in a form for each maker. */
const bedrockEmbeddings: ProviderRules = {
  ...bedrock,
  provider: "bedrock",
  capabilities: ["embeddings"],
  leftOut: [
    [/^bedrock\/|^(us-gov|apac|au|jp|in)\./, otherPlace],
    [/^(?!((us|eu|global)\.)?(amazon\.titan-embed-text-v2|cohere\.embed))/, special],
  ],
  facts(id, listed) {
    const { dimensions, ...facts } = listedFacts(listed, "embeddings");
    // https://docs.aws.amazon.com/bedrock/latest/userguide/titan-embedding-models.html
    if (id.includes("titan")) return { ...facts, dimensions: { default: 1024, min: 256, max: 1024 } };
    if (id.includes("embed-v4")) return { ...facts, dimensions: { default: 1536, min: 256, max: 1536 } };
    return { ...facts, ...(dimensions && { dimensions }), omit: ["dimensions"] };
  },
};

const vertexPricing = "https://cloud.google.com/vertex-ai/generative-ai/pricing";
const vertexClaude: ProviderRules = {
  provider: "vertex_ai-anthropic_models",
  prefix: "vertex_ai/",
  idPrefix: "vertex/",
  ownedBy: () => "anthropic",
  capabilities: ["chat"],
  pricingUrl: vertexPricing,
  leftOut: [[/@|claude-3/, special]],
  facts(_, listed) {
    const { options, ...facts } = claudeFacts(listed);
    const isGlobal = regionalFactor(listed) !== undefined;
    return { ...facts, options: { ...options, ...(isGlobal && { location: "global" }) } };
  },
};

/** Claude at the endpoint of the credential's region, if that endpoint costs more. */
const vertexRegionalClaude: ProviderRules = {
  ...vertexClaude,
  idPrefix: "vertex/regional/",
  facts(_, listed) {
    const { price, ...facts } = claudeFacts(listed);
    const factor = regionalFactor(listed);
    return { ...facts, price: price && factor !== undefined ? scale(price, factor) : undefined };
  },
};

function scale(price: Price, factor: number): Price {
  const isRate = (value: object): value is Rate => "usd" in value;
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (typeof value !== "object" || value === null) return value;
    if (isRate(value)) return toRate((Number(value.usd) * factor) / value.per, value.per);
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, visit(inner)]));
  };
  return visit(price) as Price;
}

const vertexGemini: ProviderRules = {
  ...gemini,
  provider: "vertex_ai-language-models",
  prefix: "",
  idPrefix: "vertex/",
  capabilities: ["chat", "images"],
  pricingUrl: vertexPricing,
  leftOut: [
    [/^vertex_ai\//, "it is in the list twice"],
    [/live|native-audio|omni|tts|computer-use|deep-research|robotics/, ownProtocol],
    [/experimental|medlm|preview-\d|customtools|cyber|-image-preview/, special],
  ],
  facts(id, listed, capability) {
    const { options, price, ...facts } = gemini.facts(id, listed, capability);
    // Later ones are at the global endpoint, and tiers of service are served there alone.
    const isGlobal = !id.startsWith("gemini-2.5");
    const places = { ...options, ...(isGlobal && { location: "global" }) };
    if (capability === "images") return { ...facts, price, options: places };
    return { ...facts, price: tidy(isGlobal ? toTieredPrice(listed) : toTokenPrice(listed)), options: places };
  },
};

const vertexEmbeddings: ProviderRules = {
  provider: "vertex_ai-embedding-models",
  prefix: "",
  idPrefix: "vertex/",
  ownedBy: () => "google",
  capabilities: ["embeddings"],
  pricingUrl: vertexPricing,
  leftOut: [[/multimodal|preview|exp|^text-embedding-004|gemini-embedding-2/, special]],
  facts(_, listed) {
    const { dimensions, ...facts } = listedFacts(listed, "embeddings");
    return { ...facts, ...(dimensions && { dimensions: { ...dimensions, min: 1 } }) };
  },
};

const azurePricing = "https://azure.microsoft.com/pricing/details/azure-openai";
/** The list does not say it of Azure's. */
const vectorSizes: Readonly<Record<string, number>> = {
  "text-embedding-3-large": 3072,
  "text-embedding-3-small": 1536,
};
const azure: ProviderRules = {
  ...openai,
  provider: "azure",
  prefix: "azure/",
  idPrefix: "azure/",
  capabilities: ["chat", "embeddings", "images"],
  pricingUrl: azurePricing,
  extra: [],
  leftOut: [
    [/\//, otherPlace],
    [/realtime|live|sora|container|computer-use|-translate|transcribe|whisper|tts|audio|router/, ownProtocol],
    [/deep-research/, search],
    [/latest|-chat$/, moving],
    [/-\d{4}-\d{2}-\d{2}$|-\d{4}-preview|gpt-3|gpt-4-|^ada$|mistral|codex-mini$|dall-e|o1-mini/, special],
  ],
  facts(id, listed, capability) {
    const facts = openai.facts(id, { output_vector_size: vectorSizes[id] as number, ...listed }, capability);
    if (capability !== "chat" || facts.price === undefined) return facts;
    // The price of a search of the web on Azure differs by source: docs/decisions/0017-what-waits-for-an-endpoint.md.
    const { webSearch: _, ...price } = facts.price;
    return { ...facts, price: tidy(price), searchTokensMax: undefined };
  },
};

const azureClaude: ProviderRules = {
  provider: "azure_ai",
  prefix: "azure_ai/",
  idPrefix: "azure/",
  ownedBy: () => "anthropic",
  capabilities: ["chat"],
  pricingUrl: "https://azure.microsoft.com/pricing/details/ai-foundry-models",
  leftOut: [
    [/^(?!claude-)/, special],
    [/mythos/, approved],
    [/-fast$/, special],
  ],
  facts(_, listed) {
    const { options, ...facts } = claudeFacts(listed);
    return { ...facts, options: { ...options, protocol: "messages" } };
  },
};

/** Rules by plugin. A cloud's models have its name as a prefix, because the same model has another price elsewhere. */
export const cloudRules: Readonly<Record<string, readonly ProviderRules[]>> = {
  azure: [azure, azureClaude],
  bedrock: [bedrock, bedrockEmbeddings, bedrockImages],
  vertex: [vertexGemini, vertexClaude, vertexRegionalClaude, vertexEmbeddings],
};
