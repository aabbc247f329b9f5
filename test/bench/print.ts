import type { Machine } from "./machine.ts";
import type { Row } from "./rounds.ts";
import { formatTable } from "./table.ts";

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
