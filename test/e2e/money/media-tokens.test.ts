import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { verifyLedger } from "../../../src/ledger/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { faultsOf, schemaMissing } from "../../support/openai-schema.ts";
import { type ReplayUpstream, startReplayUpstream } from "../../support/replay-upstream.ts";
import { eventsReply, jsonReply } from "../../support/reply.ts";
import { wavFile, wavOf } from "../../support/wav.ts";

/** Models that are priced by tokens of pictures and sound, as the catalogue sells them, through the official client. */
const png = "iVBORw0KGgo=";
let gateway: InProcessGateway;
let upstream: ReplayUpstream;
let client: OpenAI;

beforeAll(async () => {
  upstream = await startReplayUpstream();
  const env = {
    OPENAI_API_KEY: "sk-upstream",
    OPENAI_BASE_URL: upstream.baseUrlOf("openai", "/v1"),
    GEMINI_API_KEY: "g-upstream",
    GEMINI_BASE_URL: upstream.baseUrlOf("gemini", "/v1beta"),
  };
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

describe("pictures", () => {
  const usage = {
    input_tokens: 20,
    output_tokens: 7024 + 30,
    total_tokens: 7074,
    input_tokens_details: { text_tokens: 20, image_tokens: 0 },
    output_tokens_details: { text_tokens: 30, image_tokens: 7024 },
  };

  test("of gpt-image-2 cost the tokens that OpenAI reports", async () => {
    upstream.answer("openai", jsonReply({ created: 1, data: [{ b64_json: png }], usage }));
    const size = "1024x1024";
    const answer = await client.images.generate({ model: "gpt-image-2", prompt: "A cat", size, quality: "high" });
    expect(answer.usage).toEqual(usage);
    expect(upstream.seen.at(-1)?.json).toEqual({ model: "gpt-image-2", prompt: "A cat", size, quality: "high" });
    const call = await lastCall();
    expect(call).toMatchObject({ input_tokens: 20, output_tokens: 30, image_output_tokens: 7024, images: null });
    expect(call).toMatchObject({ usage_source: "reported", charged_nanodollars: 20 * 5000 + 7054 * 30_000 });
    expect(call.hold_nanodollars).toBeGreaterThanOrEqual(7024 * 30_000);
    expect(call.hold_nanodollars).toBeLessThan(7200 * 30_000);
  });

  test("streamed cost the same", async () => {
    upstream.answer("openai", jsonReply({ created: 1, data: [{ b64_json: png }], usage }));
    const stream = await client.images.generate({ model: "gpt-image-2", prompt: "A cat", stream: true });
    const events = [];
    for await (const event of stream) events.push(event);
    expect(events).toMatchObject([{ type: "image_generation.completed", b64_json: png, usage }]);
    expect((await lastCall()).charged_nanodollars).toBe(20 * 5000 + 7054 * 30_000);
  });

  test("without a report cost what was held for them, of pictures that came", async () => {
    upstream.answer("openai", jsonReply({ created: 1, data: [{ b64_json: png }] }));
    await client.images.generate({ model: "gpt-image-2", prompt: "A cat", size: "1024x1024", quality: "low", n: 2 });
    expect(await lastCall()).toMatchObject({
      usage_source: "estimated",
      image_output_tokens: 196,
      input_tokens: 2,
      charged_nanodollars: 2 * 5000 + 196 * 30_000,
    });
  });

  test("of a quality whose tokens nobody knows are not asked for", async () => {
    upstream.answer("openai", jsonReply({ created: 1, data: [{ b64_json: png }], usage }));
    await client.images.generate({ model: "gpt-image-2.5-flare", prompt: "A cat" });
    expect(upstream.seen.at(-1)?.json).toMatchObject({ quality: "medium" });
  });

  test.each(["xhigh", "max"] as const)(
    "of quality %s are asked for as high, whose tokens are held",
    async (quality) => {
      for (const model of ["gpt-image-2.5-flare", "gpt-image-2"]) {
        upstream.answer("openai", jsonReply({ created: 1, data: [{ b64_json: png }], usage }));
        const ask = { model, prompt: "A cat", size: "1024x1024", quality } as const;
        const { response } = await client.images.generate({ ...ask, quality: quality as "high" }).withResponse();
        expect(response.headers.get("x-modelgate-ignored")).toBe("quality");
        expect(upstream.seen.at(-1)?.json).toMatchObject({ quality: "high", size: "1024x1024" });
        const call = await lastCall();
        expect(call.charged_nanodollars).toBe(20 * 5000 + 7054 * 30_000);
        expect(call.hold_nanodollars).toBeGreaterThanOrEqual(7024 * 30_000);
        expect(call.hold_nanodollars).toBeLessThan(7200 * 30_000);
      }
    },
  );

  test("of a quality above high are asked for as that where the row has its tokens", async () => {
    const priced = { id: "gpt-image-2.5-sunburst", imageOutputTokensMax: { high: 100, "xhigh 1024x1024": 30_000 } };
    const files = { "catalogue/openai.json": { models: [priced] } };
    const env = { OPENAI_API_KEY: "sk-upstream", OPENAI_BASE_URL: upstream.baseUrlOf("openai", "/v1") };
    const other = await startInProcess({ env, files });
    try {
      for (const [quality, ignored] of [
        ["xhigh", null],
        ["max", "quality"],
      ] as const) {
        upstream.answer("openai", jsonReply({ created: 1, data: [{ b64_json: png }], usage }));
        const response = await fetch(`${other.baseUrl}/images/generations`, {
          method: "POST",
          headers: { authorization: `Bearer ${other.key}`, "content-type": "application/json" },
          body: JSON.stringify({ model: priced.id, prompt: "A cat", size: "1024x1024", quality }),
        });
        expect([response.status, response.headers.get("x-modelgate-ignored")]).toEqual([200, ignored]);
        expect(upstream.seen.at(-1)?.json).toMatchObject({ quality: "xhigh" });
        const call = await other.store.db
          .selectFrom("calls")
          .selectAll()
          .orderBy("seq", "desc")
          .limit(1)
          .executeTakeFirst();
        expect(call?.hold_nanodollars).toBeGreaterThanOrEqual(30_000 * 30_000);
        expect(call?.hold_nanodollars).toBeLessThan(30_200 * 30_000);
      }
    } finally {
      await other.stop();
    }
  });

  test("of Gemini cost their tokens, and their thoughts and words as text", async () => {
    const usageMetadata = {
      promptTokenCount: 14,
      candidatesTokenCount: 1283,
      thoughtsTokenCount: 174,
      totalTokenCount: 1471,
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1120 }],
    };
    const parts = [{ inlineData: { mimeType: "image/png", data: png } }];
    upstream.answer("gemini", jsonReply({ candidates: [{ content: { parts }, finishReason: "STOP" }], usageMetadata }));
    const answer = await client.images.generate({
      model: "gemini-3-pro-image",
      prompt: "A cat",
      size: "2048x2048" as "auto",
    });
    expect(answer.usage).toMatchObject({ input_tokens: 14, output_tokens: 1457, total_tokens: 1471 });
    const sent = upstream.seen.at(-1)?.json as { generationConfig: object };
    expect(sent.generationConfig).toMatchObject({ maxOutputTokens: 6616, imageConfig: { imageSize: "2K" } });
    expect(await lastCall()).toMatchObject({
      input_tokens: 14,
      output_tokens: 337,
      image_output_tokens: 1120,
      images: null,
      charged_nanodollars: 14 * 2000 + 337 * 12_000 + 1120 * 120_000,
    });
  });
});

describe("a transcript of gpt-4o-transcribe", () => {
  const model = "gpt-4o-transcribe";
  const usage = {
    type: "tokens",
    total_tokens: 49,
    input_tokens: 37,
    output_tokens: 12,
    input_token_details: { text_tokens: 5, audio_tokens: 32 },
  };

  test("costs the tokens that OpenAI reports", async () => {
    upstream.answer("openai", jsonReply({ text: "Hello", usage }));
    const answer = await client.audio.transcriptions.create({ model, file: wavFile(3200) });
    expect(answer).toEqual({ text: "Hello", usage } as never);
    if (schemaMissing === undefined) expect(faultsOf("CreateTranscriptionResponseJson", answer)).toEqual([]);
    expect(upstream.seen.at(-1)?.parts?.find(({ name }) => name === "response_format")?.text).toBe("json");
    expect(await lastCall()).toMatchObject({
      input_tokens: 5,
      audio_input_tokens: 32,
      output_tokens: 12,
      audio_ms: null,
      usage_source: "reported",
      charged_nanodollars: 37 * 2500 + 12 * 10_000,
    });
  });

  test("streamed tells the same tokens", async () => {
    upstream.answer("openai", jsonReply({ text: "Hello", usage }));
    const stream = await client.audio.transcriptions.create({ model, file: wavFile(3200), stream: true });
    const events = [];
    for await (const event of stream) events.push(event);
    expect(events.at(-1)).toMatchObject({ type: "transcript.text.done", text: "Hello", usage });
  });

  test("without a report costs what its samples play and its words", async () => {
    upstream.answer("openai", jsonReply({ text: "Hello" }));
    await client.audio.transcriptions.create({ model, file: wavFile(3200), prompt: "Hello" });
    expect(await lastCall()).toMatchObject({
      input_tokens: 1,
      audio_input_tokens: 32,
      output_tokens: 1,
      usage_source: "estimated",
      charged_nanodollars: 33 * 2500 + 10_000,
    });
  });
});

describe("speech of gpt-4o-mini-tts", () => {
  const model = "gpt-4o-mini-tts";
  const sound = wavOf(1000);
  const delta = (bytes: Uint8Array) => ({ type: "speech.audio.delta", audio: Buffer.from(bytes).toString("base64") });
  const usage = { input_tokens: 14, output_tokens: 101, total_tokens: 115 };
  const reply = (...more: object[]) => eventsReply(delta(sound.subarray(0, 100)), delta(sound.subarray(100)), ...more);

  test("costs the tokens that OpenAI reports, and is heard byte by byte", async () => {
    upstream.answer("openai", reply({ type: "speech.audio.done", usage }));
    const response = await client.audio.speech.create({
      model,
      voice: "ash",
      input: "Hello Ada",
      instructions: "Slowly",
    });
    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.from(sound))).toBe(true);
    expect(upstream.seen.at(-1)?.json).toEqual({
      model,
      voice: "ash",
      input: "Hello Ada",
      instructions: "Slowly",
      response_format: "wav",
      stream_format: "sse",
    });
    const call = await lastCall();
    expect(call).toMatchObject({
      input_tokens: 14,
      audio_output_tokens: 101,
      characters: null,
      usage_source: "reported",
      charged_nanodollars: 14 * 600 + 101 * 12_000,
    });
    expect(call.hold_nanodollars).toBeGreaterThan(call.charged_nanodollars as number);
  });

  test("in events tells its tokens at the end", async () => {
    upstream.answer("openai", reply({ type: "speech.audio.done", usage }));
    const response = await gateway.post("/audio/speech", { model, input: "Hello Ada", stream_format: "sse" });
    const last = (await response.text()).trimEnd().split("\n").at(-1) as string;
    expect(JSON.parse(last.slice("data: ".length))).toEqual({ type: "speech.audio.done", usage });
  });

  test("without a report costs what was heard", async () => {
    upstream.answer("openai", reply({ type: "speech.audio.done" }));
    await (await client.audio.speech.create({ model, voice: "ash", input: "Hello" })).arrayBuffer();
    expect(await lastCall()).toMatchObject({ input_tokens: 1, audio_output_tokens: 33, usage_source: "estimated" });
  });

  test("that breaks off costs what was heard", async () => {
    upstream.answer("openai", reply());
    await (await client.audio.speech.create({ model, voice: "ash", input: "Hello" }))
      .arrayBuffer()
      .catch(() => undefined);
    expect(await lastCall()).toMatchObject({ audio_output_tokens: 33, usage_source: "estimated", status: 500 });
  });
});

describe("a chat in sound", () => {
  const model = "gpt-audio-1.5";
  const audio = { voice: "alloy", format: "pcm16" } as const;
  const data = Buffer.from(wavOf(2000)).toString("base64");
  const messages = [
    {
      role: "user" as const,
      content: [
        { type: "text" as const, text: "Answer this" },
        { type: "input_audio" as const, input_audio: { data, format: "wav" as const } },
      ],
    },
  ];
  const usage = {
    prompt_tokens: 33,
    completion_tokens: 70,
    total_tokens: 103,
    prompt_tokens_details: { audio_tokens: 20, text_tokens: 13, cached_tokens: 0 },
    completion_tokens_details: { audio_tokens: 50, text_tokens: 20, reasoning_tokens: 0 },
  };
  const price = 13 * 2500 + 20 * 32_000 + 20 * 10_000 + 50 * 64_000;
  const sound = { id: "audio_1", data: "AAAA", transcript: "Hi", expires_at: 1_900_000_000 };
  const reply = (more: object = { usage }) =>
    jsonReply({
      id: "1",
      object: "chat.completion",
      created: 1,
      model,
      choices: [{ index: 0, message: { role: "assistant", content: null, audio: sound }, finish_reason: "stop" }],
      ...more,
    });

  test("costs the tokens of text and sound that OpenAI reports", async () => {
    upstream.answer("openai", reply());
    const answer = await client.chat.completions.create({ model, messages, modalities: ["text", "audio"], audio });
    expect(answer.choices[0]?.message.audio).toEqual(sound);
    expect(answer.usage).toMatchObject(usage);
    expect(upstream.seen.at(-1)?.json).toMatchObject({ messages, modalities: ["text", "audio"], audio });
    const call = await lastCall();
    expect(call).toMatchObject({
      input_tokens: 13,
      audio_input_tokens: 20,
      output_tokens: 20,
      audio_output_tokens: 50,
      usage_source: "reported",
      charged_nanodollars: price,
    });
    // All of the answer can be sound, and what two seconds of it in the prompt can be is known.
    expect(call.hold_nanodollars).toBeGreaterThan(16_384 * 64_000);
    expect(call.hold_nanodollars).toBeLessThan(16_384 * 64_000 + 100 * 32_000);
  });

  test("streamed costs the same", async () => {
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      id: "1",
      object: "chat.completion.chunk",
      created: 1,
      model,
      choices: [{ index: 0, delta, finish_reason }],
    });
    upstream.answer(
      "openai",
      eventsReply(
        chunk({ role: "assistant", audio: { id: "audio_1", transcript: "Hi" } }),
        chunk({ audio: { data: "AAAA" } }),
        chunk({ audio: { expires_at: 1 } }),
        chunk({}, "stop"),
        { ...chunk({}), choices: [], usage },
        "[DONE]",
      ),
    );
    const stream = await client.chat.completions.create({
      model,
      messages,
      modalities: ["text", "audio"] as ["text", "audio"],
      audio,
      max_tokens: 100,
      stream: true as const,
      stream_options: { include_usage: true },
    });
    const deltas: unknown[] = [];
    let last: unknown;
    for await (const { choices, usage } of stream) {
      deltas.push(...choices.flatMap(({ delta }) => (delta as { audio?: unknown }).audio ?? []));
      last = usage ?? last;
    }
    expect(deltas).toEqual([{ id: "audio_1", transcript: "Hi" }, { data: "AAAA" }, { expires_at: 1 }]);
    expect(last).toMatchObject(usage);
    expect((await lastCall()).charged_nanodollars).toBe(price);
  });

  test("without a report costs the sound that came and went", async () => {
    const second = "A".repeat(64_000);
    const message = { role: "assistant", content: null, audio: { ...sound, data: second } };
    upstream.answer("openai", reply({ choices: [{ index: 0, message, finish_reason: "stop" }] }));
    await client.chat.completions.create({ model, messages, modalities: ["text", "audio"], audio });
    expect(await lastCall()).toMatchObject({
      audio_input_tokens: 20,
      output_tokens: 1,
      audio_output_tokens: 20,
      usage_source: "estimated",
    });
  });

  test("is held for by the tokens of its earlier answers, which it names", async () => {
    upstream.answer("openai", reply());
    const earlier = [...messages, { role: "assistant" as const, audio: { id: "audio_1" } }, ...messages];
    await client.chat.completions.create({ model, messages: earlier, max_tokens: 100 });
    expect((await lastCall()).hold_nanodollars).toBeGreaterThan(16_384 * 32_000);
  });

  test("of a model without a price of sound leaves it out", async () => {
    upstream.answer("openai", reply());
    await client.chat.completions.create({
      model: "famA-4o-mini",
      messages: [{ role: "user", content: "Hi" }],
      modalities: ["text", "audio"],
      audio,
    });
    expect(Object.keys(upstream.seen.at(-1)?.json as object)).not.toContain("audio");
  });
});
