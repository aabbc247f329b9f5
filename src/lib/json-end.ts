/** No server writes a longer piece of a text but the whole of it. */
const pieceCharsMax = 65_536;

/** Whether a text is an object or a list too long to be looked through character by character in one turn. */
export function isLongJson(text: string): boolean {
  return text.length > pieceCharsMax && /^\s{0,99}[{[]/.test(text);
}

/** Whether a text ends as an object or a list does. */
export function endsAsJson(text: string): boolean {
  return /[}\]]\s{0,99}$/.test(text.slice(-100));
}
