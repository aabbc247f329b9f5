import { listedFacts, type ProviderRules } from "../../scripts/refresh-catalogue/provider-rules.ts";

export default {
  provider: "zai",
  prefix: "zai/",
  idPrefix: "zai/",
  ownedBy: () => "zai",
  capabilities: ["chat"],
  pricingUrl: "https://docs.z.ai/guides/overview/pricing",
  leftOut: [[/glm-4(\.5|-)/, "it is an older one: write a row for it"]],
  // Writing to the cache costs nothing more.
  facts: (_, listed) => listedFacts(listed, "chat"),
} satisfies ProviderRules;
