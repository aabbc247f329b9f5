import { describe, expect, test } from "bun:test";
import type { TranscriptionOptions } from "../../../../src/protocols/openai/request.ts";
import { toTranscript } from "../../../../src/protocols/openai/transcription.ts";
import type { TranscriptionRequest } from "../../../../src/provider/index.ts";
import { openai } from "../../../../src/sdk/openai.ts";
import { recordingAt, recordingsMissing } from "../../../support/recordings.ts";
import { fakeCall } from "../../sdk/fake-call.ts";

const file = new File([Uint8Array.of(1, 2)], "a.wav", { type: "audio/wav" });
const base: TranscriptionRequest = { model: "acme-1", file, audioMs: 1000 };

async function fieldsOf(request: Partial<TranscriptionRequest>, options: TranscriptionOptions = {}) {
  const { call, asked } = fakeCall({ ...base, ...request }, { form: { text: "Hi" } });
  await openai({ transcription: options }).transcription?.(call);
  const form = asked[0]?.form as FormData;
  const sent = form.get("file") as File;
  expect([asked[0]?.method, asked[0]?.path, sent.name, sent.size]).toEqual([
    "form",
    "/audio/transcriptions",
    "a.wav",
    2,
  ]);
  return [...form.entries()].filter(([name]) => name !== "file");
}

describe("transcribe", () => {
  test.each<[string, Partial<TranscriptionRequest>, TranscriptionOptions, [string, string][]]>([
    ...(["json", "text", "verbose_json"] as const).map(
      (format): [string, Partial<TranscriptionRequest>, TranscriptionOptions, [string, string][]] => [
        `asks for the length when ${format} is wanted`,
        { response_format: format },
        {},
        [
          ["model", "acme-one"],
          ["response_format", "verbose_json"],
        ],
      ],
    ),
    [
      "asks for what there is",
      { timestamp_granularities: ["word"] },
      { verbose: false },
      [
        ["model", "acme-one"],
        ["response_format", "json"],
      ],
    ],
    [
      "asks for words and segments",
      { timestamp_granularities: ["word", "segment"] },
      {},
      [
        ["model", "acme-one"],
        ["response_format", "verbose_json"],
        ["timestamp_granularities[]", "word"],
        ["timestamp_granularities[]", "segment"],
      ],
    ],
    [
      "sends the other fields",
      { language: "en-US", prompt: "p", temperature: 0 },
      {},
      [
        ["model", "acme-one"],
        ["response_format", "verbose_json"],
        ["language", "en"],
        ["prompt", "p"],
        ["temperature", "0"],
      ],
    ],
    [
      "heeds quirks",
      { language: "en", prompt: "p" },
      { omit: ["prompt"], rename: { language: "lang" }, extra: { tag: 1 } },
      [
        ["model", "acme-one"],
        ["response_format", "verbose_json"],
        ["lang", "en"],
        ["tag", "1"],
      ],
    ],
  ])("%s", async (_, request, options, fields) => {
    expect(await fieldsOf(request, options)).toEqual(fields);
  });

  test.each<[string, unknown, object]>([
    ["text alone", { text: "Hi", x_groq: { id: "1" } }, { text: "Hi" }],
    [
      "a length",
      { text: "Hi", duration: 1.5, language: "english" },
      { text: "Hi", duration: 1.5, language: "english" },
    ],
    ["a length as text", { text: "Hi", duration: "1.5" }, { text: "Hi", duration: 1.5 }],
    [
      "tokens in its usage",
      { text: "Hi", usage: { type: "tokens", input_tokens: 37, output_tokens: 12, total_tokens: 49 } },
      { text: "Hi", usage: { type: "tokens", input_tokens: 37, output_tokens: 12, total_tokens: 49 } },
    ],
    ["a length in its usage", { text: "Hi", usage: { type: "duration", seconds: 37 } }, { text: "Hi", duration: 37 }],
    [
      "words",
      { text: "Hi", words: [{ word: "Hi", start: 0, end: 1 }] },
      { text: "Hi", words: [{ word: "Hi", start: 0, end: 1 }] },
    ],
    [
      "a segment that says little",
      { text: "Hi", segments: [{ start: 0, end: 1, text: "Hi" }] },
      { segments: [{ id: 0, seek: 0, start: 0, end: 1, text: "Hi", tokens: [] }] },
    ],
  ])("reads an answer with %s", (_, answer, transcript) => {
    expect(toTranscript(answer)).toMatchObject(transcript);
  });

  test.each([
    ["an error", { error: { message: "No" } }],
    ["nothing", {}],
    ["a text", "Hi"],
    ["odd segments", { text: "Hi", segments: [1] }],
  ])("refuses an answer with %s", (_, answer) => {
    expect(() => toTranscript(answer)).toThrow(
      expect.objectContaining({ name: "UpstreamError", kind: "bad_response" }),
    );
  });

  test.skipIf(recordingsMissing !== undefined).each([
    ["openai/audio-transcription/whisper-1-json-usage-duration.json", "usage"],
    ["openai/audio-transcription/whisper-1-verbose-json-words.json", "words"],
    ["openai/audio-transcription/whisper-1-translation.json", undefined],
    ["groq/audio-transcription/whisper-json.json", undefined],
    ["groq/audio-transcription/whisper-verbose-json-segments.json", "segments"],
  ])("reads %s", (path, extra) => {
    const raw = JSON.parse(new TextDecoder().decode(recordingAt(path).body));
    const transcript = toTranscript(structuredClone(raw));
    expect(transcript.text).toBe(raw.text);
    expect(transcript.duration).toBe(raw.duration ?? raw.usage?.seconds);
    if (extra === "words" || extra === "segments") expect(transcript[extra]).toEqual(raw[extra]);
  });
});
