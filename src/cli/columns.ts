/** Rows of text as aligned columns, two spaces apart, without trailing spaces. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, cell.length);
    });
  }
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index] as number))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
