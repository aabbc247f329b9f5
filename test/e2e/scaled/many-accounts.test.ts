import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import pg from "pg";
import { fillPostgresAccounts, keyOfAccount } from "../../bench/fill-store.ts";
import { startGateway } from "../../support/gateway.ts";
import { isLong } from "../../support/long.ts";
import { newDatabase } from "../../support/postgres.ts";
import { startRedis, useRedisServers } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { canShare } from "./pair.ts";

const accounts = 10_000;
const atOnce = 64;
const metricsToken = "a-token-of-thirty-two-characters-";

if (!isLong) console.log(`${accounts} accounts over PostgreSQL and Redis are for LONG=1`);

describe.skipIf(!isLong || !canShare)("ten thousand accounts over PostgreSQL and Redis", () => {
  useRedisServers();

  test("are all served, each charged once, within a memory and a number of series that do not follow from theirs", async () => {
    const url = await newDatabase();
    await fillPostgresAccounts(url, accounts);
    const redis = await startRedis();
    const gateway = await startGateway({
      env: { DATABASE_URL: url, REDIS_URL: redis.url, SANDBOX: "on", METRICS_TOKEN: metricsToken },
    });
    const rssMb = () =>
      Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${gateway.pid}/status`, "utf8"))?.[1]) / 1024;
    const series = async () =>
      (
        await (
          await fetch(`${gateway.origin}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } })
        ).text()
      ).match(/^modelgate_/gm)?.length ?? 0;
    const ask = async (number: number) => {
      const body = { model: "famA-4.1-nano", max_tokens: 5, messages: [{ role: "user", content: "Hello" }] };
      const response = await gateway.post("/chat/completions", body, {
        authorization: `Bearer ${keyOfAccount(number)}`,
      });
      await response.text();
      return response.status;
    };
    await ask(1);
    const [seriesBefore, rssBefore] = [await series(), rssMb()];
    const statuses = new Map<number, number>();
    let next = 1;
    const askers = Array.from({ length: atOnce }, async () => {
      for (let number = ++next; number <= accounts; number = ++next) {
        const status = await ask(number);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    });
    await Promise.all(askers);
    expect([...statuses]).toEqual([[200, accounts - 1]]);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const read = async () =>
      (await client.query("select count(*)::int as calls, count(distinct account_id)::int as payers from calls"))
        .rows[0];
    await until(async () => (await read()).calls === accounts);
    expect(await read()).toEqual({ calls: accounts, payers: accounts });
    await client.end();
    const [seriesAfter, rssAfter] = [await series(), rssMb()];
    console.log(`${accounts} accounts: RSS ${rssBefore.toFixed(0)} → ${rssAfter.toFixed(0)} MB, ${seriesAfter} series`);
    // More calls show more buckets of histograms, but nothing has an account in its labels.
    expect(seriesBefore).toBeGreaterThan(50);
    expect(seriesAfter - seriesBefore).toBeLessThan(100);
    expect(rssAfter).toBeLessThan(600);
    expect(await gateway.stop()).toBe(0);
  });
});
