import { listedFacts, moving, type ProviderRules } from "../../scripts/refresh-catalogue/provider-rules.ts";

export default {
  provider: "dashscope",
  prefix: "dashscope/",
  idPrefix: "alibaba/",
  ownedBy: (id) => (/^(deepseek|glm|kimi)/.exec(id)?.[0] ?? "qwen").replace("glm", "zai").replace("kimi", "moonshotai"),
  capabilities: ["chat"],
  pricingUrl: "https://www.alibabacloud.com/help/en/model-studio/models",
  leftOut: [
    [/latest$|^qwen-(coder|flash|max|plus|turbo)$/, moving],
    [/omni/, "its audio has a price of its own"],
    [/-20\d\d-|preview|^qwen-|^qwen3-30b/, "it is an older one: write a row for it"],
  ],
  facts(_, listed) {
    const { price, ...facts } = listedFacts(listed, "chat");
    const steps = listed.tiered_pricing;
    const dearer = [listed, ...(Array.isArray(steps) ? steps : [])].some(
      (one) => one.output_cost_per_reasoning_token !== undefined,
    );
    // A row has one rate for all of an answer.
    return { ...facts, price: dearer ? undefined : price };
  },
} satisfies ProviderRules;
