/**
 * Reduces a name that anybody may have chosen to one short line without anything that mail programs turn into a link.
 */
export function toHarmlessText(name: string): string {
  if (/^[\w.+-]{1,60}@[\w.-]{1,60}$/.test(name)) return name;
  return name
    .replaceAll(/[\s\p{C}]+|[./:@\\]+(?=\S)/gu, " ")
    .trim()
    .slice(0, 60);
}
