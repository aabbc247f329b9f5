import { describe, expect, test } from "bun:test";
import { type RequestOf, UpstreamError } from "modelgate/plugin";
import { speech, toWav } from "../../../../plugins/sarvam/speech.ts";
import type { GatewayError } from "../../../../src/contract/index.ts";
import { toBase64 } from "../../../../src/lib/base64.ts";
import { readWav, writeWav } from "../../../../src/lib/wav.ts";
import { recordingAt, recordingsMissing } from "../../../support/recordings.ts";
import { playCall, rowOf } from "./call.ts";

const wav = (...pcm: number[]) =>
  writeWav({ pcm: Uint8Array.from(pcm), sampleRate: 24_000, channels: 1, bitsPerSample: 16 });
const one = { request_id: "1", audios: [toBase64(wav(1, 2))] };

async function ask(request: Partial<RequestOf<"speech">>) {
  const played = playCall("famF-tts", { model: "famF-tts", input: "Hello", ...request }, { json: one });
  const made = await speech(played.call);
  return { ...played, speech: made, body: played.asked[0]?.body ?? {} };
}

describe("sarvam's speech", () => {
  test("is asked for with the text, its language and the model", async () => {
    const { asked } = await ask({ voice: "shubh" });
    expect(asked).toEqual([
      {
        path: "/text-to-speech",
        body: {
          text: "Hello",
          target_language_code: "en-IN",
          model: "bulbul:v3",
          speaker: "shubh",
          output_audio_codec: "wav",
        },
      },
    ]);
  });

  test.each<[string, Partial<RequestOf<"speech">>, Record<string, unknown>]>([
    ["the language that was named", { target_language_code: "mr-IN" }, { target_language_code: "mr-IN" }],
    ["Odia under Sarvam's name for it", { target_language_code: "or-IN" }, { target_language_code: "od-IN" }],
    ["the sample rate", { speech_sample_rate: 8000 }, { speech_sample_rate: 8000 }],
    ["the pace at its lower bound", { pace: 0.5 }, { pace: 0.5 }],
    ["the pace at its upper bound", { pace: 2 }, { pace: 2 }],
    ["speed as pace", { speed: 1.5 }, { pace: 1.5 }],
    ["the pace rather than the speed", { pace: 1, speed: 1.5 }, { pace: 1 }],
    ["a speed beyond the bounds at the bound", { speed: 4 }, { pace: 2 }],
  ])("sends %s", async (_, request, sent) => {
    expect((await ask(request)).body).toMatchObject(sent);
  });

  test("notes a speed that it moved, and no other", async () => {
    expect((await ask({ speed: 0.25 })).notes).toEqual(["Used speed 0.5 instead of 0.25: the model accepts 0.5 to 2"]);
    expect((await ask({ speed: 0.5 })).notes).toEqual([]);
  });

  test.each([
    ["नमस्ते दुनिया", "hi-IN"],
    ["হ্যালো", "bn-IN"],
    ["வணக்கம்", "ta-IN"],
    ["నమస్తే", "te-IN"],
    ["ನಮಸ್ಕಾರ", "kn-IN"],
    ["നമസ്കാരം", "ml-IN"],
    ["નમસ્તે", "gu-IN"],
    ["ਸਤ ਸ੍ਰੀ ਅਕਾਲ", "pa-IN"],
    ["ନମସ୍କାର", "od-IN"],
    ["मेरा phone नंबर नया है", "hi-IN"],
    ["12:30", "en-IN"],
  ])("reads %j as %s when no language is named", async (input, language) => {
    expect((await ask({ input })).body.target_language_code).toBe(language);
  });

  test.each<[string, Partial<RequestOf<"speech">>, string, string]>([
    ["a pace below its bounds", { pace: 0.49 }, "pace", "pace is 0.49, but famF-tts takes 0.5 to 2"],
    ["a pace above them", { pace: 2.01 }, "pace", "pace is 2.01, but famF-tts takes 0.5 to 2"],
    [
      "a language it has not",
      { target_language_code: "fr-FR" },
      "target_language_code",
      "target_language_code is 'fr-FR', but this model takes: bn-IN, en-IN, gu-IN, hi-IN, kn-IN",
    ],
  ])("refuses %s and says what it takes", async (_, request, param, sentence) => {
    const error = await ask(request).then(undefined, (refusal: GatewayError) => refusal);
    expect(error).toMatchObject({ code: "invalid_request", param });
    expect((error as GatewayError).message).toStartWith(sentence);
  });

  test("has its bounds in the row, where the kernel holds requests to them before money is held", () => {
    const { inputCharactersMax, voices, voiceDefault, sampleRates } = rowOf("famF-tts");
    expect({ inputCharactersMax, voiceDefault, voices: voices?.length }).toEqual({
      inputCharactersMax: 2500,
      voiceDefault: "shubh",
      voices: 37,
    });
    expect(sampleRates).toContain(24_000);
  });
});

describe("sarvam's sound", () => {
  test("of several parts is one valid file", () => {
    const joined = toWav({ audios: [wav(1, 2), wav(3, 4, 5, 6), wav(7, 8)].map(toBase64) });
    expect(readWav(joined)).toMatchObject({ sampleRate: 24_000, channels: 1, bitsPerSample: 16 });
    expect([...readWav(joined).pcm]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(joined).toHaveLength(44 + 8);
  });

  test.each<[string, unknown]>([
    ["is not an object", "no"],
    ["has no audios", {}],
    ["has an empty list", { audios: [] }],
    ["is no base64", { audios: ["???"] }],
    ["is null", { audios: [null] }],
    ["is no WAV", { audios: [toBase64(new Uint8Array(60))] }],
    [
      "is of two formats",
      {
        audios: [
          toBase64(wav(1, 2)),
          toBase64(writeWav({ pcm: Uint8Array.of(1), sampleRate: 8000, channels: 1, bitsPerSample: 8 })),
        ],
      },
    ],
  ])("is a broken answer when it %s", (_, answer) => {
    expect(() => toWav(answer)).toThrow(UpstreamError);
  });

  test.skipIf(recordingsMissing !== undefined)(
    `of the recording plays 50 ms at 24 kHz ${recordingsMissing ?? ""}`,
    async () => {
      const { body, request } = recordingAt("sarvam/text-to-speech/bulbul-v3-wav-shape.json");
      const recorded = { ...request?.body };
      const { text, speaker, ...same } = recorded as { text: string; speaker: string };
      const { call, asked } = playCall<RequestOf<"speech">>(
        "famF-tts",
        { ...same, model: "famF-tts", input: text, voice: speaker },
        { json: JSON.parse(new TextDecoder().decode(body)) },
      );
      const { pcm, sampleRate } = readWav((await speech(call)).audio as Uint8Array<ArrayBuffer>);
      expect({ sampleRate, ms: (pcm.length / 2 / sampleRate) * 1000 }).toEqual({
        sampleRate: 24_000,
        ms: 50,
      });
      expect(asked[0]?.body).toEqual({ ...recorded, output_audio_codec: "wav" });
    },
  );
});
