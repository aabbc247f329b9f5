/** After these a sentence ends where a space follows; the others end one by themselves. */
const sentenceEnds = ".!?…؟।";
const wideSentenceEnds = "。！？\n";

/**
 * Splits a text into parts of at most so many characters (code points): between sentences if possible, else between
 * words. Joined they are the text. Parts of nothing but spaces are left out.
 */
export function splitText(text: string, charactersMax: number): string[] {
  const characters = Array.from(text);
  if (characters.length <= charactersMax) return [text];
  const parts: string[] = [];
  for (let at = 0; at < characters.length; ) {
    const end =
      at + charactersMax < characters.length ? findEnd(characters, at, at + charactersMax) : characters.length;
    parts.push(characters.slice(at, end).join(""));
    at = end;
  }
  const spoken = parts.filter((part) => part.trim() !== "");
  return spoken.length === 0 ? parts.slice(0, 1) : spoken;
}

/** Where a part that begins at `from` is to end, at the latest at `to`. */
function findEnd(characters: readonly string[], from: number, to: number): number {
  let word: number | undefined;
  for (let end = to; end > from; end--) {
    const [before, next] = [characters[end - 1] as string, characters[end] as string];
    const isSpace = /\s/.test(next);
    if (wideSentenceEnds.includes(before) || (isSpace && sentenceEnds.includes(before))) return end;
    if (isSpace) word ??= end;
  }
  return word ?? to;
}
