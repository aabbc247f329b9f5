import type { AtRate } from "./accounts.ts";
import { chunkCount, isStreamed, jobs } from "./job.ts";
import type { Latency } from "./latency.ts";
import type { Machine } from "./machine.ts";
import type { Profile } from "./profile.ts";
import type { RateRow } from "./rates.ts";
import type { Results } from "./results.ts";
import type { Row } from "./rounds.ts";
import { formatTable } from "./table.ts";

type Rows = readonly Row[];

/** Above this load average the machine has other work. */
const quietLoad = 0.5;

/** The tables of a run as Markdown, by the name of their place in the documentation. */
export function formatTables(results: Results): Map<string, string> {
  const { machine, day, seconds, field, latency, rates, accounts, memory, openStreams, profiles, translations } =
    results;
  const tables = new Map<string, string[]>([["run", formatRun(machine, day, seconds)]]);
  for (const { part, reason } of results.failures ?? [])
    tables.get("run")?.push(`Not measured: ${part}: ${clean(reason)}.`);
  if (field !== undefined && field.rows.length > 0) {
    tables.set("calls", formatCalls(field.rows));
    tables.set("subjects", formatSubjects(field, latency ?? []));
    tables.set("gaps", formatGaps(field));
  }
  if (rates !== undefined) tables.set("rates", formatRates(rates));
  if (accounts !== undefined) tables.set("accounts", formatAccounts(accounts));
  if (accounts?.alike !== undefined) tables.set("alike", formatAtRate(accounts.alike));
  if (accounts?.tail !== undefined) tables.set("tail", formatAtRate(accounts.tail));
  if (memory !== undefined) tables.set("memory", formatMemory(memory, openStreams));
  if (profiles !== undefined) tables.set("profiles", formatProfiles(profiles));
  if (translations !== undefined) {
    const line = ({ provider, chunkUs }: (typeof translations)[number]) => [provider, chunkUs.toFixed(2)];
    tables.set("translation", formatTable(["stream of", "CPU µs a chunk"], translations.map(line), [0]));
  }
  return new Map([...tables].map(([name, lines]) => [name, lines.join("\n")]));
}

/** Puts each table between its marks, where the page has them. */
export function putInto(page: string, tables: ReadonlyMap<string, string>): string {
  return [...tables].reduce((text, [name, table]) => {
    const marks = new RegExp(`(<!-- bench: ${name} -->\n)[^]*?(<!-- bench: end -->)`);
    return text.replace(marks, (_, opening, closing) => `${opening}\n${table}\n\n${closing}`);
  }, page);
}

function formatRun(machine: Machine, day: string, seconds: number | undefined): string[] {
  const load = machine.loadAverage;
  const others =
    load > quietLoad ? ", so **other processes were at work**, and times are worse than on a machine of its own" : "";
  return [
    `${day}; ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, Linux ${machine.kernel}, Bun ${machine.bun}. ` +
      `${machine.load}; ${machine.pinning}. Load average before the run: ${load.toFixed(2)}${others}.` +
      `${seconds === undefined ? "" : ` The run took ${Math.round(seconds)} s.`}`,
  ];
}

const namesOf = (rows: Rows) => [...new Set(rows.map(({ subject }) => subject))];

function find(rows: Rows, { kind, connections }: Row, subject: string): Row | undefined {
  return rows.find((row) => row.kind === kind && row.connections === connections && row.subject === subject);
}

/** The first subject has a row in every workload. */
const workloadsOf = (rows: Rows) => rows.filter(({ subject }) => subject === rows[0]?.subject);

function titleOf({ kind, connections }: Row): string {
  return kind === "paced" ? `${jobs[kind].title}, ${connections} at once (a chunk)` : jobs[kind].title;
}

function costOf(row: Row | undefined): string {
  if (row === undefined) return "–";
  const us = row.cpuUs * (isStreamed(row.kind) && row.kind !== "paced" ? chunkCount : 1);
  return us < 100 ? us.toFixed(1) : us.toFixed(0);
}

const ours = "modelgate";

/** Workloads by subjects; what ours takes of the bare proxy's CPU stands beside it. */
function formatCalls(rows: Rows): string[] {
  const names = namesOf(rows);
  const columns = names.flatMap((name) => (name === ours ? [name, "× bare"] : [name]));
  const lines = workloadsOf(rows).map((workload) => [
    titleOf(workload),
    ...names.flatMap((name) => {
      const row = find(rows, workload, name);
      return name === ours ? [costOf(row), row?.ratio.toFixed(2) ?? "–"] : [costOf(row)];
    }),
  ]);
  return formatTable(["CPU µs a call", ...columns], lines, [0]);
}

function formatSubjects({ described, rows }: NonNullable<Results["field"]>, latency: Latency[]): string[] {
  const columns = [
    "",
    "calls/s, 1 core",
    "p50 ms",
    "p99 ms",
    "1st event ms",
    "CPU µs at 1 000/s",
    "RSS MB",
    "start ms",
    "version",
    "without",
  ];
  const timesOf = (name: string) => {
    const found = latency.find(({ subject }) => subject === name);
    const times = [found?.p50Ms, found?.p99Ms, found?.firstP50Ms].map((ms) => ms?.toFixed(2) ?? "–");
    return [...times, found?.denseCpuUs?.toFixed(0) ?? "–"];
  };
  const lines = described.map(({ name, version, without, startMs }) => {
    const own = rows.filter(({ subject }) => subject === name);
    const json = own.find(({ kind }) => kind === "json");
    return [
      name,
      json?.callsPerSecond.toFixed(0) ?? "–",
      ...timesOf(name),
      Math.max(...own.map(({ rssMb }) => rssMb)).toFixed(0),
      startMs.toFixed(0),
      version,
      without,
    ];
  });
  const provider = latency.filter(({ subject }) => described.every(({ name }) => name !== subject));
  const direct = provider.map(({ subject }) => [subject, "", ...timesOf(subject), "", "", "", ""]);
  return formatTable(columns, [...lines, ...direct], [0, 8, 9]);
}

function formatGaps({ gaps, leftOut }: NonNullable<Results["field"]>): string[] {
  const lines = [
    ...leftOut.map(({ name, reason }) => `- ${name} was left out: ${clean(reason)}`),
    ...gaps.map(
      ({ subject, kind, connections, reason }) =>
        `- ${subject} has no figure for ${titleOf({ kind, connections } as Row)}: ${clean(reason)}`,
    ),
  ];
  return lines.length === 0 ? ["None was left out."] : lines;
}

const clean = (text: string) => text.replaceAll(/\s+/g, " ").slice(0, 200);

function formatAccounts({ rows, gaps }: NonNullable<Results["accounts"]>): string[] {
  const columns = ["JSON calls, 32 connections", "CPU µs", "× bare", "× one account", "p50 ms", "p99 ms", "calls/s"];
  const lines = rows.map((row) => {
    const [store] = row.subject.split(",");
    const one = rows.find(({ subject }) => subject.startsWith(`${store}, 1 `));
    return [
      row.subject,
      row.cpuUs.toFixed(1),
      row.ratio.toFixed(2),
      one === undefined ? "" : (row.cpuUs / one.cpuUs).toFixed(2),
      row.p50Ms.toFixed(2),
      row.p99Ms.toFixed(2),
      row.callsPerSecond.toFixed(0),
    ];
  });
  const left = gaps.map((gap) => `- No figure of ${clean(gap)}`);
  return [...formatTable(columns, lines, [0]), ...(left.length === 0 ? [] : ["", ...left])];
}

function formatAtRate({ callsPerSecond, rows }: AtRate): string[] {
  const [bare] = rows;
  const lines = rows.map(({ subject, cpuUs, p50Ms, p99Ms }) => [
    subject,
    cpuUs.toFixed(0),
    (cpuUs / (bare?.cpuUs ?? Number.NaN)).toFixed(2),
    p50Ms.toFixed(2),
    p99Ms.toFixed(2),
    (p99Ms / (bare?.p99Ms ?? Number.NaN)).toFixed(2),
  ]);
  const columns = [`${callsPerSecond} calls a second`, "CPU µs", "× bare", "p50 ms", "p99 ms", "p99 × bare"];
  return formatTable(columns, lines, [0]);
}

/** Subjects by rates; the times are those at the rate in the middle. */
function formatRates(rows: readonly RateRow[]): string[] {
  const rates = [...new Set(rows.map(({ callsPerSecond }) => callsPerSecond))].sort((a, b) => a - b);
  const middle = rates[rates.length >> 1] as number;
  const titleOf = ({ subject, isCold }: RateRow) => (isCold ? `${subject}, cold` : subject);
  const lines = [...new Set(rows.map(titleOf))].map((title) => {
    const at = (rate: number) => rows.find((row) => titleOf(row) === title && row.callsPerSecond === rate);
    const cpu = rates.map((rate) => {
      const row = at(rate);
      return row === undefined
        ? "–"
        : `${row.cpuUs.toFixed(0)} (${row.cpuUsFrom.toFixed(0)}–${row.cpuUsTo.toFixed(0)})`;
    });
    const times = at(middle);
    const figures = [
      times?.p50Ms.toFixed(2),
      times?.p99Ms.toFixed(2),
      times?.switches.toFixed(1),
      times?.threads.toFixed(0),
    ];
    return [title, ...cpu, ...figures.map((figure) => figure ?? "–")];
  });
  const columns = [
    "",
    ...rates.map((rate) => `CPU µs at ${rate}/s`),
    ...[`p50 ms at ${middle}/s`, "p99 ms", "context switches", "threads"],
  ];
  return formatTable(columns, lines, [0]);
}

function formatMemory(
  { calls, rssMb, mostMb }: NonNullable<Results["memory"]>,
  open: Results["openStreams"],
): string[] {
  const [atStart = Number.NaN] = rssMb;
  const lines = [
    ["after its start", atStart.toFixed(0)],
    [
      `during ${calls} calls of all workloads, by tenths`,
      rssMb
        .slice(1)
        .map((mb) => mb.toFixed(0))
        .join(" "),
    ],
    ["the most at any look meanwhile", mostMb.toFixed(0)],
    ...(open === undefined
      ? []
      : [[`with ${open.streams} open streams (${open.idleMb.toFixed(0)} before)`, open.rssMb.toFixed(0)]]),
  ];
  return formatTable(["", "RSS MB"], lines, [0, 1]);
}

function formatProfiles(profiles: readonly Profile[]): string[] {
  return profiles.flatMap(({ kind, callsPerSecond, top }, index) => [
    ...(index === 0 ? [] : [""]),
    `**${jobs[kind].title}${callsPerSecond === undefined ? "" : `, ${callsPerSecond} a second`}**`,
    "",
    ...formatTable(
      ["% of samples", "function"],
      top.map(({ what, percent }) => [percent.toFixed(1), `\`${what.replaceAll("|", "\\|")}\``]),
      [1],
    ),
  ]);
}
