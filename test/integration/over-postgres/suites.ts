import { expect, test } from "bun:test";
import { join } from "node:path";
import { cpuVariable } from "../../support/cpu-account.ts";
import { isLong } from "../../support/long.ts";
import { whyNoPostgres } from "../../support/postgres.ts";

/**
 * Runs suites that know the store by its interface alone over PostgreSQL too. Each file of this folder runs some of them in
 * a process of its own, so that the workers of a run share them.
 *
 * @param suites Those whose statements are others there: dates, locks, sums, upserts, orders of nulls.
 * @param others Those of the long form alone, whose statements the former have too.
 */
export function testOverPostgres(suites: readonly string[], others: readonly string[] = []): void {
  if (!isLong && others.length > 0)
    console.log(`Over PostgreSQL in the long form alone (LONG=1): ${others.join(", ")}`);
  if (whyNoPostgres !== undefined) console.warn(`The suites over PostgreSQL are skipped: ${whyNoPostgres}`);

  test.skipIf(whyNoPostgres !== undefined)(
    "what holds over SQLite holds over PostgreSQL",
    async () => {
      const files = [...suites, ...(isLong ? others : [])].map((suite) => `./test/${suite}.test.ts`);
      const child = Bun.spawn([process.execPath, "test", "--timeout=240000", ...files], {
        cwd: join(import.meta.dir, "../../.."),
        env: { ...process.env, MODELGATE_TEST_STORE: "postgres", [cpuVariable]: undefined },
        stdout: "pipe",
        stderr: "pipe",
      });
      const output = (await Promise.all([child.stdout, child.stderr].map((pipe) => new Response(pipe).text()))).join(
        "",
      );
      const failed = output.split("\n").filter((line) => line.startsWith("(fail)"));
      expect(failed).toEqual([]);
      expect(await child.exited, output).toBe(0);
      // A suite that was moved would be left out without a word.
      expect(output).toContain(`across ${files.length} file`);
      // So that the count of the run tells of these too.
      console.log(`Over PostgreSQL: ${/\d+ pass/.exec(output)?.[0]}`);
    },
    (isLong ? 6 : 1) * 3_600_000,
  );
}
