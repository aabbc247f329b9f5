import { type CatalogueRow, catalogueRows } from "../../support/catalogue.ts";
import type { Recording } from "../../support/recordings.ts";

/** How a recording is put to the gateway: which provider replays it, and what a client asks to get there. */
export interface Plan {
  recording: Recording;
  provider: "openai" | "groq" | "together";
  endpoint: "/chat/completions" | "/embeddings" | "/audio/transcriptions" | "/audio/speech";
  row: CatalogueRow;
  /** JSON body of the request; absent for a multipart one. */
  body?: Record<string, unknown>;
  /** Whether the request is the recorded one, so that what the provider got can be compared with it. */
  faithful: boolean;
}

/** Recordings that cannot be put to the gateway, by path, and why. */
export const notExpressible: Record<string, string> = {
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
const chatStandIns = { openai: "famA-4o-mini", groq: "famD-3.1-8b-instant", together: "famD-3.1-8b-instant" };
const embedStandIns = {
  openai: "text-embedding-3-small",
  together: "hostT/m2-bert-80M-32k-retrieval",
  groq: undefined,
};

const plainChat = { messages: [{ role: "user", content: "Hello" }] };

/** The plan of a recording; `undefined` when it stands in {@link notExpressible}. */
export function planOf(recording: Recording): Plan | undefined {
  if (notExpressible[recording.path] !== undefined) return undefined;
  const provider = recording.provider as Plan["provider"];
  if (recording.capability === "audio-transcription") {
    return plan({ recording, provider: "groq", endpoint: "/audio/transcriptions", row: rowOf("famW-large-v3-turbo") });
  }
  if (recording.capability === "audio-speech") {
    const body = { input: recording.request?.body?.input ?? "Hello" };
    return plan({ recording, provider: "groq", endpoint: "/audio/speech", row: rowOf("famT/v1-english"), body });
  }
  if (recording.capability === "embeddings" || recording.path.includes("embeddings-")) return planEmbeddings(recording);
  return planChat(recording, provider === "together" ? "groq" : provider);
}

function planEmbeddings(recording: Recording): Plan {
  const provider = recording.provider as Plan["provider"];
  const row = rowOf(embedStandIns[provider] as string);
  // An error is about what the provider makes of a request that passed our own checks.
  const recorded = recording.status === 200 ? recording.request?.body : { input: "Hello" };
  const body: Record<string, unknown> = { ...recorded };
  return plan({ recording, provider, endpoint: "/embeddings", row, body, faithful: recording.status === 200 });
}

function planChat(recording: Recording, provider: Plan["provider"]): Plan {
  const recorded = recording.request?.url.endsWith("/chat/completions") ? recording.request.body : undefined;
  const streams = recording.path.endsWith(".sse") || recording.path.endsWith(".chunks.txt");
  const body: Record<string, unknown> = { ...(recorded ?? plainChat), ...(streams ? { stream: true } : {}) };
  const row = chatRowOf(String(recorded?.model), recording.provider as Plan["provider"]);
  return plan({ recording, provider, endpoint: "/chat/completions", row, body, faithful: recorded !== undefined });
}

function plan(parts: Omit<Plan, "faithful"> & { faithful?: boolean }): Plan {
  const { body, row } = parts;
  return { faithful: false, ...parts, ...(body === undefined ? {} : { body: { ...body, model: row.id } }) };
}

function chatRowOf(recordedModel: string, provider: Plan["provider"]): CatalogueRow {
  const known = catalogueRows(provider).find(
    (row) => row.upstreamId === recordedModel || row.aliases?.includes(recordedModel),
  );
  return known ?? rowOf(standIns[recordedModel] ?? (chatStandIns[provider] as string));
}

function rowOf(id: string): CatalogueRow {
  const row = catalogueRows().find((candidate) => candidate.id === id);
  if (row === undefined) throw new Error(`No model ${id} in the catalogue`);
  return row;
}
