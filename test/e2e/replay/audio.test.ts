import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { faultsOf } from "../../support/openai-schema.ts";
import { type Recording, recordingsMissing, recordingsOf } from "../../support/recordings.ts";
import { binaryReply, jsonReply, type Reply, replyOf } from "../../support/reply.ts";
import { wavFile, wavOf } from "../../support/wav.ts";
import { type Bench, startBench } from "./bench.ts";
import { expectCost, expectSettled } from "./expect-ledger.ts";
import { type Plan, planOf, providers } from "./plan.ts";

interface WireTranscript {
  text: string;
  task?: string;
  language?: string;
  duration?: number;
  segments?: { id: number; start: number; end: number; text: string }[];
  words?: { word: string; start: number; end: number }[];
  usage?: { seconds?: number };
}

const plans = recordingsOf(...providers).map(planOf) as Plan[];
const transcriptions = plans.filter((plan) => plan?.endpoint === "/audio/transcriptions");
const speeches = plans.filter((plan) => plan?.endpoint === "/audio/speech" && plan.provider === "groq");
const spoken = plans.filter((plan) => plan?.endpoint === "/audio/speech" && plan.provider === "sarvam");
const named = (list: Plan[]) => list.map((plan): [string, Plan] => [plan.recording.path, plan]);

/** Sarvam's transcript: words and their times in three lists side by side. */
interface SarvamTranscript {
  transcript?: string;
  language_code?: string;
  timestamps?: { words: string[]; start_time_seconds: number[]; end_time_seconds: number[] };
}

/** The recorded transcript. One fixture is its test framework's envelope around a plain text: the text is what counts. */
function transcriptIn({ body }: Recording): WireTranscript {
  const read = JSON.parse(new TextDecoder().decode(body)) as WireTranscript & { body?: string } & SarvamTranscript;
  if (typeof read.body === "string") return { text: read.body };
  if (read.transcript === undefined) return read;
  const { words, start_time_seconds: starts, end_time_seconds: ends } = read.timestamps ?? {};
  const times = words?.map((word, index) => ({ word, start: starts?.[index] as number, end: ends?.[index] as number }));
  return { text: read.transcript, ...(times && { words: times }) };
}

const formOf = (plan: Plan, format: string, durationMs: number) => {
  const form = new FormData();
  form.append("file", wavFile(durationMs));
  form.append("model", plan.row.id);
  form.append("response_format", format);
  return form;
};

describe.skipIf(recordingsMissing !== undefined)("recorded audio", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench.stop());

  test.each(named(transcriptions))("%s comes through as json, text and verbose_json", async (_, plan) => {
    const { gateway, upstream, ledger } = bench;
    const recorded = transcriptIn(plan.recording);
    // The file lasts as long as the recorded one, so that its length is known twice and must be the same.
    // Where it is not recorded, the file is long enough for all of its words to be spoken.
    const spoken = Math.max(2.5, recorded.text.length / 15);
    const durationMs = Math.round((recorded.duration ?? recorded.usage?.seconds ?? spoken) * 1000);
    for (const format of ["json", "text", "verbose_json"]) {
      upstream.answer(plan.provider, plan.provider === "groq" ? jsonReply(recorded) : replyOf(plan.recording));
      const response = await gateway.ask(plan.endpoint, { method: "POST", body: formOf(plan, format, durationMs) });
      await expectTranscript(response, format, recorded);
      const parts = upstream.seen.at(-1)?.parts ?? [];
      expect(parts.find(({ name }) => name === "model")?.text).toBe(plan.row.upstreamId);
      expect(parts.find(({ name }) => name === "file")?.file?.size).toBe(wavFile(durationMs).size);
      const call = ledger.callOf(response);
      expectSettled(call, plan.row, plan.provider);
      expect(Math.abs((call.audio_ms as number) - durationMs)).toBeLessThanOrEqual(1);
    }
  });

  test.each(named(speeches))(
    "%s is not a WAV file, so it is refused, and charged because it was served",
    async (_, plan) => {
      const { gateway, upstream, ledger } = bench;
      upstream.answer("groq", replyOf(plan.recording));
      const response = await gateway.post(plan.endpoint, plan.body);
      expect(response.status).toBe(500);
      expect(((await response.json()) as { error: { type: string } }).error.type).toBe("upstream_error");
      expect(ledger.callOf(response)).toMatchObject({
        state: "settled",
        characters: [...String(plan.body?.input)].length,
      });
    },
  );

  test.each(named(spoken))("%s is joined into one WAV file", async (_, plan) => {
    const { gateway, upstream, ledger } = bench;
    upstream.answer(plan.provider, replyOf(plan.recording));
    const response = await gateway.post(plan.endpoint, plan.body);
    const recorded = JSON.parse(new TextDecoder().decode(plan.recording.body)) as { audios: string[] };
    const samples = recorded.audios.map((audio) => Buffer.from(audio, "base64").subarray(44));
    const bytes = Buffer.from(await response.arrayBuffer());
    expect([bytes.toString("latin1", 0, 4), bytes.readUInt32LE(4)]).toEqual(["RIFF", bytes.length - 8]);
    expect(bytes.subarray(bytes.indexOf("data") + 8).equals(Buffer.concat(samples))).toBe(true);
    const call = ledger.callOf(response);
    expectSettled(call, plan.row, plan.provider);
    expect(call.characters).toBe([...String(plan.body?.input)].length);
  });

  const wav = wavOf(3000);
  const oneByteFirst: Reply = { ...binaryReply(wav, "audio/wav"), slices: [1, 2, 3, 50] };
  test.each([
    ["in a few slices", binaryReply(wav, "audio/wav")],
    ["of which the first is a single byte", oneByteFirst],
  ])("a WAV file comes through byte by byte %s", async (_, reply) => {
    const { gateway, upstream, ledger } = bench;
    const plan = speeches[0] as Plan;
    upstream.answer("groq", reply);
    const response = await gateway.post(plan.endpoint, plan.body);
    expect(response.headers.get("content-type")).toBe("audio/wav");
    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.from(wav))).toBe(true);
    const call = ledger.callOf(response);
    expect(call.characters).toBe(String(plan.body?.input).length);
    expect(upstream.seen.at(-1)?.json).toMatchObject({ model: plan.row.upstreamId, response_format: "wav" });
    expectCost(call, plan.row);
  });
});

async function expectTranscript(response: Response, format: string, recorded: WireTranscript): Promise<void> {
  expect(response.status).toBe(200);
  if (format === "text") {
    expect(response.headers.get("content-type")).toStartWith("text/plain");
    expect((await response.text()).trimEnd()).toBe(recorded.text.trimEnd());
    return;
  }
  const answer = (await response.json()) as WireTranscript;
  expect(answer.text).toBe(recorded.text);
  if (format === "json") return void expect(faultsOf("CreateTranscriptionResponseJson", answer)).toEqual([]);
  expect(faultsOf("CreateTranscriptionResponseVerboseJson", answer)).toEqual([]);
  expect(answer.task).toBe("transcribe");
  if (recorded.duration !== undefined) expect(answer.duration).toBeCloseTo(recorded.duration, 2);
  if (recorded.language !== undefined) expect(answer.language?.toLowerCase()).toBe(recorded.language.toLowerCase());
  const times = (parts: { start: number; end: number }[] | undefined) => parts?.map(({ start, end }) => [start, end]);
  if (recorded.segments !== undefined) expect(times(answer.segments)).toEqual(times(recorded.segments));
}

if (recordingsMissing !== undefined) console.log(`Skipped: ${recordingsMissing}`);
