import { listedFacts, type ProviderRules } from "../../scripts/refresh-catalogue/provider-rules.ts";

/** Other values than its own are refused. https://platform.kimi.ai/docs/guide/kimi-k2-5-quickstart */
const fixed = ["temperature", "top_p", "n", "presence_penalty", "frequency_penalty"];

export default {
  provider: "moonshot",
  prefix: "moonshot/",
  idPrefix: "moonshot/",
  ownedBy: () => "moonshotai",
  capabilities: ["chat"],
  pricingUrl: "https://platform.kimi.ai/docs/pricing/chat",
  leftOut: [],
  facts(id, listed) {
    const facts = listedFacts(listed, "chat");
    return { ...facts, omit: id.startsWith("kimi-k3") ? fixed : [...fixed, "reasoning_effort"] };
  },
} satisfies ProviderRules;
