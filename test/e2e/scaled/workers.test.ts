import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { startGateway } from "../../support/gateway.ts";
import { isLong } from "../../support/long.ts";
import { newDatabase, whyNoPostgres } from "../../support/postgres.ts";
import { redisProgram, startRedis, useRedisServers } from "../../support/redis.ts";
import { untilByCommand } from "../../support/until.ts";

useRedisServers();

/** Processes that this one started and that still run. */
function childrenOf(pid: number): number[] {
  const numbers = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return numbers.map(Number).filter((number) => {
    try {
      return Number(readFileSync(`/proc/${number}/stat`, "utf8").split(") ")[1]?.split(" ")[1]) === pid;
    } catch {
      return false;
    }
  });
}

async function until(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`Still not so after two minutes: ${holds}`);
    await Bun.sleep(20);
  }
}

const canShare = whyNoPostgres === undefined && redisProgram !== null;

describe.skipIf(!canShare || process.platform !== "linux")("WORKERS=2", () => {
  test("serves on one port by two processes, replaces one that dies, and ends them together", async () => {
    const shared = { DATABASE_URL: await newDatabase(), REDIS_URL: (await startRedis()).url };
    const gateway = await startGateway({ env: { WORKERS: "2", ...shared } });
    await until(() => childrenOf(gateway.pid).length === 2);
    const workers = childrenOf(gateway.pid);
    await until(() => gateway.stdout().match(/modelgate is serving/g)?.length === 1);
    const chat = () =>
      gateway.post("/chat/completions", { model: "famA-4.1-nano", messages: [{ role: "user", content: "Hi" }] });
    const responses = await Promise.all(Array.from({ length: 40 }, chat));
    expect(responses.every(({ status }) => status === 200)).toBe(true);
    let names: string[] = [];
    await untilByCommand(async () => {
      names = (await gateway.cli<{ name: string }[]>("node", "list")).map(({ name }) => name);
      return names.length >= 2;
    });
    expect(names.toSorted()).toEqual([1, 2].map((worker) => `${hostname()} (worker ${worker})`));
    process.kill(workers[1] as number, "SIGKILL");
    await until(() => childrenOf(gateway.pid).filter((pid) => !workers.includes(pid)).length === 1);
    const answered = await chat();
    expect(answered.status).toBe(200);
    const second = await startGateway({ env: { PORT: new URL(gateway.origin).port, ...shared } }).catch(
      (error: Error) => error.message,
    );
    expect(second).toContain("the port is in use; set PORT to another");
    const all = childrenOf(gateway.pid);
    expect(await gateway.stop()).toBe(0);
    for (const pid of all) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  test("ends its workers also when it is killed itself", async () => {
    const shared = { DATABASE_URL: await newDatabase(), REDIS_URL: (await startRedis()).url };
    const gateway = await startGateway({ env: { WORKERS: "2", ...shared } });
    await until(() => childrenOf(gateway.pid).length === 2);
    const workers = childrenOf(gateway.pid);
    process.kill(gateway.pid, "SIGKILL");
    const isGone = (pid: number) => {
      try {
        process.kill(pid, 0);
        return false;
      } catch {
        return true;
      }
    };
    await until(() => workers.every(isGone));
    await gateway.stop();
  });

  if (!isLong) console.log("A worker that hangs is waited for in the long form alone (LONG=1)");
  test.skipIf(!isLong)("replaces a worker that hangs, and ends one that hangs when it is to stop", async () => {
    const shared = { DATABASE_URL: await newDatabase(), REDIS_URL: (await startRedis()).url };
    const gateway = await startGateway({ env: { WORKERS: "2", DRAIN_SECONDS: "0", ...shared } });
    try {
      await until(() => childrenOf(gateway.pid).length === 2);
      // The first one answers already, so that it has given a sign of life.
      const hanging = Math.min(...childrenOf(gateway.pid));
      process.kill(hanging, "SIGSTOP");
      await until(() => childrenOf(gateway.pid).length === 2 && !childrenOf(gateway.pid).includes(hanging));
      expect(gateway.stderr()).toContain("worker_hangs");
      const last = Math.max(...childrenOf(gateway.pid));
      process.kill(last, "SIGSTOP");
      expect(await gateway.stop()).toBe(0);
      expect(() => process.kill(last, 0)).toThrow("ESRCH");
    } finally {
      for (const pid of childrenOf(gateway.pid)) process.kill(pid, "SIGKILL");
      await gateway.stop();
    }
  });
});
