import { expect, test } from "bun:test";
import { twoFreePorts } from "../../support/free-port.ts";
import { startGateway } from "../../support/gateway.ts";
import { newDatabase, whyNoPostgres } from "../../support/postgres.ts";
import { readScrape, sampleOf } from "../../support/prometheus-text.ts";
import { redisProgram, startRedis, useRedisServers } from "../../support/redis.ts";

useRedisServers();

test.skipIf(whyNoPostgres !== undefined || redisProgram === null)(
  "each of several workers counts its own calls on a port of its own",
  async () => {
    const redis = await startRedis();
    const port = await twoFreePorts();
    const env = { WORKERS: "2", DATABASE_URL: await newDatabase(), REDIS_URL: redis.url, METRICS_PORT: String(port) };
    const gateway = await startGateway({ env });
    try {
      const read = async (each: number) => {
        const deadline = Date.now() + 60_000;
        for (;;) {
          const scrape = await fetch(`http://127.0.0.1:${each}/metrics`).catch(() => undefined);
          if (scrape?.ok) return readScrape(await scrape.text());
          if (Date.now() > deadline) throw new Error(`No metrics on port ${each}`);
          await Bun.sleep(50);
        }
      };
      await Promise.all([read(port), read(port + 1)]);
      const messages = [{ role: "user", content: "Say hello" }];
      const calls = Array.from({ length: 40 }, () =>
        gateway.post("/chat/completions", { model: "gpt-4.1-nano", messages }),
      );
      for (const response of await Promise.all(calls)) expect(response.status).toBe(200);
      const countExports = (await Promise.all([read(port), read(port + 1)])).map((lines) => {
        expect(sampleOf(lines, "modelgate_redis_up", { use: "ledger" })).toBe(1);
        return lines.filter(({ name }) => name === "modelgate_calls_total").reduce((sum, { value }) => sum + value, 0);
      });
      expect((countExports[0] as number) + (countExports[1] as number)).toBe(40);
    } finally {
      await gateway.stop();
    }
  },
);
