import type { Machine } from "../machine.ts";
import { formatTable } from "../table.ts";
import type { Contender } from "./contender.ts";
import type { Figures, Most, Plan } from "./measure.ts";

export interface PeerRow {
  contender: Pick<Contender, "name" | "version" | "without" | "isOurs">;
  startMs: number | undefined;
  figures: Figures;
}

export interface PeerResults {
  machine: Machine;
  day: string;
  plan: Plan;
  roundsDone: number;
  /** Of the binary. */
  most: Most | undefined;
  direct: Figures;
  rows: PeerRow[];
  leftOut: { name: string; reason: string }[];
}

const columns = [
  "",
  "CPU µs a call",
  "× ours",
  "calls/s, 1 core",
  "calls/s, 2 cores",
  "p50 added ms",
  "p99 added ms",
  "1st byte added ms",
  "CPU µs a chunk",
  "RSS MB",
  "start ms",
];

/** As Markdown, as it is in docs/benchmarks.md. */
export function formatPeers(results: PeerResults): string {
  const { machine, day, plan, roundsDone, rows, leftOut, direct, most } = results;
  const ours = rows.find(({ contender }) => contender.isOurs);
  const cells = rows.map((row) => cellsOf(row, direct, ours?.figures));
  const lines = [
    ...formatTable(columns, cells, [0]),
    "",
    `${day}; ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, Linux ${machine.kernel}; load average before: ` +
      `${machine.loadAverage.toFixed(2)}${machine.loadAverage > 0.5 ? ", so the machine had other work" : ""}; ${roundsDone} rounds in turn.`,
    `Added: to the provider asked directly, at ${plan.callsPerSecond} calls and ${plan.streamsPerSecond} streams a second, which arrive ` +
      `whatever the answers take (direct: p50 ${ms(direct.p50Ms)}, p99 ${ms(direct.p99Ms)}, first byte ${ms(direct.firstP50Ms)} ms); ` +
      `all else with ${plan.connections} connections.${sentenceOf(most)}`,
    "",
    ...formatTable(
      ["", "version", "without what ours has on"],
      rows.map(({ contender: { name, version, without } }) => [name, version, without]),
      [0, 1, 2],
    ),
  ];
  for (const { name, reason } of leftOut) lines.push("", `Left out: ${name}: ${reason}`);
  return `${lines.join("\n")}\n`;
}

function sentenceOf(most: Most | undefined): string {
  if (most === undefined) return "";
  const { perSecond, connections } = most;
  return ` The most that modelgate does on one core: ${perSecond.toFixed(0)} JSON calls a second, over ${connections} connections.`;
}

function cellsOf({ contender, figures, startMs }: PeerRow, direct: Figures, ours: Figures | undefined): string[] {
  return [
    contender.name,
    figures.cpuUs.toFixed(figures.cpuUs < 1000 ? 1 : 0),
    ours === undefined ? "" : (figures.cpuUs / ours.cpuUs).toFixed(2),
    figures.perSecond.toFixed(0),
    figures.perSecondOnAll.toFixed(0),
    ms(figures.p50Ms - direct.p50Ms),
    ms(figures.p99Ms - direct.p99Ms),
    ms(figures.firstP50Ms - direct.firstP50Ms),
    figures.chunkCpuUs.toFixed(1),
    figures.rssMb.toFixed(0),
    startMs === undefined ? "" : startMs.toFixed(0),
  ];
}

const [opening, closing] = ["<!-- peers: made by bun run bench --peers --write -->", "<!-- peers: end -->"];

/** Puts the tables between the marks of docs/benchmarks.md. @throws When it lacks them. */
export function putInto(page: string, tables: string): string {
  const [from, to] = [page.indexOf(opening), page.indexOf(closing)];
  if (from < 0 || to < from) throw new Error(`docs/benchmarks.md lacks the lines ${opening} and ${closing}`);
  return `${page.slice(0, from + opening.length)}\n\n${tables}\n${page.slice(to)}`;
}

/** What was aimed at, and whether this run got there. */
export function goalsOf({ rows, direct, most }: PeerResults): string[] {
  const of = (name: string) => rows.find(({ contender }) => contender.name === name)?.figures;
  const ours = rows.find(({ contender }) => contender.isOurs)?.figures;
  if (ours === undefined) return [];
  const least = (name: string, times: number) => {
    const theirs = of(name);
    if (theirs === undefined) return [];
    const found = theirs.cpuUs / ours.cpuUs;
    return [goal(`${name} takes ≥ ${times} × our CPU a call`, `${found.toFixed(1)} ×`, found >= times)];
  };
  const addedMs = ours.firstP50Ms - direct.firstP50Ms;
  const perSecond = most === undefined ? ours.perSecond : most.perSecond;
  return [
    ...least("Portkey", 15),
    ...least("LiteLLM", 30),
    ...least("Bifrost", 1),
    goal("first byte of a stream within 1 ms of direct", `${ms(addedMs)} ms`, addedMs <= 1),
    goal("≥ 15 000 JSON calls a second on one core", perSecond.toFixed(0), perSecond >= 15_000),
  ];
}

function goal(what: string, found: string, isMet: boolean): string {
  return `Goal: ${what}: ${found}, ${isMet ? "met" : "not met"}`;
}

function ms(value: number): string {
  return value.toFixed(2);
}
