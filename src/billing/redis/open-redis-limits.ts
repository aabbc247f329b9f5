import type { RedisLimits, RedisLimitsOptions } from "./redis-limits-options.ts";

/**
 * Opens the limits that nodes share over Redis. The client, some 10 MB of memory, is loaded only where there is one. A
 * Redis that cannot be reached is tried again in the background; until then each node keeps limits alone.
 *
 * @throws {RedisRefused} When Redis holds something else, or refuses its user.
 */
export async function openRedisLimits(options: RedisLimitsOptions): Promise<RedisLimits> {
  const { connectRedisLimits } = await import("./redis-limits.ts");
  return connectRedisLimits(options);
}
