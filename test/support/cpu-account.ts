import { appendFileSync, existsSync, readFileSync } from "node:fs";

/** Names the file to which each worker of a run writes what its test files took (`--cpu`); unset: nobody asks. */
export const cpuVariable = "MODELGATE_TEST_CPU";

/** Linux counts in hundredths of a second. */
const ticksPerSecond = 100;

/** The CPU seconds of this process and of all that it has started: those that have ended, and those that still run. */
function cpuSeconds(): number {
  return ticksOf(process.pid) / ticksPerSecond;
}

function ticksOf(pid: number): number {
  let stat: string;
  let children: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  } catch {
    // It has just ended; its parent has what it took.
    return 0;
  }
  // The name of the program, in parentheses, may have spaces. Then user, system, and both of children that were waited for.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const own = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return children
    .split(" ")
    .filter(Boolean)
    .reduce((sum, child) => sum + ticksOf(Number(child)), own);
}

let counted = 0;

/** Writes what was taken since the last file of this process ended, which is what this one took, with the load of its modules. */
export function accountFile(to: string, file: string): void {
  const now = cpuSeconds();
  appendFileSync(to, `${(now - counted).toFixed(2)} ${file}\n`);
  counted = now;
}

/** What each file took, the dearest first, for a person to read. A server that ends with its worker is counted up to there. */
export function describeAccount(from: string): string {
  if (!existsSync(from)) return "";
  const lines = readFileSync(from, "utf8").trimEnd().split("\n");
  const seconds = (line: string) => Number(line.split(" ")[0]);
  return `\nSeconds of CPU:\n${lines.toSorted((a, b) => seconds(b) - seconds(a)).join("\n")}\n`;
}
