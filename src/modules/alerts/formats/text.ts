/** Cuts a text to so many characters, as services count them, at no half of one. */
export function cut(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  return `${text.slice(0, lengthMax - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** One line of what anybody may have chosen. */
export function toOneLine(text: string): string {
  return text.replaceAll(/[\s\p{C}]+/gu, " ").trim();
}

/** `Critical`, or `Resolved`. */
export function toHeading({ status, severity }: { readonly status: string; readonly severity: string }): string {
  const word = status === "resolved" ? "resolved" : severity;
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}
