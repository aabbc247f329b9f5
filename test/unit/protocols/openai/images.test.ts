import { describe, expect, test } from "bun:test";
import { image as options } from "../../../../plugins/openai/options.ts";
import type {
  Call,
  GeneratedImages,
  ImageEditsRequest,
  ImageStream,
  ImagesRequest,
} from "../../../../src/provider/index.ts";
import { openai } from "../../../../src/sdk/openai.ts";
import { errorOf } from "../../../support/error-of.ts";
import { recordingAt, recordingsMissing } from "../../../support/recordings.ts";
import { drain, fakeCall } from "../../sdk/fake-call.ts";

const request = { model: "acme-1", prompt: "a cat", quality: "hd" as const, response_format: "url" as const, n: 2 };
const png = "iVBORw0KGgo=";

const draw = async (call: Call<ImagesRequest>) => (await openai({ images: {} }).images?.(call)) as GeneratedImages;

describe("image", () => {
  test("asks for base64 whatever the client wants, and passes it on", async () => {
    const { call, asked } = fakeCall(request, { json: { data: [{ b64_json: png, revised_prompt: "The cat" }] } });
    const result = await draw(call);
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
    const result = await draw(call);
    expect(asked[1]).toMatchObject({ method: "download", path: "https://x.example/a.jpg" });
    expect(result.images).toEqual([{ data: bytes, mediaType: "image/jpeg" }]);
  });

  test.each([
    ["/9j/4AAQ", {}, "image/jpeg"],
    ["UklGRhoAAABXRUJQ", {}, "image/webp"],
    ["Qk0=", { output_format: "webp" }, "image/webp"],
    ["Qk0=", {}, "image/png"],
  ])("knows the kind of %s beside %p", async (data, rest, mediaType) => {
    const { call } = fakeCall(request, { json: { data: [{ b64_json: data }], ...rest } });
    expect((await draw(call)).images[0]?.mediaType).toBe(mediaType);
  });

  test("reads a data URL without fetching", async () => {
    const { call } = fakeCall(request, { json: { data: [{ url: "data:image/webp;base64,AAAA" }] } });
    expect((await draw(call)).images).toEqual([{ data: "AAAA", mediaType: "image/webp" }]);
  });

  test.each([
    ["no pictures", { data: [] }],
    ["an error", { error: { message: "No" } }],
    ["a picture in no form", { data: [{}] }],
    ["what is not a picture", { data: [7] }],
  ])("refuses an answer with %s", async (_, answer) => {
    const { call } = fakeCall(request, { json: answer });
    const refusal = expect.objectContaining({ name: "UpstreamError", kind: "bad_response" });
    expect(await errorOf(openai({ images: {} }).images?.(call))).toEqual(refusal);
  });

  test.skipIf(recordingsMissing !== undefined).each([
    ["openai/images/gpt-image-1-b64.json", 0],
    ["openai/images/dall-e-2-url.json", 1],
    ["openai/images/gpt-image-1-mini-url-response.json", 1],
  ])("reads %s", async (path, downloads) => {
    const json = JSON.parse(new TextDecoder().decode(recordingAt(path).body));
    const { call, asked } = fakeCall(request, { json, download: { bytes: Uint8Array.of(1), mediaType: "image/png" } });
    expect((await draw(call)).images).toHaveLength(1);
    expect(asked.filter(({ method }) => method === "download")).toHaveLength(downloads);
  });
});

const original = new File([Uint8Array.of(1, 2)], "a.png", { type: "image/png" });
const event = (type: string, more: object) => ({ event: type, data: JSON.stringify({ type, ...more }) });

describe("an image edit", () => {
  const edit = { model: "acme-1", prompt: "a hat", images: [original], n: 1, quality: "hd" };

  test("is sent as a form of the files and fields", async () => {
    const { call, asked } = fakeCall({ ...edit, mask: original } as ImageEditsRequest, {
      form: { data: [{ b64_json: "AAAA" }] },
    });
    const options = { omit: ["response_format"], values: { quality: { hd: "high" } } };
    await openai({ imageEdits: options }).imageEdits?.(call);
    expect(asked[0]).toMatchObject({ method: "form", path: "/images/edits" });
    const form = asked[0]?.form as FormData;
    expect([...form.keys()].sort()).toEqual(["image", "mask", "model", "n", "prompt", "quality"]);
    expect([form.get("model"), form.get("quality"), form.get("n")]).toEqual(["acme-one", "high", "1"]);
  });

  test("of several images names each as OpenAI does", async () => {
    const { call, asked } = fakeCall({ ...edit, images: [original, original] } as ImageEditsRequest, {
      form: { data: [{ b64_json: "AAAA" }] },
    });
    await openai({ imageEdits: {} }).imageEdits?.(call);
    expect(asked[0]?.form?.getAll("image[]")).toHaveLength(2);
  });

  test("is sent as data URLs to a provider that wants JSON", async () => {
    const { call, asked } = fakeCall(edit as ImageEditsRequest, { json: { data: [{ b64_json: "AAAA" }] } });
    await openai({ imageEdits: { imagesAs: "urls", omit: ["quality", "n"] } }).imageEdits?.(call);
    const image = { type: "image_url", url: "data:image/png;base64,AQI=" };
    expect(asked[0]?.body).toEqual({ model: "acme-one", prompt: "a hat", response_format: "b64_json", image });
  });

  test("is streamed where unfinished images are asked for", async () => {
    const events = [
      event("image_edit.partial_image", { b64_json: "/9j/AA", partial_image_index: 0 }),
      event("image_edit.completed", { b64_json: "iVBORw", usage: { input_tokens: 1 }, quality: "low" }),
    ];
    const { call, asked } = fakeCall({ ...edit, partial_images: 1 } as ImageEditsRequest, { events });
    const stream = (await openai({ imageEdits: { partialImages: true } }).imageEdits?.(call)) as ImageStream;
    expect((await drain(stream)).items).toEqual([
      { index: 0, data: "/9j/AA", mediaType: "image/jpeg" },
      {
        images: [{ data: "iVBORw", mediaType: "image/png", revisedPrompt: undefined }],
        settings: { quality: "low" },
        usage: { input_tokens: 1 },
      },
    ]);
    expect(asked[0]).toMatchObject({ method: "events", path: "/images/edits" });
    expect(asked[0]?.body).toMatchObject({ stream: true, images: [{ image_url: "data:image/png;base64,AQI=" }] });
  });

  const partial = event("image_edit.partial_image", { b64_json: "AAAA", partial_image_index: 0 });
  const completed = event("image_edit.completed", { b64_json: "AAAA" });
  const done = { event: "message", data: "[DONE]" };

  test.each([
    ["says an error", [partial, { event: "error", data: JSON.stringify({ type: "error", error: { message: "No" } }) }]],
    ["holds no image", [partial, event("image_edit.partial_image", {})]],
    ["ends before the image is finished", [partial]],
    ["says that it is done before the image is finished", [partial, done, completed]],
  ])("whose stream %s fails after the unfinished image", async (_, events) => {
    const { call } = fakeCall({ ...edit, partial_images: 1 } as ImageEditsRequest, { events });
    const stream = (await openai({ imageEdits: { partialImages: true } }).imageEdits?.(call)) as ImageStream;
    const { items, error } = await drain(stream);
    expect(items).toEqual([{ index: 0, data: "AAAA", mediaType: "image/png" }]);
    expect(error).toMatchObject({ name: "UpstreamError", kind: "bad_response" });
  });

  test("is complete with its finished image, whatever follows", async () => {
    const events = [completed, partial, completed];
    const { call } = fakeCall({ ...edit, partial_images: 1 } as ImageEditsRequest, { events });
    const stream = (await openai({ imageEdits: { partialImages: true } }).imageEdits?.(call)) as ImageStream;
    const { items, error } = await drain(stream);
    expect([items.length, error]).toEqual([1, undefined]);
  });
});
