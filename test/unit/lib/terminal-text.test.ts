import { describe, expect, test } from "bun:test";
import { checkName, GatewayError, isName, toName } from "../../../src/contract/index.ts";
import { toTerminalLine, toTerminalText } from "../../../src/lib/terminal-text.ts";

/** Every character that moves a cursor, changes a title, ends a line or turns the direction of text. */
const hostile = [
  ...Array.from({ length: 0x20 }, (_, code) => code),
  ...Array.from({ length: 0x21 }, (_, place) => 0x7f + place),
  ...[0x061c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069],
].map((code) => String.fromCharCode(code));
const harmless = ["Ada Lovelace", "Größe 7", "日本語", "שלום", "👩‍💻 team", "a\\u001b", "tab-less", "-_./:@"];

describe("text for a terminal", () => {
  test("has no character that the terminal obeys, and none of another's lines", () => {
    const left = hostile.filter((character) => toTerminalLine(`a${character}b`).includes(character));
    expect(left).toEqual([]);
    const inText = hostile.filter((character) => toTerminalText(`a${character}b`).includes(character));
    expect(inText).toEqual(["\t", "\n"]);
    expect(toTerminalLine("a\u001b]0;b\u0007\r\n\u202ec")).toBe("a\\u001b]0;b\\u0007\\u000d\\u000a\\u202ec");
  });

  test("is otherwise what was written, and JSON stays the same value", () => {
    expect(harmless.map(toTerminalText)).toEqual(harmless);
    expect(harmless.map(toTerminalLine)).toEqual(harmless);
    const value = { name: hostile.join("") };
    expect(JSON.parse(toTerminalText(JSON.stringify(value)))).toEqual(value);
  });
});

describe("a name", () => {
  test("is refused for each character that no terminal is shown, and for nothing that people are called", () => {
    const taken = hostile.filter((character) => isName(`a${character}b`));
    expect(taken).toEqual([]);
    expect(harmless.filter((name) => !isName(name))).toEqual([]);
    expect(() => checkName("a\u001b[2J")).toThrow(GatewayError);
    expect(() => checkName("a\u001b[2J")).toThrow("control characters");
  });

  test("of another system becomes one without them, or none", () => {
    expect(hostile.map((character) => toName(`a${character}b`)).filter((name) => name !== "a b")).toEqual([]);
    expect([toName(" \u001b\n "), toName(""), toName("Ada"), toName("x".repeat(300))?.length]).toEqual([
      undefined,
      undefined,
      "Ada",
      200,
    ]);
  });
});
