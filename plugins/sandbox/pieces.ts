/** Text in pieces that stand for tokens: words with the space before them, long ones cut. Joined they give the text. */
export function toPieces(text: string): string[] {
  return text.match(/\s*\S{1,16}|\s+$/gu) ?? [];
}

/** A whole number that is always the same for the same text (FNV-1a, 32 bits). */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
