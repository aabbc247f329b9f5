import { cpus, loadavg, release, totalmem } from "node:os";
import { wrk } from "./load.ts";
import { coreOf, isPinned } from "./processes.ts";

export interface Machine {
  cpu: string;
  cores: number;
  memoryGb: number;
  kernel: string;
  bun: string;
  load: string;
  pinning: string;
  /** Of the minute before the bench: above about 0.5, figures of time mean little and those of CPU lose some. */
  loadAverage: number;
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    bun: Bun.version,
    load: wrk === null ? "own client" : "wrk for JSON, own client for streams",
    pinning: isPinned
      ? `measured process on core ${coreOf.subject}, upstream on ${coreOf.upstream}, load on ${coreOf.load}`
      : "none (no taskset, or one core)",
    loadAverage: loadavg()[0] as number,
  };
}
