import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A row of the README's table of interrupted calls. */
export interface InterruptedRow {
  what: string;
  streamed: string;
  whole: string;
}

/** The table as it stands in the README. @throws When it is not there. */
export function interruptedRows(): InterruptedRow[] {
  const readme = readFileSync(join(import.meta.dir, "../../../README.md"), "utf8");
  const [, after] = readme.split("<!-- interrupted: test/e2e/faults/interrupted.test.ts -->");
  const lines = after
    ?.trimStart()
    .split("\n\n")[0]
    ?.split("\n")
    .filter((line) => line.startsWith("|"));
  if (lines === undefined || lines.length < 3) throw new Error("The README has no table of interrupted calls");
  return lines.slice(2).map((line) => {
    const [what = "", streamed = "", whole = ""] = line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
    return { what, streamed, whole };
  });
}
