import { listedFacts, type ProviderRules } from "../../scripts/refresh-catalogue/provider-rules.ts";

/** https://elevenlabs.io/docs/models */
const charactersMax: Readonly<Record<string, number>> = {
  eleven_multilingual_v2: 10_000,
  eleven_flash_v2: 30_000,
  eleven_flash_v2_5: 40_000,
};

export default {
  provider: "elevenlabs",
  prefix: "elevenlabs/",
  idPrefix: "elevenlabs/",
  ownedBy: () => "elevenlabs",
  capabilities: ["transcription", "speech"],
  pricingUrl: "https://elevenlabs.io/pricing/api",
  leftOut: [
    [/experimental|scribe_v1|turbo_v2/, "it is an older one: write a row for it"],
    [/conversational/, "it is for agents, which are asked otherwise"],
  ],
  facts(id, listed, capability) {
    const facts = listedFacts(listed, capability);
    if (capability !== "speech") return facts;
    return {
      ...facts,
      inputCharactersMax: charactersMax[id] ?? 3000,
      voiceDefault: "rachel",
      audioFormats: ["mp3", "opus"],
    };
  },
} satisfies ProviderRules;
