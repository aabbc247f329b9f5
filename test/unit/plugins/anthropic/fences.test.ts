import { expect, test } from "bun:test";
import fc from "fast-check";
import { FenceStripper } from "../../../../src/protocols/messages/provider-stream.ts";

function strip(...pieces: string[]): string {
  const fences = new FenceStripper();
  return pieces.map((piece) => fences.push(piece)).join("") + fences.flush();
}

const long = "word ".repeat(200);

test.each([
  ['{"a":1}', '{"a":1}'],
  ['```json\n{"a":1}\n```', '{"a":1}'],
  ["```\n[1]\n```\n\n", "[1]"],
  ["```json {}```", "{}"],
  ["Here:\n```json\n{}\n```\nAnything else? ```", "{}"],
  ['```json\n{"a":"```"}\n```', '{"a":"```"}'],
  ["```json\n{}", "{}"],
  ["{}\n```\n", "{}\n```\n"],
  ["No.", "No."],
  ["```", "```"],
  ["", ""],
  [`${long}\`\`\`{}`, `${long}\`\`\`{}`],
])("makes of %j %j", (text, bare) => {
  expect(strip(text)).toBe(bare);
  expect(strip(...text)).toBe(bare);
});

test("the pieces give the same as the whole, wherever they are cut", () => {
  const bit = fc.constantFrom("`", "```", "\n", " ", "{", "}", "[1]", "json", '"', long);
  fc.assert(
    fc.property(fc.array(bit), (pieces) => {
      expect(strip(...pieces)).toBe(strip(pieces.join("")));
    }),
    { numRuns: 2000, seed: 13 },
  );
});
