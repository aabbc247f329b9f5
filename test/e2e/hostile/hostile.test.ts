import { expect, test } from "bun:test";
import { isLong } from "../../support/long.ts";
import { slowness } from "../../support/slowness.ts";
import { hostileInputs } from "./inputs.ts";
import { type HostileResult, runHostile } from "./run-hostile.ts";

/** Above what `bun test/bench/hostile.ts` measures. */
const turnCpuMsMax = 300 * slowness();
/** By the clock, so for a machine that has nothing else to do. */
const pauseMsMax = isLong ? 2000 : Number.POSITIVE_INFINITY;
/** The short form sends every third. */
const inputs = hostileInputs.filter((_, index) => isLong || index % 3 === 0);
const moreMbMax = 600;

/** Prints the figures, so that a failure says by how much. */
const said = ({ input, statuses, cpuMsMax, healthMsMax, rssMbMax }: HostileResult) => {
  const waits = `turn ${cpuMsMax.toFixed(0)} ms of CPU, pause ${healthMsMax.toFixed(0)} ms`;
  return `${input.name}: ${[...new Set(statuses)].join(", ")}, ${waits}, ${rssMbMax.toFixed(0)} MB`;
};

test("hostile input of one key without money is refused, charged nothing, and others are served meanwhile", async () => {
  const run = await runHostile((result) => console.log(said(result)), { inputs });
  expect(run.results).toHaveLength(inputs.length);
  for (const result of run.results) {
    const { input, statuses, cpuMsMax, healthMsMax, rssMbMax, failures } = result;
    const unexpected = statuses.filter((status) => !input.statuses.includes(status));
    expect([input.name, unexpected]).toEqual([input.name, []]);
    expect([input.name, failures]).toEqual([input.name, 0]);
    expect(cpuMsMax, said(result)).toBeLessThan(turnCpuMsMax);
    expect(healthMsMax, said(result)).toBeLessThan(pauseMsMax);
    expect(rssMbMax - run.idleRssMb, said(result)).toBeLessThan(moreMbMax);
  }
  expect(run.neighbourCalls).toBeGreaterThan(inputs.length);
  expect(run.hostileCalls).toBe(0);
  expect(run.isVerified).toBe(true);
});
