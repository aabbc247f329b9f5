import { describe, expect, test } from "bun:test";
import { openai } from "../../../../../src/sdk/dialects/openai/index.ts";
import { errorOf } from "../../../../support/error-of.ts";
import { drain, fakeCall, piecesOf, plainModel } from "../../fake-call.ts";

const request = {
  model: "acme-1",
  input: "Hi",
  speed: 1,
  pace: 1,
  speech_sample_rate: 8000,
  target_language_code: "hi-IN",
};

describe("speak", () => {
  test("asks for WAV in the row's voice and hands the bytes on", async () => {
    const bytes = { mediaType: "audio/wav", chunks: piecesOf("RIFF", "rest") };
    const { call, asked } = fakeCall(request, { bytes }, { ...plainModel, voiceDefault: "autumn" });
    const speech = await openai({ speech: {} }).speech?.(call);
    expect(asked[0]).toEqual({
      method: "bytes",
      path: "/audio/speech",
      body: { model: "acme-one", input: "Hi", speed: 1, voice: "autumn", response_format: "wav" },
    });
    const { items } = await drain(speech?.wav as AsyncIterable<Uint8Array>);
    expect(items.map((chunk) => new TextDecoder().decode(chunk))).toEqual(["RIFF", "rest"]);
  });

  test("keeps the caller's voice, and sends what a provider says it takes", async () => {
    const bytes = { mediaType: "application/octet-stream", chunks: piecesOf() };
    const { call, asked } = fakeCall(
      { ...request, voice: "troy" },
      { bytes },
      { ...plainModel, voiceDefault: "autumn" },
    );
    await openai({
      speech: { omit: ["pace", "target_language_code"], rename: { speech_sample_rate: "sample_rate" } },
    }).speech?.(call);
    expect(asked[0]?.body).toMatchObject({ voice: "troy", sample_rate: 8000 });
  });

  test("refuses what is no sound", async () => {
    const { call } = fakeCall(request, { bytes: { mediaType: "application/json", chunks: piecesOf("{}") } });
    const refusal = expect.objectContaining({
      kind: "bad_response",
      message: "The provider answered speech with application/json",
    });
    expect(await errorOf(openai({ speech: {} }).speech?.(call))).toEqual(refusal);
  });
});
