import { listedFacts, type ProviderRules } from "../../scripts/refresh-catalogue/provider-rules.ts";

/** The models that it serves without machines of one's own, as the list of those says. */
export default {
  provider: "fireworks_ai",
  prefix: "fireworks_ai/accounts/fireworks/",
  idPrefix: "fireworks/",
  names: (listed) => ({
    id: listed.replace(/^(models|routers)\//, ""),
    upstreamId: `accounts/fireworks/${listed}`,
  }),
  ownedBy: () => "fireworks",
  capabilities: ["chat", "embeddings", "rerank"],
  pricingUrl: "https://fireworks.ai/pricing",
  leftOut: [
    [/routers\/(auto|firerouter)|rune/, "what it costs depends on the model that it chooses"],
    [/spot/, "it may end at any time"],
  ],
  facts(_, listed, capability) {
    const { price, ...facts } = listedFacts(listed, capability);
    const isServed = /serverless/.test(listed.source ?? "");
    return { ...facts, price: isServed ? price : undefined };
  },
} satisfies ProviderRules;
