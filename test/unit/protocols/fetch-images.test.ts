import { expect, test } from "bun:test";
import { fetchImages } from "../../../src/protocols/multimodal.ts";
import type { Message } from "../../../src/provider/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { fakeCall } from "../sdk/fake-call.ts";

const messageOf = (...urls: string[]): Message => ({
  role: "user",
  content: urls.map((url) => ({ type: "image_url", image_url: { url } })),
});
const bytes = new Uint8Array([1, 2, 3]);

test("fetchImages fetches each address once and leaves data URLs alone", async () => {
  const { call, asked } = fakeCall({}, { download: { bytes, mediaType: "image/png" } });
  const messages = [
    messageOf("https://example.com/a", "DATA:image/png;base64,AAAA"),
    messageOf("https://example.com/a"),
  ];
  const fetched = await fetchImages([...messages, { role: "user", content: "text" }], call.upstream);
  expect([...fetched]).toEqual([["https://example.com/a", { mediaType: "image/png", base64: "AQID" }]]);
  expect(asked).toHaveLength(1);
});

test("fetchImages takes sixteen pictures and refuses the next", async () => {
  const urls = Array.from({ length: 17 }, (_, index) => `https://example.com/${index}`);
  const { call, asked } = fakeCall({}, { download: { bytes, mediaType: "image/png" } });
  expect((await fetchImages([messageOf(...urls.slice(1))], call.upstream)).size).toBe(16);
  const param = "messages[0].content[16].image_url.url";
  expect(await errorOf(fetchImages([messageOf(...urls)], call.upstream))).toMatchObject({
    code: "invalid_request",
    param,
  });
  expect(asked).toHaveLength(16);
});
