import { afterAll, describe, expect, test } from "bun:test";
import type { TurnStore } from "../../../src/contract/index.ts";
import { openRedisTurns } from "../../../src/ledger/index.ts";
import { nextTurn, parts, toBody } from "../../support/cache-provider.ts";
import { redisProgram, startRedis, useRedisServers } from "../../support/redis.ts";
import { type SlowProxy, startSlowProxy } from "../../support/slow-proxy.ts";
import { until } from "../../support/until.ts";
import { type CacheBench, claude, type Json, startCacheBench } from "./bench.ts";

useRedisServers();
const benches: CacheBench[] = [];
const proxies: SlowProxy[] = [];
afterAll(async () => {
  for (const bench of benches) await bench.stop();
  for (const proxy of proxies) await proxy.stop();
});

/** A gateway whose turns are in Redis, and how it becomes another node of the same gateways. */
async function startShared(url: string) {
  const bench = await startCacheBench();
  benches.push(bench);
  const { store, app } = bench.gateway;
  const { promptTurns } = app.kernel;
  if (promptTurns === undefined) throw new Error("The gateway keeps no turns");
  const connect = async () => {
    const turns = await openRedisTurns({ store, url, bytesMax: 2 ** 20 });
    let reading: unknown;
    const watched: TurnStore = {
      read(session) {
        const stored = turns.read(session);
        reading = stored;
        return stored;
      },
      write: (...turn) => turns.write(...turn),
    };
    // A provider takes longer than Redis.
    bench.provider.beforeAnswer = async () => await reading;
    Object.assign(app.kernel, { promptTurns: { ...promptTurns, store: watched, secret: 5n } });
    await until(async () => (await turns.read("none")) !== undefined);
    return turns;
  };
  return { bench, connect };
}

describe.skipIf(redisProgram === null)("turns in Redis", () => {
  test("of one node are compared by another, and expire by themselves", async () => {
    const redis = await startRedis();
    const { bench, connect } = await startShared(redis.url);
    const first = await connect();
    const ask = async (body: object) => (await bench.ask("messages", body as Json)).cache_miss;
    expect(await ask(toBody("messages", claude, parts()))).toBe("first_seen");
    const listKeys = async () =>
      (await redis.command("keys", "*:turns:*")).split("\r\n").filter((line) => /:turns:/.test(line));
    await until(async () => (await listKeys()).length === 1);
    first.close();
    const second = await connect();
    bench.provider.cache.forget();
    expect(await ask(toBody("messages", claude, nextTurn(parts())))).toBe("provider");
    const [key = ""] = await listKeys();
    expect(Number((await redis.command("pttl", key)).trim().slice(1))).toBeGreaterThan(3_500_000);
    expect(await redis.command("hlen", key)).toStartWith(":1");
    second.close();
  });

  test("of one process take no more than its share of Redis, and the last ones stay", async () => {
    const redis = await startRedis();
    const bench = await startCacheBench();
    benches.push(bench);
    const turns = await openRedisTurns({ store: bench.gateway.store, url: redis.url, bytesMax: 100_000 });
    await until(async () => (await turns.read("none")) !== undefined);
    for (let session = 0; session < 50; session++) {
      turns.write(`s${session}`, { id: "a", bytes: new Uint8Array(10_000) }, []);
      await turns.read(`s${session}`);
    }
    await until(async () => Number((await redis.command("dbsize")).trim().slice(1)) < 10);
    expect((await turns.read("s49"))?.map(({ bytes }) => bytes.byteLength)).toEqual([10_000]);
    expect(await turns.read("s0")).toEqual([]);
    turns.close();
  });

  test("that Redis does not give, because it is silent or gone, neither fail nor delay a call", async () => {
    const redis = await startRedis();
    const proxy = await startSlowProxy(redis.port);
    proxies.push(proxy);
    const { bench, connect } = await startShared(`redis://127.0.0.1:${proxy.port}/0`);
    const turns = await connect();
    bench.provider.beforeAnswer = undefined;
    const ask = async (turn: number) => {
      const startedAt = performance.now();
      const row = await bench.ask("messages", toBody("messages", claude, parts()), `session-${turn}`);
      return { ms: performance.now() - startedAt, row };
    };
    for (let turn = 0; turn < 5; turn++) await ask(turn);
    // As long as this is below the time that an answer of Redis may take, no call waited for one.
    const waitMsMax = 200;
    proxy.delayMs = Number.POSITIVE_INFINITY;
    const silent = [];
    for (let turn = 0; turn < 10; turn++) silent.push(await ask(turn));
    expect(silent.map(({ row }) => row.cache_miss)).toEqual(silent.map(() => null));
    expect(Math.min(...silent.map(({ ms }) => ms))).toBeLessThan(waitMsMax);
    await redis.stop("SIGKILL");
    proxy.cut();
    const dead = [];
    for (let turn = 0; turn < 10; turn++) dead.push(await ask(turn));
    expect(dead.map(({ row }) => row.cache_miss)).toEqual(dead.map(() => null));
    turns.close();
  });
});
