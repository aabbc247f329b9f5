import { openai } from "../../scripts/refresh-catalogue/openai-rules.ts";
import { toTokenPrice } from "../../scripts/refresh-catalogue/price-list.ts";
import {
  approved,
  listedFacts,
  ownProtocol,
  type ProviderRules,
} from "../../scripts/refresh-catalogue/provider-rules.ts";

export default {
  provider: "bedrock_mantle",
  prefix: "bedrock_mantle/",
  idPrefix: "bedrock-mantle/",
  ownedBy: (id) => id.split(".")[0] as string,
  capabilities: ["chat"],
  pricingUrl: "https://aws.amazon.com/bedrock/pricing",
  leftOut: [
    [/^us-gov/, "the price is that of other places: write a row for it"],
    [/cyber|daybreak|mythos/, approved],
    [/^anthropic\./, ownProtocol],
    [/safeguard|^xai\./, "it is not of general use, or not known to be served by this protocol"],
  ],
  facts(id, listed) {
    if (/^openai\.gpt-[56]/.test(id)) {
      return { ...openai.facts(id.slice("openai.".length), listed, "chat"), price: toTokenPrice(listed) };
    }
    const facts = { ...listedFacts(listed, "chat"), price: toTokenPrice(listed) };
    return id.startsWith("google.") ? { ...facts, options: { path: "/openai/v1/chat/completions" } } : facts;
  },
} satisfies ProviderRules;
