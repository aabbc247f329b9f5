/**
 * Simulates a fleet whose dependencies fail: `npx bun run simulate --minutes 10` draws pairs of faults until the time is over and prints a
 * line for each. `--seed 7` begins with another seed, `--faults a,b` tries one pair again and again, `--list` prints the faults.
 * It ends with 1 where something broke.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runFolderVariable } from "../../support/run-folder.ts";

// The data of the first PostgreSQL is copied for the others.
const folder = mkdtempSync(join(tmpdir(), "modelgate-tests-"));
process.env[runFolderVariable] ??= folder;
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));

const { drawPair, faults, faultsOf } = await import("./faults.ts");
const { toLine, simulateFaults } = await import("./simulate-faults.ts");

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
    faults: { type: "string" },
    list: { type: "boolean", default: false },
  },
});
const say = (text: string) => process.stdout.write(`${text}\n`);

if (values.list) {
  for (const { name, made, mended, mayLose } of faults)
    say(`${name}: ${made}; mended: ${mended}; may lose: ${mayLose}`);
  process.exit(0);
}

const given = values.faults === undefined ? undefined : faultsOf(values.faults);
const endMs = Date.now() + Number(values.minutes) * 60_000;
let failures = 0;
let tried = 0;
for (let seed = Number(values.seed); tried === 0 || Date.now() < endMs; seed++, tried++) {
  const struck = given ?? drawPair(seed);
  const begunMs = performance.now();
  const outcome = await simulateFaults(struck, seed);
  say(toLine(seed, struck, outcome, (performance.now() - begunMs) / 1000));
  if (outcome.broken.length > 0) failures++;
}
say(`${tried} pairs, ${failures} failed`);
process.exit(failures === 0 ? 0 : 1);
