import { expect, test } from "bun:test";
import { readMedia } from "../../../src/lib/data-url.ts";

const types = ["image/jpeg", "audio/mp3"];

test.each([
  ["data:image/jpeg;base64,AAAA", "image/jpeg"],
  ["data:image/jpg;base64,AAAA", "image/jpeg"],
  ["data:audio/mpeg;base64,AAAA", "audio/mp3"],
])("readMedia reads %s as %s", (source, mediaType) => {
  expect(readMedia(source, types, "p")).toEqual({ mediaType, base64: "AAAA" });
});

test("readMedia reads what was fetched", () => {
  const fetched = { mediaType: "image/jpeg", base64: "AAAA" };
  expect(readMedia(fetched, types, "p")).toEqual(fetched);
});

test.each([
  ["data:image/gif;base64,AAAA", "expected one of image/jpeg, audio/mp3"],
  ["https://example.com/a.jpg", "expected an https or a data URL"],
  ["data:image/jpeg;base64,", "no data"],
])("readMedia refuses %s", (source, words) => {
  expect(() => readMedia(source, types, "p")).toThrow(words);
  expect(() => readMedia(source, types, "p")).toThrow(expect.objectContaining({ code: "invalid_request", param: "p" }));
});
