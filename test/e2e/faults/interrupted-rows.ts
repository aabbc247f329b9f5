import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A row of the table of interrupted calls in docs/billing.md. */
export interface InterruptedRow {
  what: string;
  streamed: string;
  whole: string;
}

/** Reads that table. @throws When it is missing. */
export function interruptedRows(): InterruptedRow[] {
  const page = readFileSync(join(import.meta.dir, "../../../docs/billing.md"), "utf8");
  const [, after] = page.split("<!-- interrupted: test/e2e/faults/interrupted.test.ts -->");
  const lines = after
    ?.trimStart()
    .split("\n\n")[0]
    ?.split("\n")
    .filter((line) => line.startsWith("|"));
  if (lines === undefined || lines.length < 3) throw new Error("docs/billing.md has no table of interrupted calls");
  return lines.slice(2).map((line) => {
    const [what = "", streamed = "", whole = ""] = line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
    return { what, streamed, whole };
  });
}
