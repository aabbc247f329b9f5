/**
 * Maximum number of mistyped letters: with more, another name was meant, and each further letter makes a comparison
 * slower.
 */
const lettersMax = 6;

/**
 * The candidate that a mistyped word was most likely meant to be.
 *
 * @returns `undefined` when none is near: more than a third of the letters would have to change, or more than six.
 */
export function didYouMean(word: string, candidates: readonly string[]): string | undefined {
  const written = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const third = Math.ceil(Math.max(word.length, candidate.length) / 3);
    const distanceMax = Math.min(lettersMax, Math.max(2, third));
    // As many letters have to be added or left out as the lengths differ by: most names need no closer look.
    const bound = Math.min(distanceMax, bestDistance - 1);
    if (Math.abs(word.length - candidate.length) > bound) continue;
    const distance = measureDistance(written, candidate.toLowerCase(), bound);
    if (distance <= bound) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/**
 * Damerau–Levenshtein: letters left out, added, changed, or two neighbours swapped, each counts one. Only places that are no
 * further apart than the bound are compared.
 *
 * @param bound A greater distance is not exact.
 */
function measureDistance(a: string, b: string, bound: number): number {
  const far = bound + 1;
  let beforeLast = new Int32Array(b.length + 2);
  let last = new Int32Array(b.length + 2);
  for (let j = 0; j < last.length; j++) last[j] = Math.min(j, far);
  let row = new Int32Array(b.length + 2);
  let lastLeast = 0;
  for (let i = 1; i <= a.length; i++) {
    const [from, to] = [Math.max(1, i - bound), Math.min(b.length, i + bound)];
    row[from - 1] = from === 1 ? i : far;
    let least = at(row, from - 1);
    const [letter, letterBefore] = [a.charCodeAt(i - 1), i > 1 ? a.charCodeAt(i - 2) : -1];
    for (let j = from; j <= to; j++) {
      const other = b.charCodeAt(j - 1);
      let distance = at(last, j - 1) + (letter === other ? 0 : 1);
      if (at(last, j) < distance) distance = at(last, j) + 1;
      if (at(row, j - 1) < distance) distance = at(row, j - 1) + 1;
      const isSwapped = j > 1 && letterBefore === other && letter === b.charCodeAt(j - 2);
      if (isSwapped && at(beforeLast, j - 2) < distance) distance = at(beforeLast, j - 2) + 1;
      row[j] = distance;
      if (distance < least) least = distance;
    }
    row[to + 1] = far;
    // Every later row comes from the last two.
    if (least > bound && lastLeast > bound) return far;
    const spare = beforeLast;
    beforeLast = last;
    last = row;
    row = spare;
    lastLeast = least;
  }
  return at(last, b.length);
}

function at(row: Int32Array, index: number): number {
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
