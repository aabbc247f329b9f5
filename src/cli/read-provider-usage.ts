import type { RecordedUsage } from "../billing/index.ts";
import { getOwn, parseUsd } from "../contract/index.ts";
import { UsageError } from "./command.ts";
import { type CsvRow, readCsv } from "./read-csv.ts";
import { readDay } from "./read-values.ts";

type Figure = Exclude<keyof RecordedUsage, "day" | "model">;

/** Columns a provider's file may have beside `day` and `model`, and the figure of the books each is compared with. */
const columns: Readonly<Record<string, { figure: Figure; read(text: string): number | undefined }>> = {
  requests: { figure: "requests", read: readWhole },
  input_tokens: { figure: "input_tokens", read: readWhole },
  cache_read_tokens: { figure: "cache_read_tokens", read: readWhole },
  cache_write_tokens: { figure: "cache_write_tokens", read: readWhole },
  output_tokens: { figure: "output_tokens", read: readWhole },
  images: { figure: "images", read: readWhole },
  audio_seconds: { figure: "audio_ms", read: readSeconds },
  characters: { figure: "characters", read: readWhole },
  cost_usd: { figure: "cost_nanodollars", read: parseUsd },
};

const usageColumnNames: readonly string[] = ["day", "model", ...Object.keys(columns)];

/** What a provider's file says: sums by day and model, in the columns that it has. */
export interface ProviderUsage {
  figures: Figure[];
  /** Lines of the same day and model are added. */
  rows: Map<string, { day: number; model: string; sums: Partial<Record<Figure, number>> }>;
}

/** @throws {UsageError} Naming the line and what was expected there. */
export function readProviderUsage(file: string, text: string, modelOf: (name: string) => string): ProviderUsage {
  const [header, ...lines] = rowsOf(file, text);
  if (header === undefined)
    throw wrong(file, 1, `the file is empty, expected columns of ${usageColumnNames.join(", ")}`);
  const names = header.cells.map((cell) => cell.trim().toLowerCase());
  const usage: ProviderUsage = { figures: checkHeader(file, names), rows: new Map() };
  for (const { line, cells } of lines) {
    if (cells.length !== names.length) throw wrong(file, line, `${cells.length} cells, expected ${names.length}`);
    const cell = (name: string) => (cells[names.indexOf(name)] as string).trim();
    const day = dayOf(file, line, cell("day"));
    const model = modelOf(cell("model"));
    const key = `${day} ${model}`;
    const row = usage.rows.get(key) ?? { day, model, sums: {} };
    usage.rows.set(key, row);
    for (const name of names) {
      const column = getOwn(columns, name);
      if (column === undefined) continue;
      const amount = column.read(cell(name));
      const sum = amount === undefined || amount < 0 ? Number.NaN : (row.sums[column.figure] ?? 0) + amount;
      if (!Number.isSafeInteger(sum)) {
        throw wrong(
          file,
          line,
          `${name} is ${JSON.stringify(cell(name))}, expected a number from 0, at most 2^53 in all`,
        );
      }
      row.sums[column.figure] = sum;
    }
  }
  return usage;
}

function rowsOf(file: string, text: string): CsvRow[] {
  try {
    return readCsv(text);
  } catch (error) {
    throw new UsageError(`Cannot read ${file}: ${(error as Error).message}`, { cause: error });
  }
}

function checkHeader(file: string, names: readonly string[]): Figure[] {
  const unknown = names.find((name) => !usageColumnNames.includes(name));
  if (unknown !== undefined) {
    throw wrong(file, 1, `column ${JSON.stringify(unknown)} is none of ${usageColumnNames.join(", ")}`);
  }
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw wrong(file, 1, `column ${twice} stands there twice`);
  const missing = ["day", "model"].find((name) => !names.includes(name));
  if (missing !== undefined) throw wrong(file, 1, `column ${missing} is missing`);
  const figures = names.flatMap((name) => getOwn(columns, name)?.figure ?? []);
  if (figures.length === 0) throw wrong(file, 1, "nothing to compare beside day and model");
  return figures;
}

function dayOf(file: string, line: number, text: string): number {
  try {
    return readDay("day", text) / 86_400_000;
  } catch {
    throw wrong(file, line, `day is ${JSON.stringify(text)}, expected a day such as 2026-11-21`);
  }
}

function readWhole(text: string): number | undefined {
  return /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}

function readSeconds(text: string): number | undefined {
  return /^\d{1,12}(\.\d{1,3})?$/.test(text) ? Math.round(Number(text) * 1000) : undefined;
}

function wrong(file: string, line: number, reason: string): UsageError {
  return new UsageError(`Cannot read ${file}, line ${line}: ${reason}`);
}
