import { expect, test } from "bun:test";
import { hostileInputs } from "./inputs.ts";
import { type HostileResult, runHostile } from "./run-hostile.ts";

/** Far above what `bun test/bench/hostile.ts` measures, so that a slow machine does not fail the test. */
const pauseMsMax = 2000;
const moreMbMax = 1000;
const testMsMax = 240_000;

/** Prints the figures, so that a failure says by how much. */
const said = ({ input, statuses, healthMsMax, rssMbMax }: HostileResult) =>
  `${input.name}: ${[...new Set(statuses)].join(", ")}, pause ${healthMsMax.toFixed(0)} ms, ${rssMbMax.toFixed(0)} MB`;

test(
  "hostile input of one key without money is refused, charged nothing, and others are served meanwhile",
  async () => {
    const run = await runHostile((result) => console.log(said(result)));
    expect(run.results).toHaveLength(hostileInputs.length);
    for (const result of run.results) {
      const { input, statuses, healthMsMax, rssMbMax, failures } = result;
      const unexpected = statuses.filter((status) => !input.statuses.includes(status));
      expect([input.name, unexpected]).toEqual([input.name, []]);
      expect([input.name, failures]).toEqual([input.name, 0]);
      expect(healthMsMax, said(result)).toBeLessThan(pauseMsMax);
      expect(rssMbMax - run.idleRssMb, said(result)).toBeLessThan(moreMbMax);
    }
    expect(run.neighbourCalls).toBeGreaterThan(hostileInputs.length);
    expect(run.hostileCalls).toBe(0);
    expect(run.isVerified).toBe(true);
  },
  testMsMax,
);
