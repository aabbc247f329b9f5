import type { ProviderRules } from "../../scripts/refresh-catalogue/provider-rules.ts";

export default {
  provider: "minimax",
  prefix: "minimax/",
  idPrefix: "minimax/",
  ownedBy: () => "minimax",
  capabilities: ["chat"],
  pricingUrl: "https://platform.minimax.io/docs/guides/pricing-paygo",
  leftOut: [],
} satisfies ProviderRules;
