import { isStreamed, jobs } from "./job.ts";
import type { Machine } from "./machine.ts";
import type { Memory } from "./memory.ts";
import type { Row } from "./rounds.ts";
import type { StartTime } from "./start-time.ts";
import { formatTable } from "./table.ts";
import type { Translation } from "./translate.ts";

export interface Results {
  machine: Machine;
  rows: Row[];
  /** Whole answers, by where the books are. */
  books?: Row[];
  translations?: Translation[];
  memory?: Memory;
  starts?: StartTime[];
}

const columns = ["job", "conns", "subject", "CPU µs", "ratio", "p50 ms", "p99 ms", "1st byte", "calls/s", "RSS MB"];

/** As Markdown, so that what is printed can stand in a page as it is. */
export function formatResults({ machine, rows, books, translations, memory, starts }: Results): string {
  const lines = formatMachine(machine);
  if (rows.length > 0) lines.push(...formatRows(rows), "");
  if (books !== undefined) lines.push(...formatBooks(books), "");
  for (const { provider, chunkUs, ratio } of translations ?? []) {
    lines.push(`Translating a stream of ${provider}: ${chunkUs.toFixed(2)} µs a chunk, ${ratio.toFixed(2)} × openai's`);
  }
  if (translations !== undefined) lines.push("");
  if (memory !== undefined) {
    const { calls, rssMb, mostMb, growthPercent } = memory;
    lines.push(
      `RSS MB over ${calls} calls, medians by tenths: ${rssMb.map((mb) => mb.toFixed(0)).join(" ")}; most ${mostMb.toFixed(0)}`,
    );
    lines.push(`Growth from the middle to the last tenths: ${growthPercent.toFixed(1)} %`, "");
  }
  for (const { program, firstMs, againMs } of starts ?? []) {
    const [first, again] = [firstMs.toFixed(0), againMs.toFixed(0)];
    lines.push(`First answer of the ${program}: ${again} ms after its start, ${first} ms with an empty home`);
  }
  return `${lines.join("\n").trimEnd()}\n`;
}

function formatRows(rows: Row[]): string[] {
  const cells = rows.map((row) => [
    jobs[row.kind].title,
    String(row.connections),
    row.subject,
    row.cpuUs.toFixed(isStreamed(row.kind) ? 2 : 1),
    row.ratio.toFixed(2),
    row.p50Ms.toFixed(2),
    row.p99Ms.toFixed(2),
    row.firstByteP50Ms === undefined ? "" : row.firstByteP50Ms.toFixed(2),
    row.callsPerSecond.toFixed(0),
    row.rssMb.toFixed(0),
  ]);
  return formatTable(columns, cells, [0, 2]);
}

export function formatMachine(machine: Machine): string[] {
  return [
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, Linux ${machine.kernel}, Bun ${machine.bun}`,
    `Load: ${machine.load}; pinning: ${machine.pinning}; load average before: ${machine.loadAverage.toFixed(2)}`,
    "",
  ];
}

/** Of stores of several sizes; `starts` in milliseconds, in the order of the rows after the first. */
export function formatScale(machine: Machine, rows: Row[], starts: number[]): string {
  const cells = rows.map(({ subject, cpuUs, ratio, p50Ms, rssMb }, index) => [
    subject,
    cpuUs.toFixed(1),
    ratio.toFixed(2),
    p50Ms.toFixed(2),
    rssMb.toFixed(0),
    starts[index - 1]?.toFixed(0) ?? "",
  ]);
  const titles = ["store", "CPU µs", "ratio", "p50 ms", "RSS MB", "start ms"];
  return `${[...formatMachine(machine), ...formatTable(titles, cells, [0])].join("\n")}\n`;
}

const booksColumns = ["conns", "books", "CPU µs", "ratio", "added p50 ms", "added p99 ms", "calls/s", "RSS MB"];

function formatBooks(rows: Row[]): string[] {
  const cells = rows.map((row) => [
    String(row.connections),
    row.subject,
    row.cpuUs.toFixed(1),
    row.ratio.toFixed(2),
    row.addedP50Ms.toFixed(2),
    row.addedP99Ms.toFixed(2),
    row.callsPerSecond.toFixed(0),
    row.rssMb.toFixed(0),
  ]);
  return formatTable(booksColumns, cells, [1]);
}
