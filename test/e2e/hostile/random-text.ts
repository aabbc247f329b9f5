/** Letters without sense, the same in every run. */
export function randomText(length: number): string {
  const letters = Buffer.alloc(length);
  let state = 1;
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    letters[at] = 97 + ((state >>> 16) % 26);
  }
  return letters.toString("latin1");
}
