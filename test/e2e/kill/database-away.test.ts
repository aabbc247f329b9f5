import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fillWallet, type Gateway, startGateway } from "../../support/gateway.ts";
import {
  newDatabase,
  type PostgresServer,
  queryPostgres,
  startPostgres,
  whyNoPostgres,
} from "../../support/postgres.ts";
import { until } from "../../support/until.ts";

const calls = 8;

/** Whole answers and streams, all of which take some seconds. */
async function ask(gateway: Gateway, place: number): Promise<boolean> {
  const stream = place % 2 === 0;
  const fault = stream ? "pace=300" : "delay=3000";
  const content = `[[fault: ${fault}]] one two three four five six seven eight nine ten`;
  const response = await gateway.post("/chat/completions", {
    model: "famA-4.1",
    stream,
    messages: [{ role: "user", content }],
  });
  const text = await response.text();
  return response.status === 200 && (stream ? text.trimEnd().endsWith("data: [DONE]") : text.includes('"usage"'));
}

describe.skipIf(whyNoPostgres !== undefined)("answers that are delivered while PostgreSQL is away", () => {
  let server: PostgresServer;
  const homes: string[] = [];
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    await server.remove();
    for (const home of homes) rmSync(home, { recursive: true, force: true });
  });

  test.each(["SIGTERM", "SIGKILL"] as const)(
    "are charged, once, though the gateway ends by %s before PostgreSQL is back",
    async (signal) => {
      const url = await newDatabase(server);
      const home = mkdtempSync(join(tmpdir(), "modelgate-test-"));
      homes.push(home);
      const env = { DATABASE_URL: url, SANDBOX: "on", DRAIN_SECONDS: "1", OVERLOAD_LAG_MS: "0" };
      const gateway = await startGateway({ env, home });
      await fillWallet(gateway);
      const answers = Array.from({ length: calls }, (_, place) => ask(gateway, place));
      const countOf = async (table: string) => {
        const [row] = await queryPostgres<{ count: number }>(url, `select count(*)::int as count from ${table}`);
        return row?.count;
      };
      await until(async () => (await countOf("open_calls")) === calls);
      await server.kill();
      expect(await Promise.all(answers)).toEqual(Array.from({ length: calls }, () => true));
      const [file] = readdirSync(join(home, "spool"));
      expect(file).toEndWith(".ends");
      process.kill(gateway.pid, signal);
      expect(await gateway.ended).toBe(signal === "SIGTERM" ? 0 : 137);
      if (signal === "SIGTERM") expect(gateway.stderr()).toContain("charges_spooled");
      await server.start();
      const next = await startGateway({ env, home });
      try {
        await until(async () => (await countOf("calls where state = 'settled'")) === calls);
        expect(next.stderr()).toContain("charges_replayed");
        expect([await countOf("calls"), await countOf("open_calls")]).toEqual([calls, 0]);
        const { code, stdout } = await next.run("ledger", "verify");
        expect(code, stdout).toBe(0);
      } finally {
        await next.stop();
      }
    },
  );
});
