import { listedFacts, type ProviderRules } from "../../scripts/refresh-catalogue/provider-rules.ts";

export default {
  provider: "cerebras",
  prefix: "cerebras/",
  idPrefix: "cerebras/",
  ownedBy: (id) => (id.startsWith("gpt-oss") ? "openai" : id.startsWith("qwen") ? "qwen" : "google"),
  capabilities: ["chat"],
  pricingUrl: "https://www.cerebras.ai/pricing",
  leftOut: [[/llama/, "it is served no longer"]],
  facts(_, listed) {
    const facts = listedFacts(listed, "chat");
    return listed.supports_reasoning === true ? facts : { ...facts, omit: ["reasoning_effort"] };
  },
} satisfies ProviderRules;
