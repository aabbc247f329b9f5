import { newDatabase, type PostgresServer, startPostgres, whyNoPostgres } from "../support/postgres.ts";
import { launchRedis, redisProgram, type TestRedis } from "../support/redis-server.ts";
import { coreOf, isPinned } from "./processes.ts";

/** A PostgreSQL and a Redis of the bench's own, and what a gateway is told of them. */
export interface Servers {
  env: { DATABASE_URL: string; REDIS_URL: string };
  remove(): Promise<void>;
}

/** Why there are none; `undefined` when they can be had. */
export const whyNoServers: string | undefined =
  whyNoPostgres ?? (redisProgram === null ? "Redis is not installed here: apt-get install redis-server" : undefined);

/** Starts both as they come from their packages: fsync on. They share the cores of the load, not the measured one. */
export async function startServers(): Promise<Servers> {
  let postgres: PostgresServer | undefined;
  let redis: TestRedis | undefined;
  const remove = async () => {
    await redis?.remove();
    await postgres?.remove();
  };
  try {
    postgres = await startPostgres();
    redis = await launchRedis();
    // What they start from now on is on these cores too.
    for (const { pid } of [postgres, redis]) await pin(pid);
    return { env: { DATABASE_URL: await newDatabase(postgres), REDIS_URL: redis.url }, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function pin(pid: number): Promise<void> {
  if (!isPinned) return;
  await Bun.spawn(["taskset", "-apc", String(coreOf.load), String(pid)], { stdout: "ignore", stderr: "ignore" }).exited;
}
