import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type JobKind, jobs, pathOf } from "./job.ts";
import { runLoad } from "./load.ts";
import type { Processes } from "./processes.ts";
import { startGate, type Upstream } from "./subjects.ts";

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
    const folder = join(processes.folder, `profile-${kind}`);
    mkdirSync(folder);
    const flags = ["--cpu-prof", "--cpu-prof-dir", folder];
    const { origin, key, pid } = await startGate(processes, upstream, { home: `profiled-${kind}`, flags });
    const url = origin + pathOf[jobs[kind].protocol];
    await runLoad(processes, { kind, url, key, connections, seconds, ownClient: true });
    await processes.stop(pid);
    const file = readdirSync(folder).find((name) => name.endsWith(".cpuprofile"));
    if (file === undefined) throw new Error(`The profiler wrote nothing for ${kind}`);
    profiles.push({ kind, top: topOf(await Bun.file(join(folder, file)).json()) });
  }
  return profiles;
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
