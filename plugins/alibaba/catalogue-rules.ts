import { listedFacts, moving, type ProviderRules } from "../../scripts/refresh-catalogue/provider-rules.ts";

/** Facts that both CosyVoice models share. The price is the mainland's, which is the higher price. */
const cosyvoice = {
  capability: "speech",
  premium: true,
  // The provider's limit is 20,000 characters, and it counts a Chinese character as two.
  inputCharactersMax: 10_000,
  voiceDefault: "longanyang",
  audioFormats: ["mp3", "opus"],
  ownedBy: "alibaba",
  created: 1_795_651_200,
  source: "https://www.alibabacloud.com/help/en/model-studio/text-to-speech",
  checkedOn: "2026-11-27",
} satisfies Partial<NonNullable<ProviderRules["extra"]>[number]>;

export default {
  provider: "dashscope",
  prefix: "dashscope/",
  idPrefix: "alibaba/",
  ownedBy: (id) => (/^(deepseek|glm|kimi)/.exec(id)?.[0] ?? "qwen").replace("glm", "zai").replace("kimi", "moonshotai"),
  capabilities: ["chat"],
  pricingUrl: "https://www.alibabacloud.com/help/en/model-studio/models",
  extra: [
    {
      ...cosyvoice,
      id: "alibaba/cosyvoice-v3-flash",
      upstreamId: "cosyvoice-v3-flash",
      voices: [
        "longanyang",
        "longanhuan",
        "longanling_v3",
        "longanya_v3",
        "longanwen_v3",
        "longanqin_v3",
        "longanyun_v3",
      ],
      price: { character: { usd: "14.335", per: 1_000_000 } },
    },
    {
      ...cosyvoice,
      id: "alibaba/cosyvoice-v3-plus",
      upstreamId: "cosyvoice-v3-plus",
      voices: ["longanyang", "longanhuan"],
      price: { character: { usd: "28.6706", per: 1_000_000 } },
    },
  ],
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
