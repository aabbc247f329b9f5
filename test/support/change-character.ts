/**
 * A text with another character at a place, counted from the end when negative. A character that is only set, say to `0`, is the
 * same one at random; and the last one of base64 may hold bits that decoding ignores.
 */
export function changeCharacter(text: string, place: number): string {
  const at = place < 0 ? text.length + place : place;
  return `${text.slice(0, at)}${text[at] === "a" ? "b" : "a"}${text.slice(at + 1)}`;
}
