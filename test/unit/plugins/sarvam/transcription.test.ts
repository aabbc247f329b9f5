import { describe, expect, test } from "bun:test";
import { type RequestOf, UpstreamError } from "modelgate/plugin";
import { toTranscript, transcription } from "../../../../plugins/sarvam/transcription.ts";
import type { GatewayError } from "../../../../src/contract/index.ts";
import { recordingAt, recordingsMissing } from "../../../support/recordings.ts";
import { playCall, rowOf } from "./call.ts";

const file = new File([Uint8Array.of(1, 2, 3)], "a.wav", { type: "audio/wav" });
const answer = { request_id: "1", transcript: "Hello there", language_code: "en-IN", timestamps: null };
const times = (...pieces: [string, number, number][]) => ({
  words: pieces.map(([word]) => word),
  start_time_seconds: pieces.map(([, start]) => start),
  end_time_seconds: pieces.map(([, , end]) => end),
});

async function ask(request: Partial<RequestOf<"transcription">>, json: unknown = answer) {
  const asking: RequestOf<"transcription"> = { model: "famF-stt", file, audioMs: 1000, ...request };
  const played = playCall("famF-stt", asking, { json });
  const transcript = await transcription(played.call);
  const [{ body } = { body: {} }] = played.asked;
  const { file: sent, ...fields } = body as { file: File };
  return { ...played, transcript, sent, fields: fields as Record<string, unknown> };
}

describe("sarvam's transcription", () => {
  test("sends the file under its name, and the model", async () => {
    const { asked, sent, fields } = await ask({});
    expect(asked.map(({ path }) => path)).toEqual(["/speech-to-text"]);
    expect({ name: sent.name, type: sent.type, size: sent.size }).toEqual({
      name: "a.wav",
      type: "audio/wav",
      size: 3,
    });
    expect(fields).toEqual({ model: "saaras:v3", with_timestamps: "true" });
  });

  test.each([
    ["hi", "hi-IN"],
    ["hi-IN", "hi-IN"],
    ["en", "en-IN"],
    ["or", "od-IN"],
    ["od", "od-IN"],
    ["kok", "kok-IN"],
  ])("sends the language %s as %s", async (language, code) => {
    expect((await ask({ language })).fields.language_code).toBe(code);
  });

  test("refuses a language it has not, and lists those it has", async () => {
    const error = await ask({ language: "fr" }).then(undefined, (refusal: GatewayError) => refusal);
    expect(error).toMatchObject({ code: "invalid_request", param: "language", status: 400 });
    expect((error as GatewayError).message).toStartWith("language is 'fr', but this model takes: as-IN, bn-IN");
  });

  test("has its half minute in the row, where the kernel holds requests to it before money is held", () => {
    expect(rowOf("famF-stt").audioMsMax).toBe(30_000);
  });

  test.each(["text", "json", "verbose_json"] as const)(
    "asks for times, by which it is charged, for %s",
    async (format) => {
      expect((await ask({ response_format: format })).fields.with_timestamps).toBe("true");
    },
  );

  test("leaves out prompt and temperature, and says so", async () => {
    const { fields, notes } = await ask({ prompt: "Names", temperature: 0 });
    expect(fields).toEqual({ model: "saaras:v3", with_timestamps: "true" });
    expect(notes).toHaveLength(2);
  });
});

describe("sarvam's transcript", () => {
  const phrases = { ...answer, timestamps: times(["Hello there", 0, 0.8], ["and so on", 0.9, 2.5]) };
  const words = { ...answer, timestamps: times(["Hello", 0, 0.4], ["there", 0.5, 0.9]) };

  test("is text and language, no more, when there are no times", async () => {
    expect((await ask({})).transcript).toEqual({ text: "Hello there", language: "en-IN" });
  });

  test("has its phrases as segments", () => {
    const { segments, words: none, duration } = toTranscript(phrases, { audioMs: 3000 });
    expect(segments).toMatchObject([
      { id: 0, start: 0, end: 0.8, text: "Hello there" },
      { id: 1, start: 0.9, end: 2.5, text: "and so on" },
    ]);
    expect([none, duration]).toEqual([undefined, 3]);
  });

  test("has words only where they were asked for and the provider timed words", () => {
    expect(toTranscript(words, { timestamp_granularities: ["word"] }).words).toEqual([
      { word: "Hello", start: 0, end: 0.4 },
      { word: "there", start: 0.5, end: 0.9 },
    ]);
    expect(toTranscript(words, {}).words).toBeUndefined();
    expect(toTranscript(phrases, { timestamp_granularities: ["word"] }).words).toBeUndefined();
  });

  test.each([
    [undefined, 2.5],
    [1, 2.5],
    [4000, 4],
  ])("is as long as its last word, or as the file says where that is more: %p ms", (audioMs, seconds) => {
    expect(toTranscript(phrases, { audioMs }).duration).toBe(seconds);
  });

  test("does without times that do not fit together", () => {
    const odd = { words: ["a", "b"], start_time_seconds: [0], end_time_seconds: [1, 2] };
    expect(toTranscript({ ...answer, timestamps: odd }, {}).segments).toHaveLength(1);
    expect(toTranscript({ ...answer, timestamps: { words: ["a"] } }, {}).segments).toBeUndefined();
  });

  test("may be silence, in no language", () => {
    expect(toTranscript({ transcript: "", language_code: null }, {})).toEqual({ text: "" });
  });

  test.each([[null], ["text"], [{}], [{ transcript: null }]])("is broken when the answer is %j", (broken) => {
    expect(() => toTranscript(broken, {})).toThrow(UpstreamError);
  });
});

describe.skipIf(recordingsMissing !== undefined)(`sarvam's recorded transcripts ${recordingsMissing ?? ""}`, () => {
  const read = (name: string) =>
    JSON.parse(new TextDecoder().decode(recordingAt(`sarvam/speech-to-text/${name}`).body));

  test("give the text and the language", () => {
    const json = read("saarika-v2.5-hindi.json");
    expect(toTranscript(json, { audioMs: 1 })).toEqual({ text: json.transcript, language: "hi-IN" });
  });

  test("give words from the three arrays", () => {
    const { words, segments, duration } = toTranscript(read("with-timestamps-chunks.json"), {
      timestamp_granularities: ["word"],
    });
    expect(words?.map(({ start, end }) => [start, end])).toEqual([
      [0, 0.4],
      [0.5, 0.9],
    ]);
    expect([segments?.length, duration]).toEqual([2, 0.9]);
  });
});
