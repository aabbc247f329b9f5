import { type CatalogueRow, catalogueRow, catalogueRows } from "../../support/catalogue.ts";
import type { Recording } from "../../support/recordings.ts";
import { isStream } from "../../support/said-in.ts";
import { requestOf, withBytes } from "./request.ts";

/** The providers whose recordings are replayed, which are all there are. */
export const providers = ["anthropic", "gemini", "groq", "openai", "sarvam", "together"] as const;
export type Provider = (typeof providers)[number];

/** How a recording is put to the gateway: which provider replays it, and what a client asks to get there. */
export interface Plan {
  recording: Recording;
  provider: Provider;
  endpoint: "/chat/completions" | "/embeddings" | "/images/generations" | "/audio/transcriptions" | "/audio/speech";
  row: CatalogueRow;
  /** JSON body of the request; absent for a multipart one. */
  body?: Record<string, unknown>;
  /** Whether the request is the recorded one, so that what the provider got can be compared with it. */
  faithful: boolean;
}

/** Recordings that cannot be put to the gateway, by path, and why. */
export const notExpressible: Record<string, string> = {
  "anthropic/count-tokens/haiku-4.5-count-tokens-2.json": "counting tokens is no endpoint of the gateway",
  "gemini/count-tokens/3.5-flash-count-tokens.json": "counting tokens is no endpoint of the gateway",
  "together/completions/mixtral-completion-length.json": "text completions are no endpoint of the gateway",
  "openai/audio-transcription/gpt-4o-transcribe-stream.sse": "the specification's transcriptions do not stream",
  "openai/images/dall-e-2-url.json": "its picture is an address in the provider's own store, long expired",
  "openai/images/gpt-image-1-mini-url-response.json":
    "its picture is an address in the provider's own store, long expired",
  "openai/images/gpt-image-1-b64.json": "OpenAI has no image model in the catalogue: images.test.ts brings one",
};

/** What a catalogue without the recorded model uses in its place: the same provider and capability where there is one. */
const standIns: Record<string, string> = {
  "compound-beta": "hostG/compound",
  "o3-mini": "o4-mini",
  "gpt-5-nano": "famA-5.4-nano",
  "gpt-5-mini": "famA-5.4-mini",
};
const chatStandIns: Record<Provider, string> = {
  anthropic: "famC-haiku-4-5",
  gemini: "famB-2.5-flash",
  groq: "famD-3.1-8b-instant",
  openai: "famA-4o-mini",
  sarvam: "famF-m",
  together: "famD-3.1-8b-instant",
};
const embedModels: Partial<Record<Provider, string>> = {
  gemini: "famB-embedding-001",
  openai: "text-embedding-3-small",
  together: "hostT/m2-bert-80M-32k-retrieval",
};

/** The plan of a recording; `undefined` when it stands in {@link notExpressible}. */
export function planOf(recording: Recording): Plan | undefined {
  if (notExpressible[recording.path] !== undefined) return undefined;
  const provider = recording.provider as Provider;
  switch (recording.capability) {
    case "audio-transcription":
      return plan({ recording, provider: "groq", endpoint: "/audio/transcriptions", model: "famW-large-v3-turbo" });
    case "speech-to-text":
      return plan({ recording, provider, endpoint: "/audio/transcriptions", model: "famF-stt" });
    case "audio-speech":
      return plan({ recording, provider: "groq", endpoint: "/audio/speech", model: "famT/v1-english" });
    case "text-to-speech":
      return plan({ recording, provider, endpoint: "/audio/speech", model: "famF-tts" });
    case "images":
      return plan({ recording, provider, endpoint: "/images/generations", model: "famB-3-pro-image-preview" });
    case "embeddings":
      return plan({ recording, provider, endpoint: "/embeddings", model: embedModels[provider] as string });
  }
  // An error is about what the provider makes of a request that passed our own checks.
  if (recording.path.includes("embeddings-")) {
    return plan({ recording, provider, endpoint: "/embeddings", model: embedModels[provider] as string });
  }
  const model = chatModelOf(recording, provider);
  return plan({
    recording,
    provider: provider === "together" ? "groq" : provider,
    endpoint: "/chat/completions",
    model,
  });
}

/** The plan of a recording for a gateway whose provider replays it. */
export function replayOf(recording: Recording): Plan | undefined {
  const made = planOf(recording);
  return made?.body === undefined ? made : { ...made, body: withBytes(made.body) };
}

function plan({ model, ...parts }: Pick<Plan, "recording" | "provider" | "endpoint"> & { model: string }): Plan {
  const row = catalogueRow(model);
  const { faithful, body } = requestOf(parts.recording, parts.endpoint);
  if (body === undefined) return { ...parts, row, faithful };
  const stream = parts.endpoint === "/chat/completions" && isStream(parts.recording) ? { stream: true } : {};
  return { ...parts, row, faithful, body: { ...body, ...stream, model } };
}

function chatModelOf({ request }: Recording, provider: Provider): string {
  const recorded = String(request?.body?.model ?? /models\/([^:]+):/.exec(request?.url ?? "")?.[1]);
  const known = catalogueRows(provider).find(
    (row) => row.capability === "chat" && (row.upstreamId === recorded || row.aliases?.includes(recorded)),
  );
  return known?.id ?? standIns[recorded] ?? chatStandIns[provider];
}
