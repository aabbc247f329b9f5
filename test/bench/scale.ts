/**
 * Whether a call costs more in a large store: `bun test/bench/scale.ts` fills three (6 GB below the temporary folder, some
 * minutes), and measures them by turns beside the bare proxy. `--millions 0.1` makes it a first look, `--write` writes the
 * table into docs/benchmarks.md. Needs wrk.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fillStore, keyOfAccount, keyPattern, type StoreSize } from "./fill-store.ts";
import { runLoad, wrk } from "./load.ts";
import { describeMachine } from "./machine.ts";
import { putInto } from "./page.ts";
import { formatScale } from "./print.ts";
import { Processes } from "./processes.ts";
import { runRounds } from "./rounds.ts";
import { gateRoot, type Subject, startBare, startGate, startUpstream } from "./subjects.ts";

interface Case extends StoreSize {
  /** How many keys are at work, once for each number. */
  active: number[];
}

const { values } = parseArgs({ options: { millions: { type: "string", default: "10" }, write: { type: "boolean" } } });
const calls = Number(values.millions) * 1_000_000;
const accounts = Math.max(2, calls / 10);
const cases: Case[] = [
  { accounts: 1, calls: 0, active: [1] },
  { accounts: 1, calls, active: [1] },
  // The last is more than the caches of keys and accounts have room for.
  { accounts, calls, active: [1, 100, Math.min(accounts, 50_000)] },
];
const secondsMax = 3600;
const warmUpCalls = 20_000;
const order = { kind: "json", connections: 32, seconds: 3, rounds: 5 } as const;

const say = (line: string) => process.stderr.write(`${line}\n`);

async function measure(processes: Processes): Promise<string> {
  const upstream = await startUpstream(processes, true);
  const subjects: Subject[] = [await startBare(processes, upstream)];
  const starts: number[] = [];
  for (const [index, { accounts, calls, active }] of cases.entries()) {
    const home = `scale-${index}`;
    say(`filling: ${accounts} accounts, ${calls} calls`);
    mkdirSync(join(processes.folder, home));
    await fillStore(join(processes.folder, home), { accounts, calls });
    const begun = performance.now();
    const gate = await startGate(processes, upstream, { home });
    const startMs = performance.now() - begun;
    for (const count of active) {
      const name = `${accounts} accounts, ${calls} calls, ${count} at work`;
      subjects.push({ ...gate, name, key: keyOfAccount(1), keys: { pattern: keyPattern, count } });
      starts.push(startMs);
    }
  }
  for (const { url, key } of subjects) {
    await runLoad(processes, { kind: "json", url, key, connections: 32, calls: warmUpCalls });
  }
  say(`measuring; the stores are full ${Math.round(performance.now() / 1000)} s after the start`);
  return formatScale(describeMachine(), await runRounds(processes, subjects, order), starts);
}

if (wrk === null) {
  say("wrk is not installed here: apt-get install wrk");
  process.exit(2);
}
const processes = new Processes();
const timer = setTimeout(() => process.exit(1), secondsMax * 1000);
try {
  const table = await measure(processes);
  process.stdout.write(table);
  const page = join(gateRoot, "docs/benchmarks.md");
  if (values.write) await Bun.write(page, putInto(await Bun.file(page).text(), new Map([["stored", table.trimEnd()]])));
} finally {
  clearTimeout(timer);
  await processes.endAll();
}
process.exit(0);
