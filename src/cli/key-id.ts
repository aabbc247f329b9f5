/** A pasted key is taken too: whoever revokes a leaked one has the key at hand, not its id. */
export function keyIdOf(idOrKey: string): string {
  return /^sk-mg-([^-]+)-/.exec(idOrKey)?.[1] ?? idOrKey;
}
