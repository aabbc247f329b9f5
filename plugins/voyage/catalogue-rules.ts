import { clientNames, listedFacts, type ProviderRules } from "../../scripts/refresh-catalogue/provider-rules.ts";

export default {
  provider: "voyage",
  prefix: "voyage/",
  idPrefix: "voyage/",
  ownedBy: () => "voyageai",
  capabilities: ["embeddings", "rerank"],
  pricingUrl: "https://docs.voyageai.com/docs/pricing",
  leftOut: [
    [/context|multimodal/, "it is asked otherwise"],
    [
      /^voyage-(2|3|3-lite|lite|large|multilingual|code-2)|^rerank-(1|2|lite)/,
      "it is an older one: write a row for it",
    ],
  ],
  facts(id, listed, capability) {
    if (capability === "rerank") return { ...listedFacts(listed, capability), ...clientNames(id) };
    const { dimensions, ...facts } = listedFacts(listed, "embeddings");
    // https://docs.voyageai.com/docs/embeddings
    const isFixed = /-(finance|law)-2$/.test(id);
    const sizes = { default: 1024, min: 256, max: 2048 };
    return {
      ...facts,
      dimensions: dimensions ?? sizes,
      ...(isFixed ? { omit: ["dimensions"] } : { dimensions: sizes }),
      ...clientNames(id),
    };
  },
} satisfies ProviderRules;
