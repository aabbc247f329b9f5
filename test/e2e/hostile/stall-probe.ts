/**
 * Loaded into a gateway before its own code: how long its event loop ran one thing at the longest, in CPU time of its
 * thread. A wait for a core that other processes have is none of it, so the figure holds on a busy machine too.
 */
import { openSync, readSync } from "node:fs";

/** For the environment of a gateway that is to have this. */
export const stallProbed = (port: number) => ({
  BUN_OPTIONS: `--preload ${import.meta.path}`,
  STALL_PROBE_PORT: String(port),
});

/** What was seen since the last question. */
export interface Stall {
  /** The longest turn of the event loop by CPU time. */
  cpuMsMax: number;
  /** The CPU time of all turns. */
  cpuMs: number;
  /** The same by the clock, without the time in which the thread waited for a core. */
  stallMsMax: number;
}

export const stallSince = async (port: number): Promise<Stall> =>
  (await (await fetch(`http://127.0.0.1:${port}/`)).json()) as Stall;

const tickMs = 2;

function watch(port: number): void {
  let seen: Stall = { cpuMsMax: 0, cpuMs: 0, stallMsMax: 0 };
  let before = readThread();
  let askedAt = before;
  const look = () => {
    const now = readThread();
    seen.cpuMsMax = Math.max(seen.cpuMsMax, now.cpuMs - before.cpuMs);
    const gapMs = now.atMs - before.atMs - tickMs;
    seen.stallMsMax = Math.max(seen.stallMsMax, gapMs - (now.waitedMs - before.waitedMs));
    before = now;
  };
  setInterval(look, tickMs).unref();
  Bun.serve({
    port,
    hostname: "127.0.0.1",
    fetch() {
      // The question may come before the tick after a long turn.
      look();
      const said = Response.json({ ...seen, cpuMs: before.cpuMs - askedAt.cpuMs });
      seen = { cpuMsMax: 0, cpuMs: 0, stallMsMax: 0 };
      askedAt = before;
      return said;
    },
    // Nor does this keep the gateway from its end.
  }).unref();
}

let file: number | undefined;
const buffer = Buffer.alloc(64);

function readThread() {
  file ??= openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
  const [cpuNs, waitedNs] = buffer
    .toString("latin1", 0, readSync(file, buffer, 0, 64, 0))
    .split(" ")
    .map(Number);
  return { atMs: performance.now(), cpuMs: (cpuNs ?? 0) / 1e6, waitedMs: (waitedNs ?? 0) / 1e6 };
}

const { STALL_PROBE_PORT: probePort } = process.env;
if (probePort !== undefined && process.argv.includes("serve")) watch(Number(probePort));
