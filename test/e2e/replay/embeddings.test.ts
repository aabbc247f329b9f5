import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { faultsOf } from "../../support/openai-schema.ts";
import { type Recording, recordingsMissing, recordingsOf } from "../../support/recordings.ts";
import { replyOf } from "../../support/reply.ts";
import { type Bench, startBench } from "./bench.ts";
import { expectSettled, expectTokens } from "./expect-ledger.ts";
import { type Plan, planOf, providers } from "./plan.ts";

interface WireEmbeddings {
  data: { index: number; embedding: number[] | string }[];
  model: string;
  usage?: { prompt_tokens: number; total_tokens: number };
}

const plans = recordingsOf(...providers)
  .map(planOf)
  .filter((plan) => plan?.endpoint === "/embeddings" && plan.recording.status === 200) as Plan[];
const named = plans.map((plan): [string, Plan] => [plan.recording.path, plan]);

/** Vectors as float32, whichever way they were sent: base64 is little-endian float32 by OpenAI's description. */
function vectorsOf({ data }: WireEmbeddings): Float32Array[] {
  return data.map(({ embedding }) => {
    if (typeof embedding !== "string") return Float32Array.from(embedding);
    const bytes = Buffer.from(embedding, "base64");
    return Float32Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
  });
}

/** The recorded vectors; Gemini's batch has a shape of its own. */
function embeddingsIn({ body }: Recording): WireEmbeddings {
  const read = JSON.parse(new TextDecoder().decode(body)) as WireEmbeddings & { embeddings?: { values: number[] }[] };
  if (read.embeddings === undefined) return read;
  return { model: "", data: read.embeddings.map(({ values }, index) => ({ index, embedding: values })) };
}

describe.skipIf(recordingsMissing !== undefined)("recorded embeddings", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench.stop());

  test.each(named)("%s comes through as floats and as base64", async (_, plan) => {
    const { gateway, upstream, ledger } = bench;
    const recorded = embeddingsIn(plan.recording);
    // A recorder may have kept one vector of several: the gateway rightly refuses fewer vectors than inputs.
    const { input } = plan.body as { input: string | string[] };
    const inputs = Array.isArray(input) ? input.slice(0, recorded.data.length) : input;
    for (const format of ["float", "base64"]) {
      upstream.answer(plan.provider, replyOf(plan.recording));
      const response = await gateway.post(plan.endpoint, { ...plan.body, input: inputs, encoding_format: format });
      const answer = (await response.json()) as WireEmbeddings;
      expect({ status: response.status, faults: faultsOf("CreateEmbeddingResponse", answer) }).toEqual({
        status: 200,
        faults: [],
      });
      expect(answer.data.map(({ embedding }) => typeof embedding === "string")).toEqual(
        recorded.data.map(() => format === "base64"),
      );
      expect(answer.data.map(({ index }) => index)).toEqual(recorded.data.map((_item, index) => index));
      expect(vectorsOf(answer)).toEqual(vectorsOf(recorded));
      expect(answer.model).toBe(plan.row.id);
      const call = ledger.callOf(response);
      expectSettled(call, plan.row, plan.provider);
      expectUsage(call.input_tokens, answer, recorded);
      if (recorded.usage === undefined) expectTokens(call, undefined);
    }
  });
});

function expectUsage(booked: number | null, answer: WireEmbeddings, recorded: WireEmbeddings): void {
  expect(answer.usage).toEqual({ prompt_tokens: booked as number, total_tokens: booked as number });
  if (recorded.usage !== undefined) expect(booked).toBe(recorded.usage.prompt_tokens);
}

if (recordingsMissing !== undefined) console.log(`Skipped: ${recordingsMissing}`);
