import { chunkCount, isStreamed, type JobKind, jobs, pathOf } from "./job.ts";
import { type LoadOrder, type LoadReport, probe, runLoad } from "./load.ts";
import { cpuUsBetween, readTreeCpu, readTreeRssMb } from "./process-stats.ts";
import type { Processes } from "./processes.ts";
import type { Subject } from "./subjects.ts";

/** One line of a table: medians over the rounds. */
export interface Row {
  kind: JobKind;
  connections: number;
  subject: string;
  rounds: number;
  /** CPU µs a call, of a stream a chunk. */
  cpuUs: number;
  /** CPU beside the first subject's in the same round. */
  ratio: number;
  callsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Of streams. */
  firstByteP50Ms?: number;
  rssMb: number;
}

export interface RoundsOrder {
  kind: JobKind;
  connections: number;
  seconds: number;
  rounds: number;
  /** Before the first round of each. */
  warmSeconds?: number;
}

interface Round extends LoadReport {
  cpuUs: number;
  rssMb: number;
}

/**
 * Alternates the subjects, the first of which is the measure of the others.
 *
 * @param leave Is told of one that answered wrongly twice, which has no row then. Absent: that is an error.
 */
export async function runRounds(
  processes: Processes,
  subjects: readonly Subject[],
  order: RoundsOrder,
  leave?: (subject: Subject, error: unknown) => void,
): Promise<Row[]> {
  const rounds = new Map<Subject, Round[]>(subjects.map((subject) => [subject, []]));
  for (let i = 0; i < order.rounds; i++) {
    for (const [subject, done] of rounds) {
      if (subject.isSlow && i > 0) continue;
      try {
        if (i === 0 && order.warmSeconds !== undefined) {
          await runLoad(processes, { ...orderFor(subject, order), seconds: order.warmSeconds, ownClient: true });
        }
        // One wrong answer in ten minutes may be the machine's fault.
        done.push(await runRound(processes, subject, order).catch(() => runRound(processes, subject, order)));
      } catch (error) {
        if (leave === undefined) throw error;
        leave(subject, error);
        rounds.delete(subject);
      }
    }
  }
  const [base] = [...rounds.values()];
  return [...rounds].map(([subject, done]) => toRow(order, subject, done, base as Round[]));
}

/** Lets a subject compile its hot paths before it is measured. */
export async function warmUp(processes: Processes, { url, key, keys }: Subject): Promise<void> {
  for (const kind of ["json", "burst"] as const) {
    await runLoad(processes, { kind, url, key, keys, connections: 32, calls: kind === "json" ? 20_000 : 500 });
  }
}

function orderFor(
  { origin, key, keys, asking, isSlow }: Subject,
  { kind, connections, seconds }: RoundsOrder,
): LoadOrder {
  const { protocol, promptKb } = jobs[kind];
  return {
    kind,
    connections,
    url: origin + pathOf[protocol],
    key,
    keys,
    ...asking?.(protocol),
    // A slow one may need a multiple of the time of a paced stream.
    ...(isSlow && kind === "paced" ? { calls: connections } : { seconds }),
    // wrk cuts off calls that are under way at the end, which are too many of these to be left out.
    ...((isSlow || promptKb > 30) && { ownClient: true }),
  };
}

async function runRound(processes: Processes, subject: Subject, order: RoundsOrder): Promise<Round> {
  const load = await probe(orderFor(subject, order));
  const before = readTreeCpu(subject.pid);
  const report = await runLoad(processes, load);
  const cpuUs = cpuUsBetween(before, readTreeCpu(subject.pid));
  const units = report.calls * (isStreamed(order.kind) ? chunkCount : 1);
  return { ...report, cpuUs: cpuUs / units, rssMb: readTreeRssMb(subject.pid) };
}

function toRow({ kind, connections }: RoundsOrder, { name }: Subject, rounds: Round[], base: Round[]): Row {
  const middle = (read: (round: Round, index: number) => number) => median(rounds.map(read));
  return {
    kind,
    connections,
    subject: name,
    rounds: rounds.length,
    cpuUs: middle((round) => round.cpuUs),
    ratio: middle((round, index) => round.cpuUs / (base[index] as Round).cpuUs),
    callsPerSecond: middle((round) => round.calls / round.seconds),
    p50Ms: middle((round) => round.p50Ms),
    p99Ms: middle((round) => round.p99Ms),
    ...(isStreamed(kind) && { firstByteP50Ms: middle((round) => round.firstByteP50Ms as number) }),
    rssMb: middle((round) => round.rssMb),
  };
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle] as number;
  return ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}
