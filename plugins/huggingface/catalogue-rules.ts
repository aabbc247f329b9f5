import type { ProviderRules } from "../../scripts/refresh-catalogue/provider-rules.ts";

/** Companies that serve models behind the router, each at its own price. */
const companies = ["fireworks-ai", "groq", "novita", "sambanova", "together"];

export default companies.map(
  (company): ProviderRules => ({
    list: "genai-prices",
    provider: `huggingface_${company}`,
    prefix: `huggingface_${company}/`,
    idPrefix: "huggingface/",
    names: (listed) => ({ id: `${listed}:${company}`, upstreamId: `${listed}:${company}` }),
    ownedBy: (id) => id.split("/")[0] as string,
    capabilities: ["chat"],
    pricingUrl: "https://huggingface.co/inference/models",
    leftOut: [],
  }),
);
