import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type JobKind, jobs, pathOf } from "./job.ts";
import { runLoad } from "./load.ts";
import { runOpenLoad } from "./open-load.ts";
import type { Processes } from "./processes.ts";
import { type Subject, startGate, type Upstream } from "./subjects.ts";

const kinds: readonly (readonly [JobKind, number])[] = [
  ["json", 32],
  ["json300", 32],
  ["burst", 32],
  ["paced", 100],
  ["responses", 32],
  ["responsesBurst", 32],
  ["messages", 32],
  ["messagesBurst", 32],
];
const topCount = 10;
/** In the first half of the samples the code is still being compiled, so they are left out. */
const seconds = 4;

/** Where the time of the JavaScript thread goes in a workload. */
export interface Profile {
  kind: JobKind;
  /** Of calls that come one by one; absent: as many as it can answer. */
  callsPerSecond?: number;
  top: { what: string; percent: number }[];
}

/** Runs a fresh gateway for each workload with the sampling profiler of Bun (`--cpu-prof`), and reads what it wrote. */
export async function profileWorkloads(
  processes: Processes,
  { upstream, say }: { upstream: Upstream; say: (line: string) => void },
): Promise<Profile[]> {
  const profiles: Profile[] = [];
  for (const [kind, connections] of kinds) {
    say(`profile: ${kind}`);
    const work = ({ origin, key }: Subject) =>
      runLoad(processes, {
        kind,
        url: origin + pathOf[jobs[kind].protocol],
        key,
        connections,
        seconds,
        ownClient: true,
      });
    profiles.push({ kind, top: await profile(processes, { upstream, name: kind, work }) });
  }
  return profiles;
}

/** The same of JSON calls that come one by one, after as many at once as compile what a busy gateway has compiled. */
export async function profileRates(
  processes: Processes,
  { upstream, rates, say }: { upstream: Upstream; rates: readonly number[]; say: (line: string) => void },
): Promise<Profile[]> {
  const profiles: Profile[] = [];
  for (const callsPerSecond of rates) {
    say(`profile: ${callsPerSecond} calls a second`);
    const work = async ({ url, key }: Subject) => {
      await runLoad(processes, { kind: "json", url, key, connections: 32, calls: 2000 });
      // Their samples are in the first half, which is left out.
      const seconds = Math.max(20, Math.ceil(2000 / callsPerSecond));
      await runOpenLoad(processes, { kind: "json", url, key, callsPerSecond, seconds, seed: 1 });
    };
    profiles.push({
      kind: "json",
      callsPerSecond,
      top: await profile(processes, { upstream, name: String(callsPerSecond), work }),
    });
  }
  return profiles;
}

/** Runs a gateway with the profiler for a workload. */
async function profile(
  processes: Processes,
  { upstream, name, work }: { upstream: Upstream; name: string; work: (gate: Subject) => Promise<unknown> },
): Promise<Profile["top"]> {
  const folder = join(processes.folder, `profile-${name}`);
  mkdirSync(folder);
  const flags = ["--cpu-prof", "--cpu-prof-dir", folder];
  const gate = await startGate(processes, upstream, { home: `profiled-${name}`, flags });
  await work(gate);
  await processes.stop(gate.pid);
  const file = readdirSync(folder).find((entry) => entry.endsWith(".cpuprofile"));
  if (file === undefined) throw new Error(`The profiler wrote nothing for ${name}`);
  return topOf(await Bun.file(join(folder, file)).json());
}

/** A profile as the developer tools of browsers read it. */
interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string }; children?: number[] }[];
  /** Ids of nodes, one at each interval in which the thread was at work. */
  samples: number[];
}

function topOf({ nodes, samples }: CpuProfile): Profile["top"] {
  const nodeOf = new Map(nodes.map((node) => [node.id, node]));
  const parentOf = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  /** What is native stands at the nearest function of ours, or of a library, that called it. */
  const nameOf = (id: number): string | undefined => {
    const frame = nodeOf.get(id)?.callFrame;
    if (frame === undefined || frame.functionName === "(idle)") return undefined;
    const file = frame.url.replace(/^.*\/(?=(src|plugins|node_modules)\/)/, "");
    if (file !== "") return `${frame.functionName || "(anonymous)"} — ${file}`;
    let caller = parentOf.get(id);
    while (caller !== undefined && nodeOf.get(caller)?.callFrame.url === "") caller = parentOf.get(caller);
    const from = caller === undefined ? undefined : nodeOf.get(caller)?.callFrame.functionName;
    return `${frame.functionName || "(native)"}${from ? `, called by ${from}` : ""}`;
  };
  const counts = new Map<string, number>();
  const names = samples.slice(samples.length / 2).flatMap((id) => nameOf(id) ?? []);
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts]
    .sort(([, one], [, other]) => other - one)
    .slice(0, topCount)
    .map(([what, count]) => ({ what, percent: (count / names.length) * 100 }));
}
