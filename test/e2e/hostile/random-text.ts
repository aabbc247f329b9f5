/** Letters without sense, the same in every run. */
export function randomText(length: number): string {
  let [text, state] = ["", 1];
  while (text.length < length) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    text += String.fromCharCode(97 + ((state >>> 16) % 26));
  }
  return text;
}
