import { describe, expect, test } from "bun:test";
import { readEscapes, replaceTexts, toSourceSpan } from "../../../src/lib/escapes.ts";

const secret = 'pass "wörd"/1\\x';
const json = (value: unknown) => JSON.stringify(value);

describe("a text that is to be hidden", () => {
  test("is found however it is escaped, and nothing around it changes", () => {
    const writings: Readonly<Record<string, string>> = {
      clear: secret,
      json: json(secret).slice(1, -1),
      "json in json": json(json(secret)).slice(1, -1).slice(2, -2),
      "json in json in json": json(json(json(secret)))
        .slice(1, -1)
        .slice(2, -2)
        .slice(4, -4),
      "json with escaped solidus": json(secret).slice(1, -1).replaceAll("/", "\\/"),
      "json of ASCII": json(secret).slice(1, -1).replaceAll("ö", "\\u00F6"),
      "code points of JavaScript": json(secret).slice(1, -1).replaceAll("ö", "\\u{f6}").replaceAll("p", "\\x70"),
      html: secret.replaceAll('"', "&quot;").replaceAll("/", "&#47;").replaceAll("ö", "&#xF6;"),
      "address in small letters": [...secret]
        .map((one) => (one === "ö" ? "ö" : encodeURIComponent(one).toLowerCase()))
        .join(""),
      "colours of a terminal": `${secret.slice(0, 4)}\u001b[1;31m${secret.slice(4)}`,
    };
    const wrong = Object.entries(writings).flatMap(([name, written]) => {
      const hidden = replaceTexts(`{"a\\n": "${written}", "%41b": 1}`, [secret], "[hidden]");
      return hidden === '{"a\\n": "[hidden]", "%41b": 1}' ? [] : [`${name}: ${hidden}`];
    });
    expect(wrong).toEqual([]);
  });

  test("leaves nothing where one contains another, and an empty one is nowhere", () => {
    expect(replaceTexts("abc ab abcd", ["ab", "abcd", "", "abc"], "*")).toBe("* * *");
  });
});

describe("the readings of a text", () => {
  test("end where there is no escape left, and after a number of levels", () => {
    expect(readEscapes("plain").map(({ text }) => text)).toEqual(["plain"]);
    expect(readEscapes("C:\\dir 100% a&b \\q %zz").map(({ text }) => text)).toHaveLength(1);
    expect(readEscapes(String.raw`a\\\\nb`).map(({ text }) => text)).toEqual([
      String.raw`a\\\\nb`,
      String.raw`a\\nb`,
      String.raw`a\nb`,
      "a\nb",
    ]);
    expect(readEscapes("%".padEnd(4000, "25")).length).toBeLessThanOrEqual(6);
  });

  test("lead back to the text with whole escapes", () => {
    const text = String.raw`x=\"a\\u0062%63\"`;
    const readings = readEscapes(text);
    const depth = readings.findIndex((reading) => reading.text.includes("abc"));
    const start = (readings[depth]?.text ?? "").indexOf("abc");
    const span = toSourceSpan(readings, depth, { start, end: start + 3 });
    expect(text.slice(span.start, span.end)).toBe(String.raw`a\\u0062%63`);
  });
});
