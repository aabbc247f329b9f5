import { percentile, type Question } from "./exchange.ts";
import { type JobKind, jobs, pathOf } from "./job.ts";
import { runOpenLoad } from "./open-load.ts";
import { cpuUsBetween, readTreeCpu } from "./process-stats.ts";
import type { Processes } from "./processes.ts";
import type { Subject } from "./subjects.ts";

/** Of calls that come at a fixed rate, whatever the answers take. */
export interface Latency {
  subject: string;
  callsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Until the first event of a stream. */
  firstP50Ms: number;
  /** CPU of a call at 1 000 calls a second; absent for those that do fewer, and for the provider. */
  denseCpuUs?: number;
}

/** Calls and streams a second: little for each of them. */
const [rates, ratesOfSlow] = [
  { calls: 200, streams: 30 },
  { calls: 40, streams: 6 },
];

/** Few calls come together at this rate, so that each pays for its own turns of the event loop and its own write. */
const denseCallsPerSecond = 1000;

type Asked = Pick<Subject, "name" | "origin" | "key" | "asking" | "isSlow"> & { pid?: number };

export async function measureLatency(
  processes: Processes,
  subjects: readonly Asked[],
  { seconds, say }: { seconds: number; say: (line: string) => void },
): Promise<Latency[]> {
  const found: Latency[] = [];
  for (const subject of subjects) {
    const { calls, streams } = subject.isSlow ? ratesOfSlow : rates;
    const run = (kind: JobKind, callsPerSecond: number) =>
      runOpenLoad(processes, { ...questionOf(subject, kind), callsPerSecond, seconds, seed: 1 });
    try {
      const { wholeMs } = await run("json", calls);
      const { firstMs } = await run("burst", streams);
      const latency: Latency = {
        subject: subject.name,
        callsPerSecond: calls,
        p50Ms: percentile(wholeMs, 0.5),
        p99Ms: percentile(wholeMs, 0.99),
        firstP50Ms: percentile(firstMs, 0.5),
      };
      found.push(latency);
      if (subject.pid === undefined || subject.isSlow) continue;
      const before = readTreeCpu(subject.pid);
      const dense = await run("json", denseCallsPerSecond);
      latency.denseCpuUs = cpuUsBetween(before, readTreeCpu(subject.pid)) / dense.wholeMs.length;
    } catch (error) {
      say(
        `${subject.name} has no latency, or none at ${denseCallsPerSecond} a second: ${error instanceof Error ? error.message : error}`,
      );
    }
  }
  return found;
}

function questionOf({ origin, key, asking }: Asked, kind: JobKind): Question {
  const { protocol } = jobs[kind];
  return { kind, url: origin + pathOf[protocol], key, ...asking?.(protocol) };
}
