import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const file = join(import.meta.dir, "../../../../shared/spec/model-gateway-api.md");

/** Why the specification cannot be held against the catalogue here; absent when it can. */
export const specMissing = existsSync(file)
  ? undefined
  : "No specification: expected ../shared/spec/model-gateway-api.md beside the project";

/** One row of a Markdown table, by column heading. */
export type TableRow = Record<string, string>;

/** The tables of the specification whose first column is `Model`, by their column headings, in the order of the text. */
export function modelTables(): { headings: string[]; rows: TableRow[] }[] {
  return tables().filter(({ headings }) => headings[0] === "Model");
}

/** Lines of part 2.10 that list models in prose: `Image generation: …`. */
function proseLine(opening: string): string {
  const line = text()
    .split("\n")
    .find((candidate) => candidate.startsWith(`${opening}: \``));
  if (line === undefined) throw new Error(`The specification has no line that begins with ${opening}`);
  return line;
}

/** The models of such a line: `` `famT/v1-english` (non-premium) ``. */
export function modelsOfProse(opening: string): { id: string; premium: boolean }[] {
  const models = proseLine(opening).matchAll(/`([^`]+)` \((non-)?premium\)/g);
  return [...models].map(([, id = "", negation]) => ({ id, premium: negation === undefined }));
}

/** The sentence of part 4.3 that holds the price of an image. */
export function imagePriceLine(): string {
  return /^Price: .*per image.*$/m.exec(text())?.[0] ?? "";
}

/** `1.05M` → 1050000, `200K` → 200000, `8,191` → 8191. */
export function readCount(written: string): number {
  const match = /^([\d.,]+)([KM]?)$/.exec(written);
  if (match === null) throw new Error(`Cannot read ${written} as a count`);
  const [, digits = "", suffix = ""] = match;
  return Math.round(Number(digits.replaceAll(",", "")) * (suffix === "M" ? 1_000_000 : suffix === "K" ? 1000 : 1));
}

function text(): string {
  return specMissing === undefined ? readFileSync(file, "utf8") : "";
}

function tables(): { headings: string[]; rows: TableRow[] }[] {
  const blocks = text()
    .split("\n\n")
    .map((block) => block.split("\n").filter((line) => line.startsWith("|")))
    .filter((lines) => lines.length > 2);
  return blocks.map(([head = "", , ...lines]) => {
    const headings = cells(head);
    return {
      headings,
      rows: lines.map((line) => Object.fromEntries(cells(line).map((cell, i) => [headings[i], cell]))),
    };
  });
}

function cells(line: string): string[] {
  return line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}
