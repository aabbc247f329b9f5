import type { RedisTurns, RedisTurnsOptions } from "./redis/redis-turns.ts";

/** Opens the turns that nodes share. The client of Redis, some 10 MB of memory, is loaded only for a gateway that has one. */
export async function openRedisTurns(options: RedisTurnsOptions): Promise<RedisTurns> {
  const redis = await import("./redis/redis-turns.ts");
  return await redis.openRedisTurns(options);
}
