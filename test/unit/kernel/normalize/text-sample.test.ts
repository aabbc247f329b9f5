import { expect, test } from "bun:test";
import { countTokens, TextSample } from "../../../../src/kernel/normalize/tokenizer.ts";

test("a text that is not longer than what is counted is kept whole, however it comes", () => {
  const sample = new TextSample();
  const pieces = Array.from({ length: 3000 }, (_, index) => `${index} `);
  for (const piece of pieces) sample.add(piece);
  expect(sample.text).toBe(pieces.join(""));
  expect(sample.length).toBe(pieces.join("").length);
});

test("a long text is kept in blocks from all of it, so that a sparse beginning does not make a dense end cheap", async () => {
  const sample = new TextSample();
  const [sparse, dense] = [" ".repeat(400_000), "7q".repeat(200_000)];
  for (let at = 0; at < sparse.length; at += 1000) sample.add(sparse.slice(at, at + 1000));
  for (let at = 0; at < dense.length; at += 1000) sample.add(dense.slice(at, at + 1000));
  expect([sample.length, sample.text.length <= 200_000]).toEqual([800_000, true]);
  const share = sample.text.replaceAll(" ", "").length / sample.text.length;
  expect(share).toBeGreaterThan(0.45);
  expect(share).toBeLessThan(0.55);
  // Of the beginning alone it would be a few thousand.
  expect(await countTokens(sample.text, sample.length)).toBeGreaterThan(100_000);
});
