import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { percentile } from "./exchange.ts";
import { fillPostgresAccounts, fillStore, keyOfAccount, keyPattern } from "./fill-store.ts";
import { probe, runLoad } from "./load.ts";
import { runOpenLoad } from "./open-load.ts";
import type { Options } from "./options.ts";
import type { Processes } from "./processes.ts";
import { median, type Row, runRounds, warmUp } from "./rounds.ts";
import { startServers, whyNoServers } from "./servers.ts";
import { type Subject, startBare, startGate, type Upstream } from "./subjects.ts";

const accounts = 1000;
const active = [1, accounts];
const connections = 32;
/** Of what the gateway can do. */
const loadShare = 0.7;
const tailSeconds = 5;

/** Times of JSON calls at a fixed rate, which is a share of what the gateway can do. */
export interface Tail {
  callsPerSecond: number;
  rows: { subject: string; p50Ms: number; p99Ms: number }[];
}

export interface AccountsResult {
  rows: Row[];
  tail?: Tail;
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
    const many = subjects[1] as Subject;
    const tail = await measureTail(processes, [bare, many], { rounds, say }).catch((error) => {
      leave({ name: "at a fixed rate" }, error);
      return undefined;
    });
    return { rows, gaps, ...(tail && { tail }) };
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

/** The last subject is the one whose share of load all of them get. */
async function measureTail(
  processes: Processes,
  subjects: Subject[],
  { rounds, say }: { rounds: number; say: (line: string) => void },
): Promise<Tail> {
  const { url, key, keys } = subjects.at(-1) as Subject;
  const most = await runLoad(processes, await probe({ kind: "json", url, key, keys, connections, seconds: 2 }));
  const callsPerSecond = Math.floor((most.calls / most.seconds) * loadShare);
  say(`accounts: ${callsPerSecond} calls a second`);
  const times = subjects.map(() => ({ p50: [] as number[], p99: [] as number[] }));
  for (let seed = 0; seed < rounds; seed++) {
    for (const [index, { url, key, keys }] of subjects.entries()) {
      const question = { kind: "json", url, key, keys } as const;
      const order = { ...question, callsPerSecond, seconds: tailSeconds, seed: seed + 1 };
      const { wholeMs } = await runOpenLoad(processes, order).catch(() => runOpenLoad(processes, order));
      times[index]?.p50.push(percentile(wholeMs, 0.5));
      times[index]?.p99.push(percentile(wholeMs, 0.99));
    }
  }
  const rows = subjects.map(({ name }, index) => {
    const { p50, p99 } = times[index] as { p50: number[]; p99: number[] };
    return { subject: name, p50Ms: median(p50), p99Ms: median(p99) };
  });
  return { callsPerSecond, rows };
}
