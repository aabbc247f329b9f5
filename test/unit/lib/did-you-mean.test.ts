import { expect, test } from "bun:test";
import { didYouMean, suggestName } from "../../../src/lib/did-you-mean.ts";

const words = ["account create", "account list", "key create", "wallet credit", "models"];

test.each([
  ["acount create", "account create"],
  ["account crate", "account create"],
  ["acconut list", "account list"],
  ["model", "models"],
  ["MODELS", "models"],
  ["walet credit", "wallet credit"],
  ["wibble", undefined],
  ["", undefined],
])("nearest takes %p for %p", (written, expected) => {
  expect(didYouMean(written, words)).toBe(expected as string);
});

/** The distance by its definition, for short words. */
function distanceOf(a: string, b: string): number {
  if (a === "" || b === "") return a.length + b.length;
  const [restA, restB] = [a.slice(1), b.slice(1)];
  if (a[0] === b[0]) return distanceOf(restA, restB);
  const isSwapped = a.length > 1 && b.length > 1 && a[0] === b[1] && a[1] === b[0];
  return (
    1 +
    Math.min(
      distanceOf(restA, b),
      distanceOf(a, restB),
      distanceOf(restA, restB),
      ...(isSwapped ? [distanceOf(a.slice(2), b.slice(2))] : []),
    )
  );
}

test("the nearest word is the one whose distance is least, and near enough, whatever was skipped as too far", () => {
  const letters = "abc";
  const wordOf = (seed: number, length: number) =>
    Array.from({ length }, (_, i) => letters[Math.floor(seed / 3 ** i) % 3]).join("");
  const bad: unknown[] = [];
  for (let seed = 0; seed < 300; seed++) {
    const word = wordOf(seed * 7919, 1 + (seed % 6));
    const candidates = Array.from({ length: 8 }, (_, i) => wordOf(seed * 31 + i * 104_729, 1 + ((seed + i * 5) % 7)));
    const near = candidates
      .map((candidate) => ({ candidate, distance: distanceOf(word, candidate) }))
      .filter(
        ({ candidate, distance }) => distance <= Math.max(2, Math.ceil(Math.max(word.length, candidate.length) / 3)),
      );
    const least = Math.min(...near.map(({ distance }) => distance));
    const expected = near.find(({ distance }) => distance === least)?.candidate;
    const found = didYouMean(word, candidates);
    if (found !== expected) bad.push({ word, candidates, expected, found });
  }
  expect(bad).toEqual([]);
});

test("nearest of no candidates is none", () => {
  expect(didYouMean("models", [])).toBeUndefined();
});

test("an unknown word is answered with what was meant, all there are, or some of many", () => {
  expect(suggestName("model", words)).toBe(", did you mean models?");
  expect(suggestName("wibble", words)).toBe(`; known are ${words.join(", ")}`);
  const many = Array.from({ length: 300 }, (_, index) => `name-${index}`);
  expect(suggestName("wibble", many)).toBe(`; known are ${many.slice(0, 8).join(", ")} and 292 others`);
});
