import { isPositive, toRate } from "../../scripts/refresh-catalogue/price-list.ts";
import { listedFacts, type ProviderRules, search } from "../../scripts/refresh-catalogue/provider-rules.ts";

/** Every call searches once, at the price of the small context: another is not asked for. */
export default {
  provider: "perplexity",
  prefix: "perplexity/",
  idPrefix: "perplexity/",
  ownedBy: () => "perplexity",
  capabilities: ["chat"],
  pricingUrl: "https://docs.perplexity.ai/docs/getting-started/pricing",
  leftOut: [
    [/deep-research/, search],
    [/^(?!sonar(-pro|-reasoning-pro)?$)/, "it is served no longer, or by another protocol"],
  ],
  facts(_, listed) {
    const { price, ...facts } = listedFacts(listed, "chat");
    const costs = listed.search_context_cost_per_query as Readonly<Record<string, unknown>> | undefined;
    const usd = costs?.search_context_size_low;
    const omit = ["tools", "tool_choice", ...(listed.supports_reasoning === true ? [] : ["reasoning_effort"])];
    return { ...facts, omit, price: price && isPositive(usd) ? { ...price, call: toRate(usd, 1000) } : undefined };
  },
} satisfies ProviderRules;
