import { moving, type ProviderRules } from "../../scripts/refresh-catalogue/provider-rules.ts";

/** https://developers.deepgram.com/docs/tts-models */
const voices =
  `thalia andromeda helena apollo arcas aries amalthea asteria athena atlas aurora callista cora cordelia delia
  draco electra harmonia hera hermes hyperion iris janus juno jupiter luna mars minerva neptune odysseus ophelia orion
  orpheus pandora phoebe pluto saturn selene theia vesta zeus`
    .split(/\s+/)
    .map((name) => `${name}-en`);

export default {
  provider: "deepgram",
  prefix: "deepgram/",
  idPrefix: "deepgram/",
  ownedBy: () => "deepgram",
  capabilities: ["transcription"],
  pricingUrl: "https://deepgram.com/pricing",
  leftOut: [
    [/^streaming\//, "it listens to a stream, which is asked for otherwise"],
    [/^(base|enhanced|nova-general|nova-phonecall|nova$|whisper)/, "it is an older one: write a row for it"],
    [/^nova-\d-(?!medical)/, moving],
  ],
  extra: [
    {
      id: "deepgram/aura-2",
      upstreamId: "aura-2",
      capability: "speech",
      premium: true,
      inputCharactersMax: 2000,
      voices,
      voiceDefault: "thalia-en",
      audioFormats: ["mp3", "opus", "aac", "flac"],
      ownedBy: "deepgram",
      created: 1_795_392_000,
      price: { character: { usd: "30.00", per: 1_000_000 } },
      source: "https://deepgram.com/pricing, by way of litellm",
      checkedOn: "2026-11-26",
    },
  ],
} satisfies ProviderRules;
