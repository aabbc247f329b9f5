import type { ProviderRules } from "../../scripts/refresh-catalogue/provider-rules.ts";

export default {
  list: "genai-prices",
  provider: "openrouter",
  prefix: "openrouter/",
  idPrefix: "openrouter/",
  ownedBy: (id) => id.split("/")[0] as string,
  capabilities: ["chat"],
  pricingUrl: "https://openrouter.ai/models",
  leftOut: [
    [/^~|:|^[^/]+$/, "it stands for other models, or has a price of its own there"],
    [/image|audio|lyria|search|deep-research|^perplexity\//, "what it makes or searches has a price of its own"],
    [
      /^(?!amazon|anthropic|cohere|deepseek|google|meta-llama|minimax|mistralai|moonshotai|nvidia|openai|qwen|x-ai|z-ai)/,
      "write a row for it",
    ],
  ],
} satisfies ProviderRules;
