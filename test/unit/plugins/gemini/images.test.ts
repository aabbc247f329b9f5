import { describe, expect, test } from "bun:test";
import type { RequestOf } from "modelgate/plugin";
import gemini from "../../../../plugins/gemini/index.ts";
import { fromImageAnswer, toImageBody, toImageConfig } from "../../../../src/protocols/generate-content/images.ts";
import type { GeneratePart } from "../../../../src/protocols/generate-content/schema.ts";
import { fakeCall } from "../../sdk/fake-call.ts";
import { sent } from "./golden.ts";
import { modelAt } from "./support.ts";

const table: [RequestOf<"images">["size"], RequestOf<"images">["quality"], object][] = [
  [undefined, undefined, { aspectRatio: "1:1", imageSize: "1K" }],
  ["1024x1024", "standard", { aspectRatio: "1:1", imageSize: "1K" }],
  ["512x512", undefined, { aspectRatio: "1:1", imageSize: "1K" }],
  ["1024x1024", "hd", { aspectRatio: "1:1", imageSize: "2K" }],
  ["1792x1024", undefined, { aspectRatio: "16:9", imageSize: "1K" }],
  ["1024x1792", undefined, { aspectRatio: "9:16", imageSize: "1K" }],
  ["1536x1024", undefined, { aspectRatio: "3:2", imageSize: "1K" }],
  ["1024x1280", undefined, { aspectRatio: "4:5", imageSize: "1K" }],
  ["2048x2048", "standard", { aspectRatio: "1:1", imageSize: "2K" }],
  ["2048x2048", "hd", { aspectRatio: "1:1", imageSize: "2K" }],
  ["4096x4096", undefined, { aspectRatio: "1:1", imageSize: "4K" }],
  ["99999x10", undefined, { aspectRatio: "21:9", imageSize: "1K" }],
  ["auto", undefined, { imageSize: "1K" }],
  ["auto", "hd", { imageSize: "2K" }],
  ["auto", "xhigh", { imageSize: "2K" }],
  ["1024x1024", "max", { aspectRatio: "1:1", imageSize: "2K" }],
];

test.each(table)("size %p and quality %p become %j", (size, quality, expected) => {
  expect(sent(toImageConfig(size, quality))).toEqual(expected);
});

test.each<[object, string[]]>([
  [{ size: "512x512" }, ["size"]],
  [{ size: "1024x1024", quality: "hd", n: 2, response_format: "url", style: null }, []],
  [{ size: "auto" }, []],
  [
    { background: "opaque", moderation: "low", style: "vivid", user: "me" },
    ["background", "moderation", "style", "user"],
  ],
  [
    { output_format: "jpeg", output_compression: 50, partial_images: 1 },
    ["output_format", "output_compression", "partial_images"],
  ],
])("of the request %j is told what is not kept to", (request, fields) => {
  const ignored: string[] = [];
  const warn = (_: string, names: string | readonly string[] = []) => void ignored.push(...[names].flat());
  toImageBody({ model: "m", prompt: "A cat", ...request }, modelAt("gemini-3-pro-image-preview"), warn);
  expect(ignored).toEqual(fields);
});

describe("an image answer", () => {
  const answer = (parts: GeneratePart[], finishReason = "STOP") => ({
    candidates: [{ content: { parts }, finishReason }],
  });
  const picture = (data: string, mimeType = "image/png") => ({ inlineData: { mimeType, data } });

  test("gives the picture and skips words and drafts", () => {
    const parts = [{ text: "Here" }, { ...picture("ZHJhZnQ="), thought: true }, picture("ZmluYWw=", "image/jpeg")];
    const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 1290, totalTokenCount: 1295 };
    expect(fromImageAnswer({ ...answer(parts), usageMetadata })).toEqual({
      images: [{ data: "ZmluYWw=", mediaType: "image/jpeg" }],
      usage: { input_tokens: 5, output_tokens: 1290, total_tokens: 1295 },
    });
  });

  test("tells thoughts and words apart from the picture", () => {
    const usageMetadata = {
      promptTokenCount: 14,
      candidatesTokenCount: 1283,
      thoughtsTokenCount: 174,
      totalTokenCount: 1471,
      candidatesTokensDetails: [{ modality: "TEXT", tokenCount: 163 }, null, { modality: "IMAGE", tokenCount: 1120 }],
    };
    expect(fromImageAnswer({ ...answer([picture("AAAA")]), usageMetadata }).usage).toEqual({
      input_tokens: 14,
      output_tokens: 1457,
      total_tokens: 1471,
      output_tokens_details: { reasoning_tokens: 174, image_tokens: 1120 },
    });
  });

  test.each([
    ["nothing", answer([]), "no image"],
    ["no image", answer([], "NO_IMAGE"), "NO_IMAGE"],
    ["a file of another kind", answer([picture("AAAA", "video/mp4")]), "no image"],
  ])("of %s is a fault that says so", (_, body, words) => {
    expect(() => fromImageAnswer(body)).toThrow(words);
    expect(() => fromImageAnswer(body)).toThrow(expect.objectContaining({ kind: "bad_response" }));
  });

  test("of words only is the caller's to change, and the words are not given out: asking once more would answer the same", () => {
    expect(() => fromImageAnswer(answer([{ text: "I drew nothing " }]))).toThrow(
      expect.objectContaining({
        message: "The model returned text and no image: ask for an image",
        code: "invalid_request",
        param: "prompt",
        publicCode: "content_policy_violation",
      }),
    );
  });

  test.each([
    ["a blocked prompt", { promptFeedback: { blockReason: "SAFETY" } }],
    ["a blocked picture", answer([], "IMAGE_SAFETY")],
  ])("of %s is the caller's to mend", (_, body) => {
    const refusal = { code: "invalid_request", param: "prompt", publicCode: "content_policy_violation" };
    expect(() => fromImageAnswer(body)).toThrow(expect.objectContaining(refusal));
  });

  test("comes from one request a picture", async () => {
    const request = { model: "m", prompt: "A cat", size: "1024x1024" };
    const { call, asked } = fakeCall(
      request,
      { json: answer([picture("ZmluYWw=")]) },
      modelAt("gemini-3-pro-image-preview"),
    );
    expect(await gemini.handlers.images?.(call)).toEqual({
      images: [{ data: "ZmluYWw=", mediaType: "image/png" }],
      usage: undefined,
    });
    expect(asked.map(({ path }) => path)).toEqual(["/models/gemini-3-pro-image-preview:generateContent"]);
  });
});

test.each<[object, readonly string[], object]>([
  [{ size: "4096x4096" }, ["1K"], { taken: "1K", ignored: ["size"] }],
  [{ size: "1024x1024", quality: "hd" }, ["1K"], { taken: "1K", ignored: ["quality"] }],
  [{ size: "1024x1024", quality: "hd" }, ["1K", "2K"], { taken: "2K", ignored: [] }],
  [{ size: "auto" }, [], { taken: undefined, ignored: [] }],
])("of the request %j to a model whose price covers %j comes %j", (request, sold, expected) => {
  const ignored: string[] = [];
  const warn = (_: string, names: string | readonly string[] = []) => void ignored.push(...[names].flat());
  const model = { ...modelAt("gemini-3-pro-image-preview"), options: { imageSizes: sold } };
  const body = toImageBody({ model: "m", prompt: "A cat", ...request }, model, warn);
  const config = body.generationConfig?.imageConfig as { imageSize?: string } | undefined;
  expect<object>({ taken: config?.imageSize, ignored }).toEqual(expected);
});
