import { describe, expect, test } from "bun:test";
import { fillWallet, type Gateway } from "../../support/gateway.ts";
import { startRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { canShare, chat, makeAccount, usePair } from "./pair.ts";

const requestsPerMinute = 80;

const statusesOf = (responses: Response[]) => {
  const counts: Record<number, number> = {};
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

async function verified(gateway: Gateway): Promise<void> {
  const { code, stdout, stderr } = await gateway.run("ledger", "verify");
  expect(code, stdout + stderr).toBe(0);
}

describe.skipIf(!canShare)("two gateways on PostgreSQL and Redis", () => {
  const pair = usePair({ REQUESTS_PER_MINUTE: String(requestsPerMinute) });
  const first = () => pair.gateways[0] as Gateway;

  /** Asks 120 times for a new account. In waves, so that it is a limit that refuses and not a store that has too much to do. */
  async function askInWaves(name: string) {
    const { key } = await makeAccount(first(), name);
    const responses: Response[] = [];
    for (let wave = 0; wave < 6; wave++) {
      const asked = Array.from({ length: 20 }, (_, index) => chat(pair, index, { key, model: "famA-4.1-nano" }));
      responses.push(...(await Promise.all(asked)));
    }
    return statusesOf(responses);
  }

  test("let no call in once the wallet is empty, whichever is asked", async () => {
    // A hold for 100 tokens out and the few that the prompt can be; the answers cost less, and take a while.
    const { key } = await makeAccount(first(), "racer", "0.01");
    const text = "[[fault: delay=1500]] Hello";
    const responses = await Promise.all(Array.from({ length: 64 }, (_, index) => chat(pair, index, { key, text })));
    const counts = statusesOf(responses);
    expect(Object.keys(counts)).toEqual(["200", "403"]);
    expect(counts[200]).toBeLessThan(15);
    const bodies = await Promise.all(responses.filter(({ status }) => status === 403).map((each) => each.json()));
    expect(new Set(bodies.map(({ error }) => error.code))).toEqual(new Set(["insufficient_balance"]));
    const { wallet } = await (await first().ask("/key", { headers: { authorization: `Bearer ${key}` } })).json();
    expect(wallet.held_usd).toBe("0");
    expect(Number(wallet.balance_usd)).toBeGreaterThanOrEqual(0);
    await verified(first());
  });

  test("count one minute's requests together", async () => {
    const timesDown = () => pair.gateways.map((gateway) => gateway.stderr().split("redis_down").length);
    // On a machine with too much to do Redis may be silent for so long that each node counts alone: then it is tried again.
    for (let tries = 1; tries <= 5; tries++) {
      const before = timesDown();
      const start = performance.now();
      const counts = await askInWaves(`fast-${tries}`);
      const drained = Math.ceil(((performance.now() - start) * requestsPerMinute) / 60_000);
      expect(Object.keys(counts)).toEqual(["200", "429"]);
      expect(counts[200]).toBeGreaterThanOrEqual(requestsPerMinute);
      if (!Bun.deepEquals(timesDown(), before)) continue;
      expect(counts[200]).toBeLessThanOrEqual(requestsPerMinute + drained);
      return;
    }
    throw new Error("Redis was silent in each of five tries");
  });

  test("refuse a key within a second of its end", async () => {
    const { id, key } = await makeAccount(first(), "leaver");
    const model = "famA-4.1-nano";
    for (const index of [0, 1]) expect((await chat(pair, index, { key, model })).status).toBe(200);
    await first().cli("key", "revoke", id);
    await Bun.sleep(1000);
    for (const index of [0, 1]) expect((await chat(pair, index, { key, model })).status).toBe(401);
  });

  test("serve on while Redis is killed and started again, and say so", async () => {
    await fillWallet(first());
    const readiness = async () => {
      const response = await fetch(`${first().origin}/readyz`);
      return [response.status, (await response.json()).status];
    };
    expect(await readiness()).toEqual([200, "ready"]);
    const calls = Array.from({ length: 60 }, async (_, index) => {
      await Bun.sleep(index * 10);
      return chat(pair, index);
    });
    await Bun.sleep(100);
    await pair.redis.stop("SIGKILL");
    // A gateway says so once a call of it has met the end of Redis, which a busy machine takes its time for.
    await until(async () => (await readiness())[1] === "degraded");
    expect(await readiness()).toEqual([200, "degraded"]);
    expect(statusesOf(await Promise.all(calls))).toEqual({ 200: 60 });
    pair.redis = await startRedis({ port: pair.redis.port });
    while ((await readiness())[1] !== "ready") await Bun.sleep(20);
    expect((await chat(pair, 0)).status).toBe(200);
    await verified(first());
  });
});
