/** One row of a CSV file. */
export interface CsvRow {
  /** Where it begins, from 1. */
  line: number;
  cells: string[];
}

/** Reads CSV as of RFC 4180, with or without carriage returns and a byte order mark; empty lines are left out. */
export function readCsv(text: string): CsvRow[] {
  const rows: CsvRow[] = [];
  let cells: string[] = [];
  let line = 1;
  let start = 1;
  // A cell, quoted or not, and what ends it.
  const pattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy;
  pattern.lastIndex = text.startsWith("\ufeff") ? 1 : 0;
  while (pattern.lastIndex < text.length) {
    const match = pattern.exec(text);
    if (match === null) throw new SyntaxError(`line ${line} is no CSV: a quote stands where none can`);
    const [whole, quoted, plain, end] = match as unknown as [string, string | undefined, string, string];
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    line += whole.split("\n").length - 1;
    if (end === ",") {
      if (pattern.lastIndex < text.length) continue;
      cells.push("");
    }
    if (cells.length > 1 || cells[0] !== "") rows.push({ line: start, cells });
    cells = [];
    start = line;
  }
  return rows;
}
