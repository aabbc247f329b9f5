import { percentile } from "../exchange.ts";
import { chunkCount, type JobKind } from "../job.ts";
import { type LoadReport, probe, runLoad } from "../load.ts";
import { cpuUsBetween, readRssMb, readTreeCpu, treeOf } from "../process-stats.ts";
import { allCores, coreOf, type Processes, setCores } from "../processes.ts";
import { median } from "../rounds.ts";
import { runOpenLoad } from "./open-load.ts";
import type { Runner } from "./start.ts";

export interface Plan {
  rounds: number;
  /** Of each run of closed load, and of each at a fixed rate. */
  closedSeconds: number;
  openSeconds: number;
  connections: number;
  /** Below what the slowest can do; the same for all. */
  callsPerSecond: number;
  streamsPerSecond: number;
}

/** What was seen of one of them in one round. */
export interface Seen {
  cpuUs: number;
  chunkCpuUs: number;
  perSecond: number;
  perSecondOnAll: number;
  rssMb: number;
  wholeMs: number[];
  firstMs: number[];
}

/** The most that one does on its core, at whatever number of connections. */
export interface Most {
  perSecond: number;
  connections: number;
}

/** Medians over the rounds; times over all calls of all rounds. */
export interface Figures extends Omit<Seen, "wholeMs" | "firstMs"> {
  p50Ms: number;
  p99Ms: number;
  firstP50Ms: number;
}

/** What one does in a second when it is asked without pause. */
export interface Limits {
  calls: number;
  streams: number;
}

const warmSeconds = 4;
const calibrationSeconds = 2;
/** wrk cuts off what is under way at the end; where that is not next to nothing, the bench's own client lets it finish. */
const wrkCallsMin = 2000;

/** Lets it compile its hot paths, then sees what it can do. */
export async function warmUp(processes: Processes, runner: Runner, connections: number): Promise<Limits> {
  const run = (kind: JobKind, seconds: number) =>
    runLoad(processes, { kind, ...runner.question, connections, seconds, ownClient: true });
  for (const kind of ["burst", "json"] as const) await run(kind, warmSeconds);
  const [json, burst] = [await run("json", calibrationSeconds), await run("burst", calibrationSeconds)];
  return { calls: rateOf(json), streams: rateOf(burst) };
}

/** One round of everything for one of them, alone at work meanwhile. */
export async function measureOnce(
  processes: Processes,
  runner: Runner,
  limits: Limits,
  plan: Plan & { seed: number },
): Promise<Seen> {
  const { question, pid } = runner;
  const closed = async (kind: JobKind) => {
    const ownClient = kind !== "json" || limits.calls < wrkCallsMin;
    const { connections, closedSeconds: seconds } = plan;
    const order = await probe({ kind, ...question, connections, seconds, ownClient });
    const before = pid === undefined ? undefined : readTreeCpu(pid);
    const report = await runLoad(processes, order);
    const us = before === undefined ? Number.NaN : cpuUsBetween(before, readTreeCpu(pid as number));
    return { report, cpuUs: us / report.calls };
  };
  const open = (kind: JobKind, callsPerSecond: number) =>
    runOpenLoad(processes, { kind, ...question, callsPerSecond, seconds: plan.openSeconds, seed: plan.seed });

  const json = await closed("json");
  const { wholeMs } = await open("json", plan.callsPerSecond);
  const { firstMs } = await open("burst", plan.streamsPerSecond);
  const stream = await closed("burst");
  const rssMb = pid === undefined ? Number.NaN : rssOf(pid);
  const onAll = pid === undefined ? json : await onAllCores(pid, () => closed("json"));
  return {
    cpuUs: json.cpuUs,
    chunkCpuUs: stream.cpuUs / chunkCount,
    perSecond: rateOf(json.report),
    perSecondOnAll: rateOf(onAll.report),
    rssMb,
    wholeMs,
    firstMs,
  };
}

/**
 * Asks for whole answers over more and more connections, in turns, and takes the best of the medians. So many that the
 * gateway refuses some are too many, and do not count.
 */
export async function findMost(processes: Processes, { question }: Runner, plan: Plan): Promise<Most | undefined> {
  const rates = new Map([1, 2, 4].map((times) => [times * plan.connections, [] as number[]]));
  for (let round = 0; round < plan.rounds; round++) {
    for (const [connections, found] of rates) {
      try {
        const order = await probe({ kind: "json", ...question, connections, seconds: plan.closedSeconds });
        found.push(rateOf(await runLoad(processes, order)));
      } catch {
        rates.delete(connections);
      }
    }
  }
  const medians = [...rates].map(([connections, found]) => ({ connections, perSecond: median(found) }));
  return medians.sort((a, b) => b.perSecond - a.perSecond)[0];
}

export function figuresOf(seen: readonly Seen[]): Figures {
  const middle = (read: (one: Seen) => number) => median(seen.map(read));
  const whole = seen.flatMap(({ wholeMs }) => wholeMs);
  return {
    cpuUs: middle((one) => one.cpuUs),
    chunkCpuUs: middle((one) => one.chunkCpuUs),
    perSecond: middle((one) => one.perSecond),
    perSecondOnAll: middle((one) => one.perSecondOnAll),
    rssMb: middle((one) => one.rssMb),
    p50Ms: percentile(whole, 0.5),
    p99Ms: percentile(whole, 0.99),
    firstP50Ms: percentile(
      seen.flatMap(({ firstMs }) => firstMs),
      0.5,
    ),
  };
}

function rateOf({ calls, seconds }: LoadReport): number {
  return calls / seconds;
}

function rssOf(pid: number): number {
  return treeOf(pid).reduce((sum, each) => sum + readRssMb(each), 0);
}

/** Lets it use all cores for a while, which it shares with the provider and the load. */
async function onAllCores<T>(pid: number, work: () => Promise<T>): Promise<T> {
  for (const each of treeOf(pid)) await setCores(each, allCores);
  try {
    return await work();
  } finally {
    for (const each of treeOf(pid)) await setCores(each, String(coreOf.subject));
  }
}
