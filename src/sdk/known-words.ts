import { didYouMean } from "./did-you-mean.ts";

/** What follows the complaint about a word that nobody knows: the one that was probably meant, or else all there are. */
export function suggestName(word: string, known: readonly string[]): string {
  const near = didYouMean(word, known);
  return near === undefined ? `; known are ${known.join(", ")}` : `, did you mean ${near}?`;
}
