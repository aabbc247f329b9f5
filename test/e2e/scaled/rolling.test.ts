import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startFront } from "../../support/front.ts";
import { fillWallet, type Gateway, startGateway } from "../../support/gateway.ts";
import { newDatabase, whyNoPostgres } from "../../support/postgres.ts";
import { redisProgram, startRedis, useRedisServers } from "../../support/redis.ts";
import { until } from "../../support/until.ts";

/** In the long form more calls at once, and each node is restarted several times. */
const isLong = process.env.LONG === "1";
const [callersCount, rounds] = isLong ? [24, 5] : [8, 1];
const triesMax = 10;
useRedisServers();

/** What became of the calls that were asked for while nodes came and went. */
interface UsageMeter {
  answered: number;
  lost: string[];
  isOver: boolean;
}

/** A caller who asks one thing after another, by turns whole and streamed, until told to stop. */
async function callAll(url: string, key: string, usageMeter: UsageMeter, index: number): Promise<void> {
  for (let count = index; !usageMeter.isOver; count++) {
    const stream = count % 2 === 0;
    const fault = stream ? "pace=30" : "delay=150";
    const content = `[[fault: ${fault}]] one two three four five`;
    const body = JSON.stringify({ model: "famA-4.1", stream, messages: [{ role: "user", content }] });
    const said = await ask(url, key, body).catch((error) => `failed: ${error}`);
    if (stream ? said.endsWith("data: [DONE]\n\n") : said.includes('"finish_reason":"stop"')) usageMeter.answered++;
    else usageMeter.lost.push(said.slice(-300));
  }
}

/** A store that is slow for a moment says 503 and is asked again, as clients do; nothing else is. */
async function ask(url: string, key: string, body: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  for (let tries = 1; ; tries++) {
    const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body });
    const text = await response.text();
    const isSlow = response.status === 503 && !text.includes("shutting down") && tries < triesMax;
    if (!isSlow) return response.ok ? text : `${response.status}: ${text}`;
    await Bun.sleep(100);
  }
}

const missing = whyNoPostgres ?? (redisProgram === null ? "there is no redis-server" : undefined);
if (missing !== undefined) console.warn(`A rolling restart is not tried: ${missing}`);

describe.skipIf(missing !== undefined)("two gateways behind a balancer", () => {
  test("are restarted one after the other under load, and no call is lost", async () => {
    const home = mkdtempSync(join(tmpdir(), "modelgate-test-"));
    const redis = await startRedis();
    const shared = {
      REDIS_URL: redis.url,
      DATABASE_URL: await newDatabase(),
      DRAIN_NOTICE_SECONDS: "1",
      LOG_LEVEL: "warn",
    };
    const nodes: Gateway[] = [];
    for (let index = 0; index < 2; index++) nodes.push(await startGateway({ home, env: shared }));
    const front = await startFront(nodes.map(({ origin }) => origin));
    try {
      const first = nodes[0] as Gateway;
      await fillWallet(first);
      const usageMeter: UsageMeter = { answered: 0, lost: [], isOver: false };
      const callers = Array.from({ length: callersCount }, (_, index) =>
        callAll(front.origin, first.key, usageMeter, index),
      );
      for (let round = 0; round < rounds; round++) {
        for (const [index, { origin, pid, ended }] of nodes.entries()) {
          const before = usageMeter.answered;
          process.kill(pid, "SIGTERM");
          expect(await ended).toBe(0);
          await until(() => !front.isUp(origin));
          nodes[index] = await startGateway({ home, env: { ...shared, PORT: new URL(origin).port } });
          await until(() => front.isUp(origin));
          await until(() => usageMeter.answered > before);
        }
      }
      usageMeter.isOver = true;
      await Promise.all(callers);
      expect(usageMeter.lost).toEqual([]);
      const { ok, counts } = await (nodes[0] as Gateway).cli<{ ok: boolean; counts: Record<string, number> }>(
        "ledger",
        "verify",
      );
      expect([ok, counts.open]).toEqual([true, 0]);
      expect(counts.calls).toBeGreaterThanOrEqual(usageMeter.answered);
      console.log(`Rolling restart: ${usageMeter.answered} calls answered, ${usageMeter.lost.length} lost`);
    } finally {
      await front.stop();
      for (const node of nodes) await node.stop();
      rmSync(home, { recursive: true, force: true });
    }
  });
});
