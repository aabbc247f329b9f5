import { runLoad } from "./load.ts";
import { readRssMb } from "./process-stats.ts";
import type { Processes } from "./processes.ts";
import type { Subject } from "./subjects.ts";

const steps = 10;

export interface Memory {
  calls: number;
  /** Before the first call, and after each tenth of them. */
  rssMb: number[];
  /** Growth over the second half of the calls, in per cent. */
  growthPercent: number;
}

/** The memory of a fresh gateway over many calls, four of five whole and one streamed. */
export async function watchMemory(processes: Processes, subject: Subject, calls: number): Promise<Memory> {
  const { url, key, pid } = subject;
  const rssMb = [readRssMb(pid)];
  for (let step = 0; step < steps; step++) {
    const streamed = Math.round(calls / steps / 5);
    await runLoad(processes, { kind: "json", url, key, connections: 32, calls: Math.round(calls / steps) - streamed });
    await runLoad(processes, { kind: "burst", url, key, connections: 32, calls: streamed });
    rssMb.push(readRssMb(pid));
  }
  const [half, last] = [rssMb[steps / 2] as number, rssMb[steps] as number];
  return { calls, rssMb, growthPercent: (last / half - 1) * 100 };
}
