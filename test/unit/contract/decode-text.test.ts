import { expect, test } from "bun:test";
import { decodeText } from "../../../src/contract/index.ts";

const text = '{ "name": "Ada ä 日本 😀" }\r\n';

/** The bytes of a text as UTF-16, in the order of the mark that begins it. */
function toUtf16(text: string, isLittle: boolean): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(text.length * 2));
  for (let at = 0; at < text.length; at += 1) bytes.setUint16(at * 2, text.charCodeAt(at), isLittle);
  return new Uint8Array(bytes.buffer);
}

test.each([
  ["UTF-8", Buffer.from(text)],
  ["UTF-8 with a mark", Buffer.from(`\ufeff${text}`)],
  ["UTF-16 of PowerShell", toUtf16(`\ufeff${text}`, true)],
  ["UTF-16 in the other order", toUtf16(`\ufeff${text}`, false)],
])("a file in %s has the same text", (_, bytes) => expect(decodeText(bytes)).toBe(text));

test("an empty file, and one byte, are text", () => {
  expect(decodeText(new Uint8Array())).toBe("");
  expect(decodeText(Buffer.from("a"))).toBe("a");
});
