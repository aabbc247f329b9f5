import { listedFacts, type ProviderRules } from "../../scripts/refresh-catalogue/provider-rules.ts";

/** The prices are for peak hours. Lower prices at other hours are not passed on. */
export default {
  provider: "deepseek",
  prefix: "deepseek/",
  idPrefix: "deepseek/",
  ownedBy: () => "deepseek",
  capabilities: ["chat"],
  pricingUrl: "https://api-docs.deepseek.com/quick_start/pricing",
  leftOut: [[/^deepseek-(coder|r1|v3|v3\.2)$|-exp$/, "it is not a name of the provider's own today, or an experiment"]],
  facts(_, listed) {
    const { price, ...facts } = listedFacts(listed, "chat");
    const { cacheWriteToken: _free, ...rates } = price ?? {};
    return { ...facts, ...(price && { price: rates }) };
  },
} satisfies ProviderRules;
