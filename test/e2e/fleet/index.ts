/**
 * Simulates a fleet whose dependencies fail: `npx bun run simulate --minutes 10` draws pairs of faults until the time is over and prints a
 * line for each as it ends, and at last those that failed. `--seed 7` begins with another seed, `--pairs all` draws each pair once,
 * `--at-once 4` tries so many at the same time, `--faults a,b` tries one pair again and again, `--list` prints the faults.
 * It ends with 1 where something broke.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runFolderVariable } from "../../support/run-folder.ts";
import { drawPair, type Fault, faults, faultsOf, pairsOf } from "./faults.ts";
import { namesOf, toCommand } from "./simulate-faults.ts";

/** Many times what a pair takes: only a hang ends there. */
const pairMsMax = 30 * 60_000;

const { values } = parseArgs({
  options: {
    minutes: { type: "string" },
    pairs: { type: "string" },
    seed: { type: "string", default: "1" },
    "at-once": { type: "string", default: "1" },
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

// The data of the first PostgreSQL is copied for the others.
const folder = mkdtempSync(join(tmpdir(), "modelgate-tests-"));
const running = new Set<Bun.Subprocess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGTERM");
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));

const struckAlways = values.faults === undefined ? undefined : faultsOf(values.faults);
const pairs = values.pairs === "all" ? pairsOf(faults).length : Number(values.pairs ?? Number.POSITIVE_INFINITY);
const minutes = values.minutes ?? (values.pairs === undefined ? "10" : Number.POSITIVE_INFINITY);
const endMs = Date.now() + Number(minutes) * 60_000;
const firstSeed = Number(values.seed);
const failures: string[] = [];
let begun = 0;
let cpuSeconds = 0;

/** Tries a pair in a process of its own: one that ends by an error or hangs is one that failed. */
async function tryPair(struck: readonly Fault[], seed: number, slot: number): Promise<void> {
  const begunMs = performance.now();
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "pair.ts"), String(seed), namesOf(struck)], {
    // Each has ports of its own.
    env: { [runFolderVariable]: folder, ...process.env, JEST_WORKER_ID: String(slot) },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: pairMsMax,
  });
  running.add(child);
  const [line, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const code = await child.exited;
  running.delete(child);
  const cpu = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6;
  cpuSeconds += cpu;
  const times = `${((performance.now() - begunMs) / 1000).toFixed(0)} s, ${cpu.toFixed(0)} s of CPU`;
  const whatever = line.trim() || `seed ${seed}: ${namesOf(struck)}: ended with ${child.signalCode ?? code}`;
  const [head, ...more] = (code === 0 ? whatever : `${whatever}\n${complaint}`.trim()).split("\n");
  say([`${head} (${times})`, ...more].join("\n    "));
  if (code !== 0) failures.push(`${namesOf(struck)}: ${toCommand(seed, struck)}`);
}

const isMore = () => begun < pairs && (begun === 0 || Date.now() < endMs);
await Promise.all(
  Array.from({ length: Number(values["at-once"]) }, async (_, slot) => {
    while (isMore()) {
      const seed = firstSeed + begun++;
      await tryPair(struckAlways ?? drawPair(seed), seed, slot);
    }
  }),
);
say(`${begun} pairs, ${failures.length} failed, ${(cpuSeconds / begun).toFixed(0)} s of CPU each`);
for (const failure of failures) say(`    ${failure}`);
process.exit(failures.length === 0 ? 0 : 1);
