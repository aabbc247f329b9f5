import { afterEach, beforeEach, expect, test } from "bun:test";
import { exitCodes } from "../../../src/cli/exit-codes.ts";
import { type Bench, makeBench } from "./fixture.ts";

const email = "ada@example.org";

let bench: Bench;
beforeEach(async () => {
  bench = makeBench();
  await bench.run("account", "create", "--email", email);
});
afterEach(() => bench.remove());

/** Each command line that names the model of a rule. */
const commands: readonly ((name: string) => string[])[] = [
  (name) => ["limit", "set", name, "--requests-per-minute", "1"],
  (name) => ["budget", "create", "--subject", "model", "--name", name, "--budget-usd", "1", "--budget-period", "day"],
  (name) => ["policy", "create", "--policy", "guard", "--model", name, "--order", "1", "--on-failure", "closed"],
  (name) => ["key", "create", "--account", email, "--name", "laptop", "--models", name],
  (name) => ["account", "set", email, "--models", name],
];

test.each(commands.map((argv) => [argv("NAME").join(" "), argv] as const))(
  "%s: a pattern is refused, and a name that a later plugin may have is not",
  async (_, argv) => {
    for (const name of ["*", "acme/*"]) {
      const { code, stderr } = await bench.run(...argv(name));
      expect([name, code]).toEqual([name, exitCodes.invalid]);
      expect(stderr).toContain(`"${name}" is a pattern, but names of models are exact; name each model`);
    }
    const later = await bench.run(...argv("later"));
    expect(later).toMatchObject({ code: 0, stderr: expect.stringContaining("Warning: there is no model later") });
  },
);
