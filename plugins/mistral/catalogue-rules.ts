import {
  listedFacts,
  moving,
  ownProtocol,
  type ProviderRules,
} from "../../scripts/refresh-catalogue/provider-rules.ts";

export default {
  provider: "mistral",
  prefix: "mistral/",
  idPrefix: "mistral/",
  ownedBy: (id) => (id.startsWith("zai-") ? "zai" : id.startsWith("deepseek") ? "deepseek" : "mistral"),
  capabilities: ["chat", "embeddings", "transcription"],
  pricingUrl: "https://mistral.ai/pricing/api",
  extra: [
    {
      id: "mistral/mistral-moderation-2411",
      aliases: ["mistral/mistral-moderation-latest"],
      upstreamId: "mistral-moderation-2411",
      capability: "moderation",
      premium: true,
      ownedBy: "mistral",
      created: 1_730_937_600,
      price: { inputToken: { usd: "0.10", per: 1_000_000 } },
      // The price is from a third party: Mistral's own page could not be read, and LiteLLM's list lacks the model.
      source: "https://hardais.com/models/mistral/moderation",
      checkedOn: "2026-11-27",
    },
  ],
  leftOut: [
    [/realtime|-fim|vibe-cli|leanstral/, ownProtocol],
    [
      /latest$|^mistral-(tiny|small|medium)$|^mistral-(medium|large)-\d(\.\d)?$|^glm-5|^zai-glm-5$|^ministral-3-/,
      moving,
    ],
    [/^open-|^voxtral-small-2507|^codestral-mamba|transcribe-3/, "it is an older one, or another's name"],
  ],
  facts(id, listed, capability) {
    const facts = listedFacts(listed, capability);
    if (capability === "chat" && listed.supports_reasoning !== true) return { ...facts, omit: ["reasoning_effort"] };
    return id.startsWith("mistral-embed") ? { ...facts, omit: ["dimensions"] } : facts;
  },
} satisfies ProviderRules;
