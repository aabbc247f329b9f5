import { afterAll, describe, expect, test } from "bun:test";
import { isLong } from "../../support/long.ts";
import { SourceCopy } from "../../support/mutation.ts";
import { whyNoPostgres } from "../../support/postgres.ts";
import { redisProgram } from "../../support/redis-server.ts";
import { repairs } from "../../support/simulation/repairs.ts";
import { faultsOf } from "./faults.ts";

/** Seeds after which a fleet has shown what is missing, or does not, and how many of them are tried at once. */
const seedsMax = 24;
const atOnce = 2;
const inFleet = repairs.flatMap(({ name, edits, faults }) => (faults === undefined ? [] : [{ name, edits, faults }]));

test("every fault that shows that a repair is missing is in the table", () => {
  expect(inFleet.map(({ faults }) => faultsOf(faults).length)).toEqual(inFleet.map(() => 2));
});

describe.skipIf(whyNoPostgres !== undefined || redisProgram === null)("a repair that is taken out is found", () => {
  let copy: SourceCopy | undefined;
  afterAll(() => copy?.remove());

  /** Runs a program of the copy, whose gateways run from its source. */
  async function run(words: readonly string[], env: Record<string, string> = {}) {
    const child = Bun.spawn([process.execPath, ...words], {
      cwd: copy?.folder as string,
      env: { ...process.env, MODELGATE_BINARY: "", ...env },
      stdout: "pipe",
      stderr: "pipe",
    });
    const texts = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { exitCode: await child.exited, output: texts.join("\n") };
  }

  test.each(isLong ? repairs : [])("in virtual time: $name", async ({ name, edits }) => {
    copy ??= new SourceCopy();
    const takeBack = copy.edit(edits);
    const file = "test/integration/ledger/simulation.test.ts";
    // The histories of the gate.
    const { exitCode, output } = await run(["test", file, "-t", "whatever fails"], { LONG: "", SEED: "1" });
    takeBack();
    const [line = "nothing breaks a rule"] = /SEED=\d+ breaks a rule at history .*\nSTEPS=.*/.exec(output) ?? [];
    console.log(`${name}: ${line}`);
    expect([exitCode, line], output).toEqual([1, expect.stringContaining("breaks a rule")]);
  });

  test.each(isLong ? inFleet : [])("by a fleet of real processes: $name", async ({ name, edits, faults }) => {
    copy ??= new SourceCopy();
    const takeBack = copy.edit(edits);
    const lines: string[] = [];
    for (let first = 1; first <= seedsMax && lines.length === 0; first += atOnce) {
      const seeds = Array.from({ length: atOnce }, (_, each) => String(first + each));
      const outcomes = await Promise.all(seeds.map((seed) => run(["test/e2e/fleet/pair.ts", seed, faults])));
      // One that ends by an error has found nothing.
      lines.push(...outcomes.map(({ output }) => output.trim()).filter((output) => output.includes("FAILED")));
    }
    takeBack();
    console.log(`${name}:\n${lines.join("\n")}`);
    expect(lines, `${seedsMax} seeds show nothing`).not.toEqual([]);
  });
});
