import { describe, expect, test } from "bun:test";
import { createRedisLedger, RedisRefused } from "../../../src/ledger/index.ts";
import { temporaryFile, temporaryStore } from "../../store/temporary-store.ts";
import { errorOf } from "../../support/error-of.ts";
import { redisProgram, startRedis } from "../../support/redis.ts";
import { addAccount } from "../ground.ts";
import { makeCall, startNode, startNodes, useNodes } from "./ground.ts";

useNodes();

describe.skipIf(redisProgram === null)("a Redis is refused in one sentence", () => {
  test.each([
    ["that has a newer format", ["SET", "modelgate:format", "modelgate-ledger 2"], '"modelgate-ledger 2"'],
    ["of another project", ["HSET", "modelgate:format", "a", "b"], '"hash"'],
  ])("%s, and nothing is written there", async (_what, words, said) => {
    const redis = await startRedis();
    await redis.command(...words);
    const error = await errorOf(createRedisLedger({ store: await temporaryStore(), url: redis.url }));
    expect(error).toBeInstanceOf(RedisRefused);
    expect(error.message).toStartWith(`Cannot use this Redis: its key modelgate:format says ${said} and `);
    expect(error.message).not.toMatch(/[.\n]$/);
    expect(await redis.command("DBSIZE")).toBe(":1\r\n");
  });

  test.each([
    ["that asks for a password", "redis://127.0.0.1", "NOAUTH"],
    ["that knows another password", "redis://:hunter2@127.0.0.1", "WRONGPASS"],
  ])("%s", async (_what, url, said) => {
    const redis = await startRedis({ flags: ["--requirepass", "secret"] });
    const error = await errorOf(createRedisLedger({ store: await temporaryStore(), url: `${url}:${redis.port}` }));
    expect(error).toBeInstanceOf(RedisRefused);
    expect(error.message).toContain(said);
    expect(error.message).not.toContain("hunter2");
  });
});

test.skipIf(redisProgram === null)(
  "the nodes of two databases share a Redis and see nothing of each other",
  async () => {
    const { redis, node } = await startNodes(1, 1000);
    const file = temporaryFile();
    await addAccount(await temporaryStore(file), "acc_1", 500);
    const other = await startNode(file, redis);
    await makeCall(node);
    expect(await other.ledger.walletOf("acc_1")).toEqual({ balanceNanodollars: 500, heldNanodollars: 0 });
  },
);
