import { describe, expect, test } from "bun:test";
import { inflateSync } from "node:zlib";
import { readWav, wavMs } from "../../../../src/lib/wav.ts";
import type { AnswerStream, GeneratedImages, ImageStream, Model } from "../../../../src/provider/index.ts";
import { drain } from "../../sdk/fake-call.ts";
import { box, boxCall } from "./sandbox-call.ts";

async function vectorsOf(input: string | string[], dimensions?: number, row: Partial<Model> = {}) {
  const answer = await box.handlers.embeddings?.(
    boxCall("embeddings", { input, ...(dimensions && { dimensions }) }, row),
  );
  return { vectors: (answer?.vectors ?? []) as number[][], usage: answer?.usage };
}

const dot = (a: number[] = [], b: number[] = []) => a.reduce((sum, value, at) => sum + value * (b[at] as number), 0);

const draw = async (request: object) =>
  (await box.handlers.images?.(boxCall("images", request as { prompt: string }))) as GeneratedImages;

describe("embeddings", () => {
  test("are unit vectors of the dimensions asked for, always the same", async () => {
    const { vectors, usage } = await vectorsOf(["A cat sat", "…", ""], 768);
    for (const vector of vectors) expect([vector.length, dot(vector, vector)]).toEqual([768, expect.closeTo(1, 9)]);
    expect(vectors).toEqual((await vectorsOf(["A cat sat", "…", ""], 768)).vectors);
    expect(usage).toEqual({ prompt_tokens: 5 });
  });

  test("have the model's own dimensions when none are asked for", async () => {
    const row = { dimensions: { default: 3072, min: 128, max: 3072 } };
    expect((await vectorsOf("a", undefined, row)).vectors[0]).toHaveLength(3072);
    expect((await vectorsOf("a")).vectors[0]).toHaveLength(1536);
  });

  test("are near for texts that share words", async () => {
    const { vectors } = await vectorsOf(["a cat sat here", "a cat stood here", "rockets fly"]);
    expect(dot(vectors[0], vectors[1])).toBeGreaterThan(0.5);
    expect(dot(vectors[0], vectors[2])).toBeLessThan(0.3);
  });
});

interface Png {
  width: number;
  height: number;
  pixels: Uint8Array;
  text: string;
}

function readPng(bytes: Uint8Array): Png {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  expect(view.getBigUint64(0)).toBe(0x89504e470d0a1a0an);
  const chunks: Record<string, Uint8Array> = {};
  for (let at = 8; at < bytes.length; ) {
    const length = view.getUint32(at);
    chunks[new TextDecoder().decode(bytes.subarray(at + 4, at + 8))] = bytes.subarray(at + 8, at + 8 + length);
    at += 12 + length;
  }
  const { IHDR, IDAT, tEXt, IEND } = chunks as Record<string, Uint8Array<ArrayBuffer>>;
  expect(IEND).toHaveLength(0);
  const header = new DataView(IHDR?.slice().buffer as ArrayBuffer);
  return {
    width: header.getUint32(0),
    height: header.getUint32(4),
    pixels: inflateSync(IDAT as Uint8Array<ArrayBuffer>),
    text: new TextDecoder().decode(tEXt),
  };
}

describe("images", () => {
  test.each([
    ["512x256", 512, 256],
    ["16x16", 16, 16],
    ["99999x10", 2048, 10],
    ["auto", 1024, 1024],
    [undefined, 1024, 1024],
  ])("of size %p are PNG files of it", async (size, width, height) => {
    const answer = await draw({ prompt: "a cat", ...(size && { size }) });
    expect(answer.images).toMatchObject([{ mediaType: "image/png", revisedPrompt: "[sandbox] a cat" }]);
    const png = readPng(answer.images[0]?.data as Uint8Array);
    expect([png.width, png.height, png.pixels.length]).toEqual([width, height, (width + 1) * height]);
    expect(png.text).toContain("Simulated by the sandbox");
  });

  test("are as many as asked for, each its own, always the same", async () => {
    const make = async () => (await draw({ prompt: "a", n: 3, size: "64x64" })).images;
    const images = await make();
    expect(new Set(images.map(({ data }) => (data as Uint8Array).toString())).size).toBe(3);
    expect(images).toEqual(await make());
  });
});

describe("an edited image", () => {
  test("is drawn like a generated one, and after as many unfinished ones as are asked for", async () => {
    const image = new File([Uint8Array.of(1)], "a.png", { type: "image/png" });
    const request = { prompt: "a cat", size: "64x64", images: [image], partial_images: 2 };
    const answer = await box.handlers.imageEdits?.(boxCall("images", request));
    const { items } = await drain(answer as ImageStream);
    expect(items.map((item) => ("images" in item ? "all" : item.index))).toEqual([0, 1, "all"]);
  });
});

describe("speech", () => {
  const speech = async (request: object, row: Partial<Model> = {}) => {
    const speech = await box.handlers.speech?.(boxCall("speech", { input: "x".repeat(50), ...request }, row));
    const { items } = await drain(speech?.audio as AnswerStream<Uint8Array<ArrayBuffer>>);
    return Uint8Array.from(items.flatMap((chunk) => [...chunk]));
  };

  test("is WAV as long as its text", async () => {
    expect(wavMs(await speech({}))).toBe(3000);
    expect(wavMs(await speech({ pace: 2 }))).toBe(1500);
    expect(wavMs(await speech({ speed: 0.5 }))).toBe(6000);
    expect(wavMs(await speech({ input: "x".repeat(5000), speech_sample_rate: 8000 }))).toBe(60_000);
  });

  test.each<[object, Partial<Model>, number]>([
    [{}, {}, 24_000],
    [{ speech_sample_rate: 8000 }, {}, 8000],
    [{}, { sampleRates: [22_050, 8000] }, 22_050],
  ])("of %p has its sample rate", async (request, row, sampleRate) => {
    expect(readWav(await speech(request, row))).toMatchObject({ sampleRate, channels: 1, bitsPerSample: 16 });
  });

  test("sounds different for another voice", async () => {
    expect(await speech({ voice: "a" })).not.toEqual(await speech({ voice: "b" }));
  });
});

describe("transcripts", () => {
  test("tell of the file", async () => {
    const file = new File([new Uint8Array(32_000)], "talk.wav");
    const transcript = await box.handlers.transcription?.(boxCall("transcription", { file }));
    expect(transcript).toMatchObject({
      text: "[sandbox] Transcript of talk.wav, 32000 bytes",
      language: "en",
      duration: 2,
    });
    expect(transcript?.segments).toMatchObject([{ start: 0, end: 2, text: transcript?.text }]);
    expect(transcript?.words?.map(({ word }) => word).join(" ")).toBe(transcript?.text as string);
  });

  test("last as long as the file does", async () => {
    const file = new File([], "talk.wav");
    const transcript = await box.handlers.transcription?.(
      boxCall("transcription", { file, audioMs: 1500, language: "hi" }),
    );
    expect(transcript).toMatchObject({ language: "hi", duration: 1.5 });
  });
});
