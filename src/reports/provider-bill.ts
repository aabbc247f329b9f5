import { getOwn, parseUsd, usageColumns } from "../contract/index.ts";
import type { RecordedUsage } from "./usage.ts";

export type BillFigure = Exclude<keyof RecordedUsage, "day" | "model">;

/** Columns that a provider's file may have in addition to `day` and `model`, and what each is compared with. */
const columns: Readonly<Record<string, { figure: BillFigure; parse(text: string): number | undefined }>> = {
  requests: { figure: "requests", parse: parseWhole },
  ...Object.fromEntries(
    usageColumns.map((figure) =>
      figure === "audio_ms"
        ? ["audio_seconds", { figure, parse: parseSeconds }]
        : [figure, { figure, parse: parseWhole }],
    ),
  ),
  cost_usd: { figure: "provider_cost_nanodollars", parse: parseUsd },
};

const usageColumnNames: readonly string[] = ["day", "model", ...Object.keys(columns)];

/** A bill that cannot be read; the message names the line. */
export class BillError extends Error {
  override readonly name = "BillError";
}

/** A provider's usage: sums by day and model for the columns of its file. */
export interface ProviderUsage {
  figures: BillFigure[];
  rows: Map<string, { day: number; model: string; sums: Partial<Record<BillFigure, number>> }>;
}

/** Parses a provider's CSV; rows of the same day and model are added. @throws {BillError} Naming the line. */
export function parseProviderUsage(file: string, text: string, modelOf: (name: string) => string): ProviderUsage {
  const [header, ...lines] = parseRows(file, text);
  if (header === undefined)
    throw createError(file, 1, `the file is empty, expected columns of ${usageColumnNames.join(", ")}`);
  const names = header.cells.map((cell) => cell.trim().toLowerCase());
  const usage: ProviderUsage = { figures: checkHeader(file, names), rows: new Map() };
  for (const { line, cells } of lines) {
    if (cells.length !== names.length) throw createError(file, line, `${cells.length} cells, expected ${names.length}`);
    const cell = (name: string) => (cells[names.indexOf(name)] as string).trim();
    const day = parseDayCell(file, line, cell("day"));
    const model = modelOf(cell("model"));
    const key = `${day} ${model}`;
    const row = usage.rows.get(key) ?? { day, model, sums: {} };
    usage.rows.set(key, row);
    for (const name of names) {
      const column = getOwn(columns, name);
      if (column === undefined) continue;
      const amount = column.parse(cell(name));
      const sum = amount === undefined || amount < 0 ? Number.NaN : (row.sums[column.figure] ?? 0) + amount;
      if (!Number.isSafeInteger(sum)) {
        const problem = `${name} is ${JSON.stringify(cell(name))}`;
        throw createError(file, line, `${problem}, expected a number from 0, at most 2^53 in total`);
      }
      row.sums[column.figure] = sum;
    }
  }
  return usage;
}

function parseRows(file: string, text: string): CsvRow[] {
  try {
    return parseCsv(text);
  } catch (error) {
    throw new BillError(`Cannot read ${file}: ${(error as Error).message}`, { cause: error });
  }
}

function checkHeader(file: string, names: readonly string[]): BillFigure[] {
  const unknown = names.find((name) => !usageColumnNames.includes(name));
  if (unknown !== undefined) {
    const expected = `expected some of ${usageColumnNames.join(", ")}`;
    throw createError(file, 1, `column ${JSON.stringify(unknown)} is unknown, ${expected}`);
  }
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) throw createError(file, 1, `column ${duplicate} occurs twice`);
  const missing = ["day", "model"].find((name) => !names.includes(name));
  if (missing !== undefined) throw createError(file, 1, `column ${missing} is missing`);
  const figures = names.flatMap((name) => getOwn(columns, name)?.figure ?? []);
  if (figures.length === 0) throw createError(file, 1, "there is no column to compare in addition to day and model");
  return figures;
}

function parseDayCell(file: string, line: number, text: string): number {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // A date such as the 31st of November is read as one of December.
  if (!Number.isNaN(at) && new Date(at).toISOString().startsWith(text)) return at / 86_400_000;
  throw createError(file, line, `day is ${JSON.stringify(text)}, expected a day such as 2026-11-21`);
}

function parseWhole(text: string): number | undefined {
  return /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}

function parseSeconds(text: string): number | undefined {
  return /^\d{1,12}(\.\d{1,3})?$/.test(text) ? Math.round(Number(text) * 1000) : undefined;
}

function createError(file: string, line: number, reason: string): BillError {
  return new BillError(`Cannot read ${file}, line ${line}: ${reason}`);
}

/** One row of a CSV file. */
export interface CsvRow {
  /** Line where the row begins, from 1. */
  line: number;
  cells: string[];
}

/** Parses CSV (RFC 4180) with LF or CRLF and an optional byte order mark; empty lines are skipped. */
export function parseCsv(text: string): CsvRow[] {
  const rows: CsvRow[] = [];
  let cells: string[] = [];
  let line = 1;
  let start = 1;
  // A cell, quoted or not, and its separator.
  const pattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy;
  pattern.lastIndex = text.startsWith("\ufeff") ? 1 : 0;
  while (pattern.lastIndex < text.length) {
    const match = pattern.exec(text);
    if (match === null) throw new SyntaxError(`line ${line} is not CSV: unexpected quote`);
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
