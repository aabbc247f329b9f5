import { clientNames, listedFacts, type ProviderRules } from "../../scripts/refresh-catalogue/provider-rules.ts";

/** One token balance pays for all models, so the listed price of the rerankers also applies to embeddings. */
const price = { inputToken: { usd: "0.05", per: 1_000_000 } };
const source = "https://api.jina.ai/v1/models, by way of litellm (price of a token of any model)";
const row = {
  capability: "embeddings" as const,
  premium: true,
  ownedBy: "jina",
  created: 1_795_392_000,
  price,
  source,
};
const checkedOn = "2026-11-26";

export default {
  provider: "jina_ai",
  prefix: "",
  idPrefix: "jina/",
  ownedBy: () => "jina",
  capabilities: ["rerank"],
  pricingUrl: "https://jina.ai/embeddings",
  leftOut: [],
  facts: (id, listed) => ({ ...listedFacts(listed, "rerank"), ...clientNames(id) }),
  extra: [
    {
      ...row,
      id: "jina/jina-embeddings-v4",
      upstreamId: "jina-embeddings-v4",
      ...clientNames("jina-embeddings-v4"),
      inputTokensMax: 32_768,
      dimensions: { default: 2048, min: 128, max: 2048 },
      checkedOn,
    },
    {
      ...row,
      id: "jina/jina-embeddings-v3",
      upstreamId: "jina-embeddings-v3",
      ...clientNames("jina-embeddings-v3"),
      inputTokensMax: 8192,
      dimensions: { default: 1024, min: 32, max: 1024 },
      checkedOn,
    },
  ],
} satisfies ProviderRules;
