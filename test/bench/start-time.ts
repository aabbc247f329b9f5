import { existsSync } from "node:fs";
import { askOnce } from "./load.ts";
import type { Processes, Server } from "./processes.ts";
import { median } from "./rounds.ts";
import { binaryFile, startGate } from "./subjects.ts";

const startsAgain = 5;

/** Milliseconds from the start of the process to an answer with its right text through the upstream. */
export interface StartTime {
  program: "binary" | "source";
  /** With an empty home: the database is made. */
  firstMs: number;
  /** With the home as it was left; the median. */
  againMs: number;
}

export async function measureStarts(processes: Processes, upstream: Server): Promise<StartTime[]> {
  const times: StartTime[] = [];
  for (const program of existsSync(binaryFile) ? (["binary", "source"] as const) : (["source"] as const)) {
    const firstMs = await timeStart(processes, upstream, program);
    const again: number[] = [];
    for (let i = 0; i < startsAgain; i++) again.push(await timeStart(processes, upstream, program));
    times.push({ program, firstMs, againMs: median(again) });
  }
  return times;
}

async function timeStart(processes: Processes, upstream: Server, program: StartTime["program"]): Promise<number> {
  const startedAt = performance.now();
  const options = { home: `start-${program}`, ...(program === "binary" && { binary: binaryFile }) };
  const { url, key, pid } = await startGate(processes, upstream, options);
  const { mistake } = await askOnce({ kind: "json", url, key });
  const ms = performance.now() - startedAt;
  if (mistake !== undefined) throw new Error(`The gateway's first answer was wrong: ${mistake}`);
  await processes.end(pid);
  return ms;
}
