import { describe, expect, test } from "bun:test";
import type { Capability } from "../../src/contract/index.ts";
import type { ExchangeRequest } from "../../src/kernel/call.ts";
import { faultsOf, schemaMissing } from "../support/openai-schema.ts";
import { recordingsMissing } from "../support/recordings.ts";
import { replyOf } from "../support/reply.ts";
import { wavFile } from "../support/wav.ts";
import { serveBy } from "./fixture.ts";
import { type Case, cases, named } from "./recorded.ts";

const capabilityOf: Record<Case["endpoint"], Capability> = {
  "/chat/completions": "chat",
  "/embeddings": "embeddings",
  "/images/generations": "images",
  "/audio/transcriptions": "transcription",
  "/audio/speech": "speech",
};

const answers = cases.filter(({ recording: { status, path } }) => status === 200 && !path.includes("/errors/"));
/** Recordings that are not an answer of the provider that stands in for theirs: OpenAI's MP3, and a test framework's envelope. */
const noAnswers = ["openai/audio-speech/gpt-4o-mini-tts-binary.mp3", "groq/audio-transcription/whisper-short.json"];
const others = answers.filter(
  ({ endpoint, recording }) => endpoint !== "/chat/completions" && !noAnswers.includes(recording.path),
);
const refusals = cases.filter(({ recording }) => recording.status !== 200);

function serveCase(one: Case) {
  const capability = capabilityOf[one.endpoint];
  const file =
    capability === "transcription" ? { file: wavFile(2000), audioMs: 2000, response_format: "verbose_json" } : {};
  const request = { ...one.body, ...file, model: one.row.id } as unknown as ExchangeRequest<typeof capability>;
  return serveBy(one.plugin, { capability, request }, replyOf(one.recording));
}

describe.skipIf(recordingsMissing !== undefined)("an answer of any other kind", () => {
  test.each(named(others))("%s is given, and paid once by its own measure", async (_, one) => {
    const { answer, chunks, error, ledger } = await serveCase(one);
    expect(error).toBeUndefined();
    const capability = capabilityOf[one.endpoint];
    if (capability === "speech") expect(chunks.length).toBeGreaterThan(0);
    else expect(answer).toBeDefined();
    if (capability === "embeddings" && schemaMissing === undefined) {
      expect(faultsOf("CreateEmbeddingResponse", answer)).toEqual([]);
    }
    const { outcome, meters } = ledger.settlement;
    const measure = {
      chat: "",
      embeddings: "inputToken",
      images: "image",
      imageEdits: "image",
      transcription: "audioMs",
      translation: "audioMs",
      speech: "character",
      moderation: "inputToken",
      rerank: "inputToken",
    }[capability];
    expect({ outcome, measures: Object.keys(meters) }).toEqual({ outcome: "settled", measures: [measure] });
    expect(Object.values(meters)[0]).toBeGreaterThan(0);
  });

  test.each(named(refusals))("%s is told in our words or theirs, and costs nothing", async (_, one) => {
    const { error, ledger } = await serveCase(one);
    expect([400, 429, 500]).toContain(error?.status as number);
    if (schemaMissing === undefined) expect(faultsOf("ErrorResponse", error?.toBody())).toEqual([]);
    expect(error?.message).not.toMatch(/api.?key|credential.*(sk-|AIza|gsk_)/i);
    expect(ledger.settlement).toMatchObject({ outcome: "released", meters: {}, usageSource: "none" });
  });
});
