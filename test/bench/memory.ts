import { runLoad } from "./load.ts";
import { readRssMb } from "./process-stats.ts";
import type { Processes } from "./processes.ts";
import { median } from "./rounds.ts";
import type { Subject } from "./subjects.ts";

const steps = 10;
const lookMs = 20;

export interface Memory {
  calls: number;
  /** Before the first call, and the median during each tenth of them. */
  rssMb: number[];
  /** The most at any look. */
  mostMb: number;
  /** From the middle tenths to the last, in per cent. */
  growthPercent: number;
}

/**
 * The memory of a fresh gateway over many calls, four of five whole and one streamed. A single look says little: what
 * waits to be collected makes it swing by a tenth.
 */
export async function watchMemory(processes: Processes, subject: Subject, calls: number): Promise<Memory> {
  const { url, key, pid } = subject;
  const rssMb = [readRssMb(pid)];
  let mostMb = 0;
  for (let step = 0; step < steps; step++) {
    const looks: number[] = [];
    const timer = setInterval(() => looks.push(readRssMb(pid)), lookMs);
    const streamed = Math.round(calls / steps / 5);
    try {
      const whole = Math.round(calls / steps) - streamed;
      await runLoad(processes, { kind: "json", url, key, connections: 32, calls: whole });
      await runLoad(processes, { kind: "burst", url, key, connections: 32, calls: streamed });
    } finally {
      clearInterval(timer);
    }
    looks.push(readRssMb(pid));
    rssMb.push(median(looks));
    mostMb = Math.max(mostMb, ...looks);
  }
  const growthPercent = (median(rssMb.slice(-2)) / median(rssMb.slice(steps / 2, -2)) - 1) * 100;
  return { calls, rssMb, mostMb, growthPercent };
}
