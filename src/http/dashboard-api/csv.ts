/** Text in CSV: quoted, and escaped where a spreadsheet would read a formula. */
export function toCsvText(text: string | null): string {
  if (text === null) return "";
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${harmless.replaceAll('"', '""')}"`;
}
