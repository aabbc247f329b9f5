import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { percentile } from "./exchange.ts";
import { fillPostgresAccounts, fillStore, keyOfAccount, keyPattern } from "./fill-store.ts";
import { probe, runLoad } from "./load.ts";
import { runOpenLoad } from "./open-load.ts";
import type { Options } from "./options.ts";
import { cpuUsBetween, readTreeCpu } from "./process-stats.ts";
import type { Processes } from "./processes.ts";
import { median, type Row, runRounds, warmUp } from "./rounds.ts";
import { startServers, whyNoServers } from "./servers.ts";
import { type Subject, startBare, startGate, type Upstream } from "./subjects.ts";

const accounts = 1000;
const active = [1, accounts];
const connections = 32;
/** Of what the gateway can do. */
const loadShare = 0.7;
/** A rate that each store keeps up with: a call costs the more the fewer come together, of the bare proxy too. */
const sameRate = 500;
const rateSeconds = 5;

/** CPU and times of JSON calls at a fixed rate. */
export interface AtRate {
  callsPerSecond: number;
  rows: { subject: string; cpuUs: number; p50Ms: number; p99Ms: number }[];
}

export interface AccountsResult {
  rows: Row[];
  /** Every store with all accounts at work, at the same rate. */
  alike?: AtRate;
  /** The embedded store at a share of what it can do. */
  tail?: AtRate;
  /** What could not be measured, and why: on a machine with other work a gateway may refuse calls. */
  gaps: string[];
}

interface Tools {
  upstream: Upstream;
  say: (line: string) => void;
}

/**
 * What it costs that a thousand accounts are at work instead of one, each with its own key, over an embedded store and
 * over PostgreSQL and Redis, beside the bare proxy; and the times at 70 per cent load.
 */
export async function measureAccounts(
  { rounds, roundSeconds }: Options,
  processes: Processes,
  { upstream, say }: Tools,
): Promise<AccountsResult> {
  const bare = await startBare(processes, upstream);
  const embedded = await startEmbedded(processes, upstream);
  const servers = whyNoServers === undefined ? await startServers() : undefined;
  if (servers === undefined) say(`accounts: only the embedded store is measured: ${whyNoServers}`);
  const gates = [{ name: "embedded", gate: embedded }];
  try {
    if (servers !== undefined) {
      await fillPostgresAccounts(servers.env.DATABASE_URL, accounts);
      const gate = await startGate(processes, upstream, { home: "shared", ledger: servers.env });
      gates.push({ name: "PostgreSQL and Redis", gate });
    }
    for (const subject of [bare, ...gates.map(({ gate }) => withKeys(gate, accounts))])
      await warmUp(processes, subject);
    const subjects = gates.flatMap(({ name, gate }) =>
      active.map((count) => ({ ...withKeys(gate, count), name: `${name}, ${count} at work` })),
    );
    say(`accounts: ${active.join(" and ")} at work`);
    const order = { kind: "json", connections, seconds: roundSeconds, rounds, warmSeconds: 2 } as const;
    const gaps: string[] = [];
    const leave = ({ name }: { name: string }, error: unknown) => {
      gaps.push(`${name}: ${error instanceof Error ? error.message : error}`);
      say(`accounts: no figure of ${gaps.at(-1)}`);
    };
    const rows = await runRounds(processes, [bare, ...subjects], order, leave);
    const busy = subjects.filter(({ name }) => name.endsWith(`, ${accounts} at work`));
    const atRate = (all: Subject[], callsPerSecond: number) =>
      measureAtRate(processes, all, { rounds, callsPerSecond }).catch((error) => {
        leave({ name: `at ${callsPerSecond} calls a second` }, error);
        return undefined;
      });
    const alike = await atRate([bare, ...busy], sameRate);
    const [many] = busy as [Subject];
    const callsPerSecond = Math.floor((await findMost(processes, many)) * loadShare);
    say(`accounts: ${callsPerSecond} calls a second`);
    const tail = await atRate([bare, many], callsPerSecond);
    return { rows, gaps, ...(alike && { alike }), ...(tail && { tail }) };
  } finally {
    for (const pid of [bare.pid, ...gates.map(({ gate }) => gate.pid)]) await processes.end(pid);
    await servers?.remove();
  }
}

async function startEmbedded(processes: Processes, upstream: Upstream): Promise<Subject> {
  const home = "embedded";
  mkdirSync(join(processes.folder, home));
  await fillStore(join(processes.folder, home), { accounts, calls: 0 });
  return startGate(processes, upstream, { home });
}

function withKeys(gate: Subject, count: number): Subject {
  return { ...gate, key: keyOfAccount(1), keys: { pattern: keyPattern, count } };
}

/** Calls a second that a subject can do. */
async function findMost(processes: Processes, { url, key, keys }: Subject): Promise<number> {
  const most = await runLoad(processes, await probe({ kind: "json", url, key, keys, connections, seconds: 2 }));
  return most.calls / most.seconds;
}

async function measureAtRate(
  processes: Processes,
  subjects: Subject[],
  { rounds, callsPerSecond }: { rounds: number; callsPerSecond: number },
): Promise<AtRate> {
  const figures = subjects.map(() => ({ cpuUs: [] as number[], p50Ms: [] as number[], p99Ms: [] as number[] }));
  for (let seed = 0; seed < rounds; seed++) {
    for (const [index, { url, key, keys, pid }] of subjects.entries()) {
      const order = { kind: "json", url, key, keys, callsPerSecond, seconds: rateSeconds, seed: seed + 1 } as const;
      const run = async () => {
        const before = readTreeCpu(pid);
        const { wholeMs } = await runOpenLoad(processes, order);
        return { wholeMs, cpuUs: cpuUsBetween(before, readTreeCpu(pid)) / wholeMs.length };
      };
      const { wholeMs, cpuUs } = await run().catch(run);
      figures[index]?.cpuUs.push(cpuUs);
      figures[index]?.p50Ms.push(percentile(wholeMs, 0.5));
      figures[index]?.p99Ms.push(percentile(wholeMs, 0.99));
    }
  }
  const rows = subjects.map(({ name }, index) => {
    const { cpuUs, p50Ms, p99Ms } = figures[index] as (typeof figures)[number];
    return { subject: name, cpuUs: median(cpuUs), p50Ms: median(p50Ms), p99Ms: median(p99Ms) };
  });
  return { callsPerSecond, rows };
}
