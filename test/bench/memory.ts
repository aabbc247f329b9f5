import { type JobKind, jobs, pathOf } from "./job.ts";
import { runLoad } from "./load.ts";
import { isRunning, readRssMb } from "./process-stats.ts";
import type { Processes } from "./processes.ts";
import { median } from "./rounds.ts";
import type { Subject, Upstream } from "./subjects.ts";

const steps = 10;
const lookMs = 20;
/** Of the calls of each step, how many are of which kind, in per cent. */
const shares: readonly (readonly [JobKind, number])[] = [
  ["json", 48],
  ["responses", 17],
  ["messages", 17],
  ["burst", 6],
  ["responsesBurst", 3],
  ["messagesBurst", 3],
  ["json30", 5],
  ["json300", 1],
];

export interface Memory {
  calls: number;
  /** Before the first call, and the median during each tenth of them. */
  rssMb: number[];
  /** The most at any look. */
  mostMb: number;
}

/**
 * The memory of a fresh gateway over many calls of all workloads. A single look says little: what waits to be collected
 * makes it swing by a tenth.
 */
export async function watchMemory(processes: Processes, subject: Subject, calls: number): Promise<Memory> {
  const { origin, key, pid } = subject;
  const rssMb = [readRssMb(pid)];
  let mostMb = 0;
  for (let step = 0; step < steps; step++) {
    const looks: number[] = [];
    const timer = setInterval(() => isRunning(pid) && looks.push(readRssMb(pid)), lookMs);
    try {
      for (const [kind, share] of shares) {
        const url = origin + pathOf[jobs[kind].protocol];
        const count = Math.ceil((calls / steps) * (share / 100));
        await runLoad(processes, { kind, url, key, connections: 32, calls: count });
      }
    } finally {
      clearInterval(timer);
    }
    looks.push(readRssMb(pid));
    rssMb.push(median(looks));
    mostMb = Math.max(mostMb, ...looks);
  }
  return { calls, rssMb, mostMb };
}

export interface OpenStreams {
  streams: number;
  idleMb: number;
  rssMb: number;
}

const opensMsMax = 240_000;

/** The memory of a gateway while so many streams are open, which then go on and must come to their right ends. */
export async function watchOpenStreams(
  processes: Processes,
  { subject, upstream }: { subject: Subject; upstream: Upstream },
  streams: number,
): Promise<OpenStreams> {
  const { url, key, pid } = subject;
  const idleMb = readRssMb(pid);
  const provider = async (path: string) => {
    const tls = { rejectUnauthorized: false };
    return Number(await (await fetch(upstream.origin + path, { method: "POST", body: "-", tls })).text());
  };
  const load = runLoad(processes, { kind: "open", url, key, connections: streams, calls: streams });
  let failure: unknown;
  load.catch((error) => {
    failure = error;
  });
  const deadline = performance.now() + opensMsMax;
  while ((await provider("/open")) < streams) {
    if (failure !== undefined) throw failure;
    if (performance.now() > deadline) throw new Error(`${await provider("/open")} of ${streams} streams were opened`);
    await Bun.sleep(250);
  }
  // What is on its way arrives, and what was only needed to begin can go.
  await Bun.sleep(3000);
  const rssMb = readRssMb(pid);
  await provider("/open/go-on");
  await load;
  return { streams, idleMb, rssMb };
}
