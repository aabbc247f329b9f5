import { listedFacts, moving, type ProviderRules } from "../../scripts/refresh-catalogue/provider-rules.ts";

/** Models that reason take none of these. https://docs.x.ai/docs/guides/reasoning */
const reasoningOmit = ["presence_penalty", "frequency_penalty", "stop"];

export default {
  provider: "xai",
  prefix: "xai/",
  idPrefix: "xai/",
  ownedBy: () => "xai",
  capabilities: ["chat", "images"],
  pricingUrl: "https://docs.x.ai/docs/models",
  leftOut: [
    [/latest|-beta|-gv2$|^grok-4\.20(-non)?(-reasoning)?$|^grok-4\.20-0309$|^grok-code-fast(-1-0825)?$/, moving],
    [/imagine-image-(quality|pro|2\.0)/, "what an image costs depends on its size"],
    [/multi-agent/, "it asks several models, whose tokens it counts together"],
  ],
  facts(_, listed, capability) {
    const facts = listedFacts(listed, capability);
    if (capability !== "chat") {
      // The list has no edits, but xAI documents them. Input images are billed too, at a price that neither source
      // gives: assume the price of an output image as the most. https://docs.x.ai/developers/model-capabilities/images
      const price = facts.price && { ...facts.price, ...(facts.price.image && { inputImage: facts.price.image }) };
      return { ...facts, features: ["edits"], price };
    }
    const isReasoning = listed.supports_reasoning === true;
    return { ...facts, omit: isReasoning ? reasoningOmit : ["reasoning_effort"] };
  },
} satisfies ProviderRules;
