import { readdirSync, readFileSync } from "node:fs";

/** A process's CPU time as the kernel counts it: by thread in nanoseconds, and of the whole process in clock ticks. */
export interface CpuReading {
  threads: ReadonlyMap<string, number>;
  ticksUs: number;
}

/** Linux counts in hundredths of a second here, whatever the kernel's own clock. */
const tickUs = 10_000;

export function readCpu(pid: number): CpuReading {
  const threads = new Map<string, number>();
  for (const id of readdirSync(`/proc/${pid}/task`)) {
    const text = readIfThere(`/proc/${pid}/task/${id}/schedstat`);
    if (text !== undefined) threads.set(id, Number(text.split(" ")[0]) / 1000);
  }
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return { threads, ticksUs: (Number(fields[11]) + Number(fields[12])) * tickUs };
}

/** A process and all that it has started, as one. */
export function readTreeCpu(pid: number): CpuReading {
  const readings = treeOf(pid).map(readCpu);
  const threads = new Map(readings.flatMap((reading) => [...reading.threads]));
  return { threads, ticksUs: readings.reduce((sum, { ticksUs }) => sum + ticksUs, 0) };
}

/** A process and its descendants. */
export function treeOf(pid: number): number[] {
  const children = readIfThere(`/proc/${pid}/task/${pid}/children`);
  if (children === undefined) return [];
  return [pid, ...children.split(" ").filter(Boolean).map(Number).flatMap(treeOf)];
}

/** CPU µs between two readings. Where a thread has ended in between, its time is only in the ticks. */
export function cpuUsBetween(before: CpuReading, after: CpuReading): number {
  const hasLost = [...before.threads.keys()].some((id) => !after.threads.has(id));
  if (hasLost || after.threads.size === 0) return after.ticksUs - before.ticksUs;
  let sum = 0;
  for (const [id, us] of after.threads) sum += us - (before.threads.get(id) ?? 0);
  return sum;
}

/** Context switches of a process and all that it has started: waits of its own accord, and turns that were taken from it. */
export function readTreeSwitches(pid: number): number {
  let sum = 0;
  for (const each of treeOf(pid)) {
    for (const id of readdirSync(`/proc/${each}/task`)) {
      const status = readIfThere(`/proc/${each}/task/${id}/status`) ?? "";
      for (const [, count] of status.matchAll(/ctxt_switches:\s+(\d+)/g)) sum += Number(count);
    }
  }
  return sum;
}

export const isRunning = (pid: number): boolean => treeOf(pid).length > 0;

export function readRssMb(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  if (kilobytes === undefined) throw new Error(`Cannot read the memory of process ${pid}: it has ended`);
  return Number(kilobytes) / 1024;
}

/** Of a process and its descendants. */
export function readTreeRssMb(pid: number): number {
  return treeOf(pid).reduce((sum, each) => sum + readRssMb(each), 0);
}

/** A thread may end between the listing and the reading. */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
