import { clientNames, listedFacts, type ProviderRules } from "../../scripts/refresh-catalogue/provider-rules.ts";

const shared = { ownedBy: () => "cohere", idPrefix: "cohere/", pricingUrl: "https://cohere.com/pricing" };
const chat: ProviderRules = {
  ...shared,
  provider: "cohere_chat",
  prefix: "",
  capabilities: ["chat"],
  leftOut: [],
  facts(_, listed) {
    const facts = listedFacts(listed, "chat");
    return listed.supports_reasoning === true ? facts : { ...facts, omit: ["reasoning_effort"] };
  },
};
const embeddings: ProviderRules = {
  ...shared,
  provider: "cohere",
  prefix: "cohere/",
  capabilities: ["embeddings"],
  leftOut: [],
  // https://docs.cohere.com/docs/cohere-embed
  facts: (id, listed) => ({
    ...listedFacts(listed, "embeddings"),
    dimensions: { default: 1536, min: 256, max: 1536 },
    ...clientNames(id),
  }),
};

/** Rules for rerank models. Models before version 5 are sold by the search, not by the token. */
const rerank: ProviderRules = {
  ...shared,
  provider: "cohere",
  prefix: "",
  capabilities: ["rerank"],
  leftOut: [],
  facts: (id, listed) => ({ ...listedFacts(listed, "rerank"), ...clientNames(id) }),
};

export default [chat, embeddings, rerank];
