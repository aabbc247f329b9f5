import { afterAll } from "bun:test";
import { launchRedis, type RedisOptions, redisProgram, type TestRedis } from "./redis-server.ts";

export { redisProgram, type TestRedis } from "./redis-server.ts";

if (redisProgram === null) {
  console.warn("Tests with Redis are skipped: there is no redis-server (Debian package redis-server)");
}

const servers: TestRedis[] = [];

/** Ends the servers that the calling file started, after its tests. */
export function useRedisServers(): void {
  afterAll(async () => {
    for (const server of servers.splice(0)) await server.remove();
  });
}

/** Starts one on a loopback port, which keeps nothing on disk; ended by {@link useRedisServers}. */
export async function startRedis(options: RedisOptions = {}): Promise<TestRedis> {
  const server = await launchRedis(options);
  servers.push(server);
  return server;
}
