import { chunkCount, isStreamed, type JobKind, jobs, pathOf } from "./job.ts";
import { type LoadReport, probe, runLoad } from "./load.ts";
import { cpuUsBetween, readCpu, readRssMb } from "./process-stats.ts";
import type { Processes } from "./processes.ts";
import type { Subject } from "./subjects.ts";

/** One line of the table: medians over the rounds. */
export interface Row {
  kind: JobKind;
  connections: number;
  subject: string;
  /** CPU µs a call, of a stream a chunk. */
  cpuUs: number;
  /** CPU beside the bare proxy's in the same round. */
  ratio: number;
  callsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Of streams. */
  firstByteP50Ms?: number;
  /** What it adds to the times of the bare proxy in the same round. */
  addedP50Ms: number;
  addedP99Ms: number;
  rssMb: number;
}

export interface RoundsOrder {
  kind: JobKind;
  connections: number;
  seconds: number;
  rounds: number;
}

interface Round extends LoadReport {
  cpuUs: number;
  rssMb: number;
}

/** Alternates the subjects, the first of which is the measure of the others. */
export async function runRounds(processes: Processes, subjects: Subject[], order: RoundsOrder): Promise<Row[]> {
  const rounds = new Map<Subject, Round[]>(subjects.map((subject) => [subject, []]));
  for (let i = 0; i < order.rounds; i++) {
    for (const subject of subjects) rounds.get(subject)?.push(await runRound(processes, subject, order));
  }
  const [base] = [...rounds.values()];
  return subjects.map((subject) => toRow(order, subject, rounds.get(subject) as Round[], base as Round[]));
}

/** Lets a subject compile its hot paths before it is measured. */
export async function warmUp(processes: Processes, subject: Subject): Promise<void> {
  for (const kind of ["json", "burst"] as const) {
    const { url, key } = subject;
    await runLoad(processes, { kind, url, key, connections: 32, calls: kind === "json" ? 20_000 : 500 });
  }
}

async function runRound(processes: Processes, subject: Subject, order: RoundsOrder): Promise<Round> {
  const { origin, key, pid, keys } = subject;
  const { kind, connections, seconds } = order;
  const url = origin + pathOf[jobs[kind].protocol];
  const load = await probe({ kind, connections, seconds, url, key, ...(keys && { keys }) });
  const before = readCpu(pid);
  const report = await runLoad(processes, load);
  const cpuUs = cpuUsBetween(before, readCpu(pid));
  const units = report.calls * (isStreamed(kind) ? chunkCount : 1);
  return { ...report, cpuUs: cpuUs / units, rssMb: readRssMb(pid) };
}

function toRow(order: RoundsOrder, { name }: Subject, rounds: Round[], base: Round[]): Row {
  const middle = (read: (round: Round, index: number) => number) => median(rounds.map(read));
  const isStream = isStreamed(order.kind);
  return {
    kind: order.kind,
    connections: order.connections,
    subject: name,
    cpuUs: middle((round) => round.cpuUs),
    ratio: middle((round, index) => round.cpuUs / (base[index] as Round).cpuUs),
    callsPerSecond: middle((round) => round.calls / round.seconds),
    p50Ms: middle((round) => round.p50Ms),
    p99Ms: middle((round) => round.p99Ms),
    addedP50Ms: middle((round, index) => round.p50Ms - (base[index] as Round).p50Ms),
    addedP99Ms: middle((round, index) => round.p99Ms - (base[index] as Round).p99Ms),
    ...(isStream && { firstByteP50Ms: middle((round) => round.firstByteP50Ms as number) }),
    rssMb: middle((round) => round.rssMb),
  };
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle] as number;
  return ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}
