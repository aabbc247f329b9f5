import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isLong } from "../../support/long.ts";
import { slowness } from "../../support/slowness.ts";
import { hostileInputs } from "./inputs.ts";
import { type HostileBench, type HostileResult, startHostileBench } from "./run-hostile.ts";

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

describe("hostile input of one key without money", () => {
  let bench: HostileBench;
  beforeAll(async () => {
    bench = await startHostileBench();
  });
  afterAll(() => bench?.stop());

  test.each(inputs.map((input) => [input.name, input] as const))(
    "is refused, and others are served meanwhile: %s",
    async (_, input) => {
      const result = await bench.send(input);
      console.log(said(result));
      expect(result.statuses.filter((status) => !input.statuses.includes(status))).toEqual([]);
      expect(result.failures).toBe(0);
      expect(result.cpuMsMax, said(result)).toBeLessThan(turnCpuMsMax);
      expect(result.healthMsMax, said(result)).toBeLessThan(pauseMsMax);
      expect(result.rssMbMax - bench.idleRssMb, said(result)).toBeLessThan(moreMbMax);
    },
  );

  test("is charged nothing, and the ledger is in order", async () => {
    const { hostileCalls, neighbourCalls, isVerified } = await bench.review();
    expect(neighbourCalls).toBeGreaterThan(inputs.length);
    expect(hostileCalls).toBe(0);
    expect(isVerified).toBe(true);
  });
});
