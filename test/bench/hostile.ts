/** `bun test/bench/hostile.ts [PATTERN]`: what hostile input does to the gateway, its health check and a neighbour's calls. */
import { hostileInputs } from "../e2e/hostile/inputs.ts";
import { type HostileResult, startHostileBench } from "../e2e/hostile/run-hostile.ts";
import { formatTable } from "./table.ts";

const [pattern = "", freeTokens] = process.argv.slice(2);
const columns = ["input", "status", "CPU ms", "stall ms", "healthz ms", "neighbour ms", "failures", "MB over idle"];

function toRow({ input, statuses, ...seen }: HostileResult, idleRssMb: number): string[] {
  const counts = [...new Set(statuses)].map(
    (status) => `${status} × ${statuses.filter((each) => each === status).length}`,
  );
  const { cpuMsMax, stallMsMax, healthMsMax, neighbourMsMax } = seen;
  const figures = [cpuMsMax, stallMsMax, healthMsMax, neighbourMsMax, seen.failures, seen.rssMbMax - idleRssMb];
  return [input.name, counts.join(", "), ...figures.map((figure) => figure.toFixed(0))];
}

const rows: string[][] = [];
const bench = await startHostileBench(freeTokens);
const { idleRssMb } = bench;
for (const input of hostileInputs.filter(({ name }) => new RegExp(pattern).test(name))) {
  rows.push(toRow(await bench.send(input), idleRssMb));
  process.stderr.write(`${rows.at(-1)?.join(" | ")}\n`);
}
const { hostileCalls, isVerified } = await bench.review();
await bench.stop();
process.stdout.write(`${formatTable(columns, rows, [0, 1]).join("\n")}\n\n`);
process.stdout.write(
  `Idle: ${idleRssMb.toFixed(0)} MB. Calls in the ledger: ${hostileCalls}. Ledger in order: ${isVerified}\n`,
);
process.exit(0);
