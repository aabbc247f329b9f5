import { percentile } from "./exchange.ts";
import { pathOf } from "./job.ts";
import { runLoad } from "./load.ts";
import { runOpenLoad } from "./open-load.ts";
import { cpuUsBetween, readTreeCpu, readTreeSwitches } from "./process-stats.ts";
import type { Processes } from "./processes.ts";
import { median } from "./rounds.ts";
import type { Subject } from "./subjects.ts";

/** Medians over the rounds of JSON calls that come one by one. */
export interface RateRow {
  subject: string;
  /** Since its start it has had no call but the one that showed it is ready. */
  isCold: boolean;
  callsPerSecond: number;
  cpuUs: number;
  /** The least and the most of any round. */
  cpuUsFrom: number;
  cpuUsTo: number;
  p50Ms: number;
  p99Ms: number;
  /** How often a call made a thread wait, or wakened one. */
  switches: number;
  threads: number;
}

type Round = Pick<RateRow, "cpuUs" | "p50Ms" | "p99Ms" | "switches" | "threads">;

/** So that each round has at least so many calls, and a p99 means something. */
const callsMin = 200;
const secondsMin = 5;

/** After so many, code is compiled that a gateway which has run for a day has compiled. */
const warmCalls = 60_000;

export interface RatesOrder {
  rates: readonly number[];
  rounds: number;
  say: (line: string) => void;
}

/** What a call costs at rates that gateways see, where calls do not come together and nothing is shared between them. */
export async function measureRates(
  processes: Processes,
  subjects: readonly Subject[],
  { rates, rounds, say }: RatesOrder,
): Promise<RateRow[]> {
  for (const { url, key, asking } of subjects) {
    await runLoad(processes, { kind: "json", url, key, ...asking?.("chat"), connections: 32, calls: warmCalls });
  }
  const found = new Map<string, Round[]>();
  for (let seed = 1; seed <= rounds; seed++) {
    for (const callsPerSecond of rates) {
      for (const subject of subjects) {
        const key = JSON.stringify([callsPerSecond, subject.name]);
        const round = await tryRound(processes, subject, { callsPerSecond, seed, say });
        if (round !== undefined) found.set(key, [...(found.get(key) ?? []), round]);
      }
    }
  }
  return [...found].map(([key, all]) => {
    const [callsPerSecond, subject] = JSON.parse(key) as [number, string];
    return toRow({ subject, isCold: false, callsPerSecond }, all);
  });
}

/** Starts the subject anew for each round of each rate. */
export async function measureColdRates(
  processes: Processes,
  start: (name: string) => Promise<Subject>,
  { rates, rounds, say }: RatesOrder,
): Promise<RateRow[]> {
  const rows: RateRow[] = [];
  for (const callsPerSecond of rates) {
    const all: Round[] = [];
    let subject = "";
    for (let seed = 1; seed <= rounds; seed++) {
      const started = await start(`cold-${callsPerSecond}-${seed}`);
      subject = started.name;
      const round = await tryRound(processes, started, { callsPerSecond, seed, say });
      if (round !== undefined) all.push(round);
      await processes.end(started.pid);
    }
    if (all.length > 0) rows.push(toRow({ subject, isCold: true, callsPerSecond }, all));
  }
  return rows;
}

async function tryRound(
  processes: Processes,
  subject: Subject,
  { callsPerSecond, seed, say }: { callsPerSecond: number; seed: number; say: (line: string) => void },
): Promise<Round | undefined> {
  const { origin, key, asking, pid, name } = subject;
  const seconds = Math.max(secondsMin, Math.ceil(callsMin / callsPerSecond));
  const order = {
    kind: "json",
    url: origin + pathOf.chat,
    key,
    ...asking?.("chat"),
    callsPerSecond,
    seconds,
    seed,
  } as const;
  const [cpu, switches] = [readTreeCpu(pid), readTreeSwitches(pid)];
  try {
    const { wholeMs } = await runOpenLoad(processes, order);
    const after = readTreeCpu(pid);
    return {
      cpuUs: cpuUsBetween(cpu, after) / wholeMs.length,
      p50Ms: percentile(wholeMs, 0.5),
      p99Ms: percentile(wholeMs, 0.99),
      switches: (readTreeSwitches(pid) - switches) / wholeMs.length,
      threads: after.threads.size,
    };
  } catch (error) {
    say(`rates: no round of ${name} at ${callsPerSecond}: ${error instanceof Error ? error.message : error}`);
    return undefined;
  }
}

function toRow(head: Pick<RateRow, "subject" | "isCold" | "callsPerSecond">, all: readonly Round[]): RateRow {
  const middle = (read: (round: Round) => number) => median(all.map(read));
  const cpuUs = all.map((round) => round.cpuUs);
  return {
    ...head,
    cpuUs: median(cpuUs),
    cpuUsFrom: Math.min(...cpuUs),
    cpuUsTo: Math.max(...cpuUs),
    p50Ms: middle((round) => round.p50Ms),
    p99Ms: middle((round) => round.p99Ms),
    switches: middle((round) => round.switches),
    threads: middle((round) => round.threads),
  };
}
