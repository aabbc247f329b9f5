import type { MeterName } from "./meters.ts";

/**
 * A kind of request to a model. A capability is an endpoint, a handler of plugins, a handler of the kernel, and a way
 * to be priced. It is added here, in `Exchanges` and `handlers` of the kernel, in `Handlers` of plugins, and as a
 * controller; the compiler names every other place.
 */
interface CapabilityForm {
  /** Below the base path. */
  readonly endpoint: string;
  /** Meter of its price if the price has that rate, or none for tokens. */
  readonly unit?: MeterName;
  /** Meters of its price otherwise. */
  readonly tokens: readonly MeterName[];
  /**
   * It is one more thing that models of this capability do: those that list the feature, and unless it has to be `declared`
   * those that list none.
   */
  readonly also?: {
    readonly of: ModelCapability;
    readonly feature: "edits" | "translation";
    readonly declared?: boolean;
  };
}

const prompt = ["inputToken"] as const;
const promptAndOutput = ["inputToken", "outputToken"] as const;

const forms = {
  chat: { endpoint: "/chat/completions", tokens: promptAndOutput },
  embeddings: { endpoint: "/embeddings", tokens: prompt },
  images: { endpoint: "/images/generations", unit: "image", tokens: promptAndOutput },
  transcription: { endpoint: "/audio/transcriptions", unit: "audioMs", tokens: promptAndOutput },
  speech: { endpoint: "/audio/speech", unit: "character", tokens: promptAndOutput },
  moderation: { endpoint: "/moderations", tokens: prompt },
  rerank: { endpoint: "/rerank", unit: "searchUnit", tokens: prompt },
} as const satisfies Record<string, CapabilityForm>;

/** Capability of a model's row. */
export type ModelCapability = keyof typeof forms;
export const modelCapabilities = Object.keys(forms) as readonly ModelCapability[];

const furtherForms = {
  imageEdits: {
    ...forms.images,
    endpoint: "/images/edits",
    also: { of: "images", feature: "edits" },
  },
  translation: {
    ...forms.transcription,
    endpoint: "/audio/translations",
    also: { of: "transcription", feature: "translation", declared: true },
  },
} as const satisfies Record<string, CapabilityForm>;

export type Capability = ModelCapability | keyof typeof furtherForms;

export const capabilityForms: Readonly<Record<Capability, CapabilityForm>> = { ...forms, ...furtherForms };

/** All capabilities of calls and handlers. */
export const capabilities = Object.keys(capabilityForms) as readonly Capability[];
