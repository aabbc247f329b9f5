import { describe, expect, test } from "bun:test";
import { recordingsMissing, recordingsOf } from "../../support/recordings.ts";
import { notExpressible, planOf, providers } from "./plan.ts";

const recordings = recordingsOf(...providers);

const capabilityOf = {
  "/chat/completions": "chat",
  "/embeddings": "embeddings",
  "/images/generations": "images",
  "/audio/transcriptions": "transcription",
  "/audio/speech": "speech",
};

describe.skipIf(recordingsMissing !== undefined)("the plan of the recordings", () => {
  test("has each recording of each provider, or says why not", () => {
    expect(recordings.filter(({ provider }) => ["groq", "openai", "together"].includes(provider)).length).toBe(95);
    const unplanned = recordings.filter((recording) => planOf(recording) === undefined).map(({ path }) => path);
    expect(unplanned.sort()).toEqual(Object.keys(notExpressible).sort());
  });

  test("asks for a model of the endpoint's capability", () => {
    for (const recording of recordings) {
      const plan = planOf(recording);
      if (plan === undefined) continue;
      expect([recording.path, plan.row.capability]).toEqual([recording.path, capabilityOf[plan.endpoint]]);
    }
  });
});

for (const [path, reason] of Object.entries(notExpressible)) console.log(`Not replayed: ${path}: ${reason}`);
