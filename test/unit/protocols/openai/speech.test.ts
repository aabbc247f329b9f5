import { describe, expect, test } from "bun:test";
import type { AnswerStream } from "../../../../src/provider/index.ts";
import { openai } from "../../../../src/sdk/openai.ts";
import { errorOf } from "../../../support/error-of.ts";
import { drain, eventsOf, fakeCall, piecesOf, plainModel } from "../../sdk/fake-call.ts";

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
    const { items } = await drain(speech?.audio as AnswerStream<Uint8Array<ArrayBuffer>>);
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

  test("refuses what is not sound", async () => {
    const { call } = fakeCall(request, { bytes: { mediaType: "application/json", chunks: piecesOf("{}") } });
    const refusal = expect.objectContaining({
      kind: "bad_response",
      message: "The provider answered speech with application/json",
    });
    expect(await errorOf(openai({ speech: {} }).speech?.(call))).toEqual(refusal);
  });

  const delta = (text: string) => ({ type: "speech.audio.delta", audio: Buffer.from(text).toString("base64") });
  const events = (...list: object[]) => eventsOf(list.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  const model = { ...plainModel, options: { events: true } };

  test("reads sound and tokens out of events", async () => {
    const usage = { input_tokens: 14, output_tokens: 101, total_tokens: 115 };
    const answer = events(delta("RIFF"), delta("rest"), { type: "speech.audio.done", usage });
    const { call, asked } = fakeCall(request, { events: answer }, model);
    const speech = await openai({ speech: {} }).speech?.(call);
    expect(asked[0]).toMatchObject({ method: "events", body: { stream_format: "sse", response_format: "wav" } });
    expect(speech?.readUsage?.()).toBeUndefined();
    const { items } = await drain(speech?.audio as AnswerStream<Uint8Array<ArrayBuffer>>);
    expect(items.map((chunk) => new TextDecoder().decode(chunk))).toEqual(["RIFF", "rest"]);
    expect(speech?.readUsage?.()).toEqual(usage);
  });

  test.each<[string, object[], string]>([
    ["end early", [delta("RIFF")], "ended before"],
    ["tell of an error", [{ type: "error", error: { message: "Too much" } }], "Too much"],
  ])("refuses events that %s", async (_, list, words) => {
    const { call } = fakeCall(request, { events: events(...list) }, model);
    const speech = await openai({ speech: {} }).speech?.(call);
    const { error } = await drain(speech?.audio as AnswerStream<Uint8Array<ArrayBuffer>>);
    expect((error as Error).message).toContain(words);
  });
});
