/**
 * The candidate that a mistyped word was most likely meant to be.
 *
 * @returns `undefined` when none is near: more than a third of the letters would have to change.
 */
export function didYouMean(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const distance = measureDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  if (best === undefined) return undefined;
  return bestDistance <= Math.max(2, Math.ceil(Math.max(word.length, best.length) / 3)) ? best : undefined;
}

/** Damerau–Levenshtein: letters left out, added, changed, or two neighbours swapped, each counts one. */
function measureDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(changed, at(last, j) + 1, at(row, j - 1) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        row[j] = Math.min(at(row, j), at(beforeLast, j - 2) + 1);
      }
    }
    [beforeLast, last] = [last, row];
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] as number;
}

/** A longer list is not read to its end: some of it shows what such names look like. */
const listedMax = 60;
const shownMax = 8;

/** Suffix of an error about an unknown name: the closest known name, or else all of them. */
export function suggestName(word: string, names: readonly string[]): string {
  const near = didYouMean(word, names);
  if (near !== undefined) return `, did you mean ${near}?`;
  if (names.length <= listedMax) return `; known are ${names.join(", ")}`;
  return `; known are ${names.slice(0, shownMax).join(", ")} and ${names.length - shownMax} others`;
}
