import { expect, test } from "bun:test";
import { readMedia } from "../../../src/lib/data-url.ts";
import { detectMediaType } from "../../../src/lib/media-type.ts";

const types = ["image/jpeg", "audio/mp3"];

test.each([
  ["data:image/jpeg;base64,AAAA", "image/jpeg"],
  ["data:image/jpg;base64,AAAA", "image/jpeg"],
  ["data:image/pjpeg;base64,AAAA", "image/jpeg"],
  ["data:audio/mpeg;base64,AAAA", "audio/mp3"],
])("readMedia reads %s as %s", (source, mediaType) => {
  expect(readMedia(source, types, "p")).toEqual({ mediaType, base64: "AAAA" });
});

test.each([
  ["image/png", "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", "\xff\xd8\xff\xe0\0\x10JFIF\0"],
  ["image/gif", "GIF89a"],
  ["image/webp", "RIFF\n\0\0\0WEBPVP8 "],
  ["image/heic", "\0\0\0\x18ftypheic\0"],
  ["application/pdf", "%PDF-1.7\n"],
  ["audio/wav", "RIFF\n\0\0\0WAVEfmt "],
  ["audio/aiff", "FORM\n\0\0\0AIFFCOMM"],
  ["audio/flac", "fLaC\0"],
  ["audio/ogg", "OggS\0"],
])("the first bytes of %s decide the type, whatever the label says", (mediaType, start) => {
  const bytes = Buffer.from(start, "latin1");
  const base64 = bytes.toString("base64");
  const other = mediaType === "image/png" ? "image/jpeg" : "image/png";
  for (const label of [other, "image/jpg", "application/octet-stream"]) {
    expect(readMedia(`data:${label};base64,${base64}`, [mediaType], "p")).toEqual({ mediaType, base64 });
    expect(() => readMedia({ mediaType: label, base64 }, [other], "p")).toThrow(mediaType);
  }
  expect(detectMediaType(bytes)).toBe(mediaType);
  expect(detectMediaType(bytes.subarray(1))).toBeUndefined();
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
