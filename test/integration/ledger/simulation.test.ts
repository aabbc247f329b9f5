import { afterAll, beforeAll, expect } from "bun:test";
import { isLong } from "../../support/long.ts";
import { migratedPostgres } from "../../support/migrated-postgres.ts";
import { whyNoPostgres } from "../../support/postgres.ts";
import { postgresTest } from "../db/postgres/fixture.ts";

/**
 * Gateways under a seed: the real ledger, its queue, holds, spool and leases over the real SQL, in virtual time, on sockets, disks and clocks
 * that fail (`test/support/simulation`). A failure prints its seed and its steps, shrunken: `SEED=…` repeats all of it, `STEPS='…'`
 * one history with all that happened in it. Without a seed the long form draws one.
 */
const shortSeed = "1";
const histories = isLong ? 10_000 : 15;

let url: string;
beforeAll(async () => {
  if (whyNoPostgres === undefined) url = await migratedPostgres();
});

/** What it prints, and how it ended. A process of its own, because it replaces timers, sockets and clocks of the whole process. */
async function simulate(name: string): Promise<{ exitCode: number; output: string }> {
  const folder = "./test/support/simulation";
  const { SEED: seed = isLong ? undefined : shortSeed } = process.env;
  const child = Bun.spawn(
    [
      process.execPath,
      "test",
      "--timeout=21600000",
      "--preload",
      `${folder}/platform.ts`,
      `${folder}/histories.ts`,
      "-t",
      name,
    ],
    {
      env: { ...process.env, SIMULATION_URL: url, SIMULATION_RUNS: String(histories), SEED: seed },
      stdout: "pipe",
      stderr: "pipe",
    },
  );
  running.add(child);
  const texts = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const exitCode = await child.exited;
  running.delete(child);
  return { exitCode, output: texts.join("\n") };
}

const running = new Set<Bun.Subprocess>();
afterAll(() => {
  for (const child of running) child.kill();
});

postgresTest(
  "whatever fails under several gateways, money is conserved, each answer is charged once, and no hold outlives its gateway",
  async () => {
    const { exitCode, output } = await simulate("no history breaks a rule");
    if (isLong || process.env.STEPS !== undefined) console.log(output);
    expect(exitCode, output).toBe(0);
  },
);

postgresTest("a simulated history happens again, event for event, from its seed", async () => {
  const { exitCode, output } = await simulate("a history happens again");
  expect(exitCode, output).toBe(0);
});
