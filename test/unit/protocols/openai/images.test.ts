import { describe, expect, test } from "bun:test";
import { image as options } from "../../../../plugins/openai/options.ts";
import { openai } from "../../../../src/sdk/openai.ts";
import { errorOf } from "../../../support/error-of.ts";
import { recordingAt, recordingsMissing } from "../../../support/recordings.ts";
import { fakeCall } from "../../sdk/fake-call.ts";

const request = { model: "acme-1", prompt: "a cat", quality: "hd" as const, response_format: "url" as const, n: 2 };
const png = "iVBORw0KGgo=";

describe("image", () => {
  test("asks for base64 whatever the client wants, and passes it on", async () => {
    const { call, asked } = fakeCall(request, { json: { data: [{ b64_json: png, revised_prompt: "The cat" }] } });
    const result = await openai({ images: {} }).images?.(call);
    expect(asked[0]).toEqual({
      method: "json",
      path: "/images/generations",
      body: { model: "acme-one", prompt: "a cat", quality: "hd", n: 2, response_format: "b64_json" },
    });
    expect(result).toEqual({ images: [{ data: png, mediaType: "image/png", revisedPrompt: "The cat" }] });
  });

  test("asks in OpenAI's own words of today", async () => {
    const { call, asked } = fakeCall(request, { json: { data: [{ b64_json: png }] } });
    await openai({ images: options }).images?.(call);
    expect(asked[0]?.body).toEqual({ model: "acme-one", prompt: "a cat", quality: "high", n: 2 });
  });

  test("fetches an address", async () => {
    const bytes = Uint8Array.of(1, 2);
    const download = (url: string) => ({ bytes, mediaType: url.endsWith("jpg") ? "image/jpeg" : "" });
    const { call, asked } = fakeCall(request, { json: { data: [{ url: "https://x.example/a.jpg" }] }, download });
    const result = await openai({ images: {} }).images?.(call);
    expect(asked[1]).toMatchObject({ method: "download", path: "https://x.example/a.jpg" });
    expect(result?.images).toEqual([{ data: bytes, mediaType: "image/jpeg" }]);
  });

  test.each([
    ["/9j/4AAQ", {}, "image/jpeg"],
    ["UklGRhoA", {}, "image/webp"],
    ["Qk0=", { output_format: "webp" }, "image/webp"],
    ["Qk0=", {}, "image/png"],
  ])("knows the kind of %s beside %p", async (data, rest, mediaType) => {
    const { call } = fakeCall(request, { json: { data: [{ b64_json: data }], ...rest } });
    expect((await openai({ images: {} }).images?.(call))?.images[0]?.mediaType).toBe(mediaType);
  });

  test("reads a data URL without fetching", async () => {
    const { call } = fakeCall(request, { json: { data: [{ url: "data:image/webp;base64,AAAA" }] } });
    expect((await openai({ images: {} }).images?.(call))?.images).toEqual([{ data: "AAAA", mediaType: "image/webp" }]);
  });

  test.each([
    ["no pictures", { data: [] }],
    ["an error", { error: { message: "No" } }],
    ["a picture in no form", { data: [{}] }],
    ["what is not a picture", { data: [7] }],
  ])("refuses an answer with %s", async (_, answer) => {
    const { call } = fakeCall(request, { json: answer });
    const refusal = expect.objectContaining({ name: "UpstreamFault", kind: "bad_response" });
    expect(await errorOf(openai({ images: {} }).images?.(call))).toEqual(refusal);
  });

  test.skipIf(recordingsMissing !== undefined).each([
    ["openai/images/gpt-image-1-b64.json", 0],
    ["openai/images/dall-e-2-url.json", 1],
    ["openai/images/gpt-image-1-mini-url-response.json", 1],
  ])("reads %s", async (path, downloads) => {
    const json = JSON.parse(new TextDecoder().decode(recordingAt(path).body));
    const { call, asked } = fakeCall(request, { json, download: { bytes: Uint8Array.of(1), mediaType: "image/png" } });
    expect((await openai({ images: {} }).images?.(call))?.images).toHaveLength(1);
    expect(asked.filter(({ method }) => method === "download")).toHaveLength(downloads);
  });
});
