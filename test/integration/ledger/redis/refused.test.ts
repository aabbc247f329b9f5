import { describe, expect, test } from "bun:test";
import { RedisRefused } from "../../../../src/ledger/index.ts";
import { openRedisLimits } from "../../../../src/ledger/redis/redis-limits.ts";
import { errorOf } from "../../../support/error-of.ts";
import { redisProgram, startRedis } from "../../../support/redis.ts";
import { node as databaseNode } from "../../db/postgres/fixture.ts";
import { temporaryStore } from "../../db/temporary-store.ts";
import { addAccount, createAdmission } from "../fixture.ts";
import { canShare, makeCall, startNode, startNodes, useNodes } from "./fixture.ts";

useNodes();

describe.skipIf(redisProgram === null)("a Redis is refused in one sentence", () => {
  test.each([
    ["that has a newer format", ["SET", "modelgate:format", "modelgate-limits 2"], '"modelgate-limits 2"'],
    ["that has an unknown format", ["SET", "modelgate:format", "modelgate-limits 2"], '"modelgate-limits 2"'],
    ["of another project", ["HSET", "modelgate:format", "a", "b"], '"hash"'],
  ])("%s, and nothing is written there", async (_what, words, said) => {
    const redis = await startRedis();
    await redis.command(...words);
    const error = await errorOf(openRedisLimits({ store: await temporaryStore(), url: redis.url }));
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
    const error = await errorOf(openRedisLimits({ store: await temporaryStore(), url: `${url}:${redis.port}` }));
    expect(error).toBeInstanceOf(RedisRefused);
    expect(error.message).toContain(said);
    expect(error.message).not.toContain("hunter2");
  });
});

test.skipIf(!canShare)("the nodes of two databases share a Redis and see nothing of each other", async () => {
  const { redis, node } = await startNodes(1, 1000);
  const { store, url } = await databaseNode();
  await addAccount(store, "acc_1", 500);
  const other = await startNode(url, redis);
  const admission = createAdmission({ concurrentCalls: 1 });
  await node.ledger.admit(admission);
  expect(await other.ledger.readLimitsUsage(admission.caller)).toMatchObject({ calls: { running: 0 } });
  await other.ledger.admit(createAdmission({ concurrentCalls: 1 }));
  await makeCall(node);
  expect(await other.ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 500, heldNanodollars: 10 });
});
