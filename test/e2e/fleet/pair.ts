/**
 * Tries one pair in a process of its own and prints its line: `bun pair.ts 7 a,b`, the seed and the faults. It ends with 1 where something
 * broke.
 */
import { faultsOf } from "./faults.ts";
import { simulateFaults, toLine } from "./simulate-faults.ts";

for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));

const [seed = "", names = ""] = process.argv.slice(2);
const struck = faultsOf(names);
const outcome = await simulateFaults(struck, Number(seed));
process.stdout.write(`${toLine(Number(seed), struck, outcome)}\n`);
process.exit(outcome.broken.length === 0 ? 0 : 1);
