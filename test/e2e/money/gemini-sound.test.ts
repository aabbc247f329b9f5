import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { verifyLedger } from "../../../src/ledger/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { type ReplayUpstream, startReplayUpstream } from "../../support/replay-upstream.ts";
import { eventsReply, jsonReply } from "../../support/reply.ts";
import { wavFile } from "../../support/wav.ts";

/** Speech and transcription of Gemini, as the catalogue sells them, through the official client. */
let gateway: InProcessGateway;
let upstream: ReplayUpstream;
let client: OpenAI;

beforeAll(async () => {
  upstream = await startReplayUpstream();
  const env = { GEMINI_API_KEY: "g-upstream", GEMINI_BASE_URL: upstream.baseUrlOf("gemini", "/v1beta") };
  gateway = await startInProcess({ env });
  client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(async () => {
  expect((await verifyLedger(gateway.store)).differences).toEqual([]);
  await gateway.stop();
  await upstream.stop();
});

/** The row of the latest call. */
const lastCall = () =>
  gateway.store.db.selectFrom("calls").selectAll().orderBy("seq", "desc").limit(1).executeTakeFirstOrThrow();

describe("Gemini", () => {
  const samples = (bytes: Uint8Array) => {
    const inlineData = { mimeType: "audio/l16; rate=24000; channels=1", data: Buffer.from(bytes).toString("base64") };
    return { candidates: [{ content: { parts: [{ inlineData }] } }] };
  };
  const usageMetadata = { promptTokenCount: 32, candidatesTokenCount: 208, totalTokenCount: 240 };
  const end = { candidates: [{ finishReason: "STOP" }], usageMetadata };
  const model = "gemini-3.8-flash-tts";

  test("speaks by the tokens that it reports, in a WAV file or samples, with a voice of its own", async () => {
    const sound = new Uint8Array(48_000);
    for (const format of ["wav", "pcm"] as const) {
      upstream.answer("gemini", eventsReply(samples(sound), end));
      const asked = { model, voice: "alloy", input: "Hello Ada", response_format: format };
      const response = await client.audio.speech.create(asked);
      expect((await response.arrayBuffer()).byteLength).toBe(48_000 + (format === "wav" ? 44 : 0));
      expect(response.headers.get("x-modelgate-ignored")).toBe("voice");
      expect(JSON.stringify(upstream.seen.at(-1)?.json)).toContain('"voiceName":"Kore"');
      const call = await lastCall();
      expect(call).toMatchObject({
        input_tokens: 32,
        audio_output_tokens: 208,
        usage_source: "reported",
        charged_nanodollars: 32 * 500 + 208 * 9000,
      });
      expect(call.hold_nanodollars).toBeGreaterThan(call.charged_nanodollars as number);
    }
  });

  test("speaks a long text in parts, and that breaks off for what was heard", async () => {
    upstream.answer("gemini", eventsReply(samples(new Uint8Array(48_000)), end));
    const input = "Hello Ada. ".repeat(300);
    const response = await client.audio.speech.create({ model, voice: "Leda", input, response_format: "wav" });
    expect((await response.arrayBuffer()).byteLength).toBe(44 + 2 * 48_000);
    expect((await lastCall()).audio_output_tokens).toBe(2 * 208);
    upstream.answer("gemini", eventsReply(samples(new Uint8Array(48_000))));
    const broken = await client.audio.speech.create({ model, voice: "Leda", input: "Hello" });
    await broken.arrayBuffer().catch(() => undefined);
    expect(await lastCall()).toMatchObject({ audio_output_tokens: 33, usage_source: "estimated", status: 500 });
  });

  test("transcribes by the tokens that it reports", async () => {
    const heard = { content: { parts: [{ audioTranscription: { text: "Hello" } }] }, finishReason: "STOP" };
    const reported = { promptTokenCount: 80, totalTokenCount: 80 };
    upstream.answer("gemini", jsonReply({ candidates: [heard], usageMetadata: reported }));
    const answer = await client.audio.transcriptions.create({ model: "gemini-3.5-transcribe", file: wavFile(3200) });
    expect(answer).toMatchObject({ text: "Hello", usage: { type: "tokens", input_tokens: 80, output_tokens: 0 } });
    const call = await lastCall();
    expect(call).toMatchObject({
      audio_input_tokens: 80,
      output_tokens: 0,
      usage_source: "reported",
      charged_nanodollars: 80 * 2000,
    });
    expect(call.hold_nanodollars).toBeGreaterThan(32_768 * 12_000);
  });
});
