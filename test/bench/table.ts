/** A Markdown table. `words` are the columns that are no figures. */
export function formatTable(columns: readonly string[], rows: readonly string[][], words: readonly number[]): string[] {
  const widths = columns.map((title, i) => Math.max(title.length, 3, ...rows.map((row) => (row[i] as string).length)));
  const pad = (cell: string, i: number) =>
    words.includes(i) ? cell.padEnd(widths[i] as number) : cell.padStart(widths[i] as number);
  const line = (row: readonly string[]) => `| ${row.map(pad).join(" | ")} |`;
  const rule = widths.map((width, i) => (words.includes(i) ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [line(columns), line(rule), ...rows.map(line)];
}
