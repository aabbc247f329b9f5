import { describe, expect, test } from "bun:test";
import type { Model, RequestOf } from "modelgate/plugin";
import current from "../../../../plugins/gemini/catalogue.json" with { type: "json" };
import gemini from "../../../../plugins/gemini/index.ts";
import { toBase64 } from "../../../../src/lib/base64.ts";
import { readWav } from "../../../../src/lib/wav.ts";
import type { AnswerStream } from "../../../../src/provider/index.ts";
import { errorOf } from "../../../support/error-of.ts";
import { drain, eventsOf, fakeCall } from "../../sdk/fake-call.ts";
import { sent } from "./golden.ts";

const rowOf = (id: string) => current.models.find((row) => row.id === id) as Model;
const filtered = { code: "invalid_request", publicCode: "content_policy_violation" };

describe("gemini's speech", () => {
  const samples = (bytes: number[], mimeType = "audio/l16; rate=24000; channels=1") => ({
    candidates: [{ content: { parts: [{ inlineData: { mimeType, data: toBase64(new Uint8Array(bytes)) } }] } }],
  });
  const usageMetadata = {
    promptTokenCount: 32,
    candidatesTokenCount: 208,
    totalTokenCount: 240,
    candidatesTokensDetails: [{ modality: "AUDIO", tokenCount: 208 }],
  };
  const end = { candidates: [{ finishReason: "STOP" }], usageMetadata };
  const broken = { mimeType: "audio/l16; rate=24000", data: "***" };
  const usage = { input_tokens: 32, output_tokens: 208, total_tokens: 240 };

  const speak = async (request: Partial<RequestOf<"speech">>, ...answers: object[]) => {
    const text = answers.map((answer) => `data: ${JSON.stringify(answer)}\r\n\r\n`).join("");
    const ignored: string[] = [];
    const { call, asked } = fakeCall<RequestOf<"speech">>(
      { model: "m", input: "Hello", voice: "Leda", ...request },
      { events: () => eventsOf(text) },
      rowOf("gemini-3.8-flash-tts"),
    );
    const warn = (_: string, names: string | readonly string[] = []) => void ignored.push(...[names].flat());
    const speech = await gemini.handlers.speech?.({ ...call, warn });
    const { items, error } = await drain(speech?.audio as AnswerStream<Uint8Array<ArrayBuffer>>);
    return { asked, ignored, items, error, usage: speech?.readUsage?.() };
  };

  test("comes as samples, which become a WAV file while they come", async () => {
    const { asked, items, error, usage: told } = await speak({}, samples([1, 2]), samples([3, 4]), end);
    expect(error).toBeUndefined();
    expect(items.map(({ length }) => length)).toEqual([44, 2, 2]);
    expect(readWav(new Uint8Array(Buffer.concat(items)))).toMatchObject({
      sampleRate: 24_000,
      channels: 1,
      bitsPerSample: 16,
      pcm: new Uint8Array([1, 2, 3, 4]),
    });
    expect(told).toEqual(usage);
    expect(asked).toMatchObject([
      { method: "events", path: "/models/gemini-3.8-flash-tts:streamGenerateContent?alt=sse" },
    ]);
    expect(sent(asked[0]?.body)).toEqual({
      contents: [{ role: "user", parts: [{ text: "Hello" }] }],
      generationConfig: {
        responseModalities: ["AUDIO"],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: "Leda" } } },
      },
    });
  });

  test("is asked for in a language and a style, and what it does not take is told", async () => {
    const more = { instructions: "Slowly", target_language_code: "fi-FI", speed: 2, user: "me" };
    const { asked, ignored } = await speak(more, samples([1, 2]), end);
    const { contents, generationConfig } = sent(asked[0]?.body) as { contents: unknown; generationConfig: object };
    expect(contents).toEqual([{ role: "user", parts: [{ text: "Hello", speechMetadata: { style: "Slowly" } }] }]);
    expect(generationConfig).toMatchObject({ speechConfig: { languageCode: "fi-FI" } });
    expect(ignored).toEqual(["speed", "user"]);
  });

  test.each([
    ["ends before it is complete", [samples([1, 2])], { kind: "bad_response" }],
    ["is nothing", [], { kind: "bad_response" }],
    ["is of another kind", [samples([1, 2], "audio/mp3"), end], { kind: "bad_response" }],
    ["is not base64", [{ candidates: [{ content: { parts: [{ inlineData: broken }] } }] }], { kind: "bad_response" }],
    ["is an error", [{ error: { code: 503, status: "UNAVAILABLE", message: "Busy" } }], { kind: "overloaded" }],
    ["failed", [{ candidates: [{ finishReason: "OTHER" }] }], { kind: "bad_response" }],
    ["was filtered", [{ candidates: [{ finishReason: "SAFETY" }] }], { ...filtered, param: "input" }],
    ["was blocked", [{ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }], { ...filtered, param: "input" }],
  ])("that %s is said so", async (_, answers: object[], expected) => {
    expect((await speak({}, ...answers)).error).toMatchObject(expected);
  });

  test("without a count has no usage", async () => {
    const bare = { candidates: [{ finishReason: "STOP" }], usageMetadata: { promptTokenCount: 32 } };
    expect((await speak({}, samples([1, 2]), bare)).usage).toBeUndefined();
  });
});

describe("gemini's transcription", () => {
  const said = (...parts: object[]) => ({ candidates: [{ content: { parts }, finishReason: "STOP" }] });
  // As it was recorded: the output is not counted, and the total has no more than the sound.
  const usageMetadata = {
    promptTokenCount: 138,
    totalTokenCount: 138,
    promptTokensDetails: [{ modality: "AUDIO", tokenCount: 138 }],
  };

  const hear = async (answer: object, request: Partial<RequestOf<"transcription">> = {}, name = "a.mp3") => {
    const file = new File([new Uint8Array([1, 2, 3])], name);
    const ignored: string[] = [];
    const { call, asked } = fakeCall<RequestOf<"transcription">>(
      { model: "m", file, audioMsMin: 1, audioMsMax: 9, unknownFields: [], ...request },
      { json: answer },
      rowOf("gemini-3.5-transcribe"),
    );
    const warn = (_: string, names: string | readonly string[] = []) => void ignored.push(...[names].flat());
    const transcript = await gemini.handlers.transcription?.({ ...call, warn });
    return { transcript, ignored, asked };
  };

  test("is asked for with the file, and nothing more", async () => {
    const answer = { ...said({ audioTranscription: { text: "Hello there." } }), usageMetadata };
    const { transcript, asked, ignored } = await hear(answer, { prompt: "Names", temperature: 0 });
    expect(transcript).toEqual({
      text: "Hello there.",
      usage: { input_tokens: 138, output_tokens: 0, total_tokens: 138, input_tokens_details: { audio_tokens: 138 } },
    });
    expect(asked).toMatchObject([{ method: "json", path: "/models/gemini-3.5-transcribe:generateContent" }]);
    expect(sent(asked[0]?.body)).toEqual({
      contents: [{ role: "user", parts: [{ inlineData: { mimeType: "audio/mp3", data: "AQID" } }] }],
      generationConfig: { audioTranscriptionConfig: {} },
    });
    expect(ignored).toEqual(["prompt", "temperature"]);
  });

  test.each([
    ["en", "en-US"],
    ["pt-PT", "pt-PT"],
    ["zh", "cmn-Hans-CN"],
    ["ceb", "ceb-PH"],
    ["en-abc", "en-abc"],
    ["xx", "xx"],
  ])("in %s is asked for in %s", async (language, code) => {
    const { asked } = await hear(said({ text: "Hello" }), { language });
    const config = { audioTranscriptionConfig: { languageCodes: [code] } };
    expect(sent(asked[0]?.body)).toMatchObject({ generationConfig: config });
  });

  test.each([
    ["a.MPGA", "audio/mp3"],
    ["a.wav", "audio/wav"],
    ["a.b.m4a", "audio/m4a"],
  ])("of %s sends %s", async (name, mimeType) => {
    const { asked } = await hear(said({ text: "Hello" }), {}, name);
    expect(sent(asked[0]?.body)).toMatchObject({ contents: [{ parts: [{ inlineData: { mimeType } }] }] });
  });

  test("has the times of words where they are asked for", async () => {
    const words = [
      { word: "Hello", startOffset: "0.100s", endOffset: "0.450s" },
      { word: "there", startOffset: "0.5s", endOffset: "0.85s" },
    ];
    const answer = said({ audioTranscription: { languageCode: "en-US", words } });
    const { transcript, asked } = await hear(answer, { timestamp_granularities: ["word", "segment"] });
    expect(sent(asked[0]?.body)).toMatchObject({
      generationConfig: { audioTranscriptionConfig: { wordTimestamp: true } },
    });
    expect(transcript).toEqual({
      text: "Hello there",
      language: "en-US",
      words: [
        { word: "Hello", start: 0.1, end: 0.45 },
        { word: "there", start: 0.5, end: 0.85 },
      ],
    });
    for (const times of [{}, { startOffset: "1s", endOffset: "1e999s" }]) {
      const untimed = said({ text: "Hello" }, { audioTranscription: { words: [{ word: "Hello", ...times }] } });
      expect((await hear(untimed)).transcript).toEqual({ text: "Hello" });
    }
  });

  test("of silence is empty", async () => {
    expect((await hear(said())).transcript?.text).toBe("");
  });

  test.each([
    [
      "an error",
      { error: { code: 429, status: "RESOURCE_EXHAUSTED", message: "Slow down" } },
      { kind: "rate_limited" },
    ],
    ["no reason", { candidates: [{}] }, { kind: "bad_response" }],
    ["a filter", { candidates: [{ finishReason: "PROHIBITED_CONTENT" }] }, { ...filtered, param: "file" }],
    ["no answer", [], { kind: "bad_response" }],
  ])("that ends in %s is said so", async (_, answer, expected) => {
    expect(await errorOf(hear(answer))).toMatchObject(expected);
  });
});
