import { readdirSync, readFileSync, rmSync } from "node:fs";
import { median } from "../bench/rounds.ts";
import { type HeapLook, heapFileOf } from "./heap-probe.ts";

/** A process at rest: what it keeps once all garbage is collected. */
export interface Kept {
  heapMb: number;
  rssMb: number;
  /** Open files and sockets. */
  handles: number;
}

/** Longer than an idle connection to a provider is kept; more calls at once have left more of them. */
const restMsMax = 75_000;
const lookMsMax = 60_000;
/** The allocator gives pages back a moment after a collection, when it is asked for others. */
const purgeMs = 1500;
const looks = 3;

/**
 * Waits until a process is at rest, has its garbage collected and says what is left.
 *
 * @param restMs Handles that did not change for so long are those that stay.
 * @param handlesMax With more open it is not at rest yet, for as long as an idle connection is kept.
 */
export async function keptBy(pid: number, restMs: number, handlesMax = Number.POSITIVE_INFINITY): Promise<Kept> {
  const handles = await handlesAtRest(pid, restMs, handlesMax);
  let heapMb = Number.NaN;
  for (let i = 0; i < looks; i++) {
    heapMb = (await collected(pid)).heapMb;
    await Bun.sleep(purgeMs);
  }
  return { heapMb, rssMb: rssMbOf(pid), handles };
}

/** Looks at the memory of processes every so often, garbage and all. */
export class Watch {
  readonly #samples: Map<number, number[]>;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(pids: readonly number[], everyMs: number) {
    this.#samples = new Map(pids.map((pid) => [pid, []]));
    this.#timer = setInterval(() => {
      for (const [pid, samples] of this.#samples) samples.push(rssMbOf(pid));
    }, everyMs);
  }

  /** Medians of the two halves: single looks swing by what waits to be collected. */
  end(): { firstMb: number; secondMb: number; mostMb: number }[] {
    clearInterval(this.#timer);
    return [...this.#samples.values()].map((samples) => {
      const half = samples.length >> 1;
      const [firstMb, secondMb] = [median(samples.slice(0, half)), median(samples.slice(half))];
      return { firstMb, secondMb, mostMb: Math.max(...samples) };
    });
  }
}

async function collected(pid: number): Promise<HeapLook> {
  const file = heapFileOf(pid);
  rmSync(file, { force: true });
  process.kill(pid, "SIGUSR2");
  const deadline = Date.now() + lookMsMax;
  while (Date.now() < deadline) {
    await Bun.sleep(20);
    if (await Bun.file(file).exists()) return readOnce(file);
  }
  throw new Error(`Process ${pid} did not say within ${lookMsMax} ms what is in its heap`);
}

function readOnce(file: string): HeapLook {
  const look: HeapLook = JSON.parse(readFileSync(file, "utf8"));
  rmSync(file);
  return look;
}

async function handlesAtRest(pid: number, restMs: number, handlesMax: number): Promise<number> {
  const deadline = Date.now() + restMsMax;
  let count = handlesOf(pid);
  let sinceMs = Date.now();
  while (Date.now() < deadline && (Date.now() - sinceMs < restMs || count > handlesMax)) {
    await Bun.sleep(100);
    const now = handlesOf(pid);
    if (now !== count) sinceMs = Date.now();
    count = now;
  }
  return count;
}

function handlesOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function rssMbOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}
