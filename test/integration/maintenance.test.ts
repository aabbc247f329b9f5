import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtIns, sandbox } from "../../plugins/index.ts";
import { createApp } from "../../src/app.ts";
import { readConfig } from "../../src/config/index.ts";
import { openStore, type Store } from "../../src/db/index.ts";
import { createLog } from "../../src/observability/log.ts";

/** Twice the time of two maintenance ticks on a slow machine. */
const roundsMsMax = 60_000;

test("maintenance that fails once logs a warning, and an error when it fails again", async () => {
  const home = mkdtempSync(join(tmpdir(), "modelgate-test-"));
  const real = await openStore({ file: join(home, "modelgate.db") });
  let failuresLeft = 3;
  let rounds = 0;
  const store = Object.create(real, {
    pollExternalChange: {
      value: () => {
        rounds++;
        if (failuresLeft-- > 0) throw new Error("database is locked");
        return false;
      },
    },
  }) as Store;
  const lines: { level: string; event: string }[] = [];
  const log = createLog("warn", (text) => {
    for (const line of text.trim().split("\n")) lines.push(JSON.parse(line));
  });
  const config = readConfig({ MODELGATE_HOME: home, HOST: "127.0.0.1", SANDBOX: "on" });
  const app = await createApp({ config, store, plugins: builtIns, createSandbox: sandbox, log, version: "test" });
  try {
    const untilRound = async (round: number) => {
      const deadline = Date.now() + roundsMsMax;
      while (rounds < round && Date.now() < deadline) await Bun.sleep(20);
      expect(rounds).toBeGreaterThanOrEqual(round);
    };
    await untilRound(4);
    failuresLeft = 1;
    await untilRound(rounds + 2);
    log.flush();
    const levels = lines.filter(({ event }) => event === "maintenance_failed").map(({ level }) => level);
    expect(levels).toEqual(["warn", "error", "error", "warn"]);
  } finally {
    await app.close();
    await real.close();
    rmSync(home, { recursive: true, force: true });
  }
});
