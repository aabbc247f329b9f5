import { afterAll, beforeAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gateway, startGateway } from "../../support/gateway.ts";
import { newDatabase, whyNoPostgres } from "../../support/postgres.ts";
import { redisProgram, startRedis, type TestRedis, useRedisServers } from "../../support/redis.ts";

/** Two gateways in processes of their own, on one PostgreSQL and one Redis. */
export interface Pair {
  gateways: Gateway[];
  redis: TestRedis;
}

/** Whether this machine has what two stand on. */
export const canShare = whyNoPostgres === undefined && redisProgram !== null;
if (whyNoPostgres !== undefined) console.warn(`Two gateways are not tried: ${whyNoPostgres}`);

/** Starts a pair before the calling file's or describe's tests, and ends it after them. */
export function usePair(env: Record<string, string> = {}): Pair {
  const pair = { gateways: [] as Gateway[] } as Pair;
  const home = mkdtempSync(join(tmpdir(), "modelgate-test-"));
  beforeAll(async () => {
    pair.redis = await startRedis();
    const shared = { DATABASE_URL: await newDatabase(), REDIS_URL: pair.redis.url, ...env };
    for (let i = 0; i < 2; i++) pair.gateways.push(await startGateway({ home, env: shared }));
  });
  afterAll(async () => {
    for (const gateway of pair.gateways.splice(0)) await gateway.stop();
    rmSync(home, { recursive: true, force: true });
  });
  useRedisServers();
  return pair;
}

const triesMax = 10;

/**
 * A chat; the first gateway is asked for an even index, the second for an odd one. A PostgreSQL that takes longer than a
 * call may wait, as on a machine with too much to do, answers 503 with `retry-after`, and is asked again.
 */
export async function chat(pair: Pair, index: number, fields: { key?: string; model?: string; text?: string } = {}) {
  const { key, model = "famA-4.1", text = "Hello" } = fields;
  const body = { model, max_tokens: 100, messages: [{ role: "user", content: text }] };
  const gateway = pair.gateways[index % pair.gateways.length] as Gateway;
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  for (let tries = 1; ; tries++) {
    const response = await gateway.post("/chat/completions", body, headers);
    if (response.status !== 503 || tries === triesMax) return response;
    await Bun.sleep(200);
  }
}

/** A new account with this much money, and its key. */
export async function makeAccount(gateway: Gateway, name: string, usd?: string): Promise<{ id: string; key: string }> {
  const email = `${name}@example.org`;
  await gateway.cli("account", "create", "--email", email);
  if (usd !== undefined) await gateway.cli("wallet", "credit", "--account", email, "--usd", usd, "--note", "test");
  return await gateway.cli<{ id: string; key: string }>("key", "create", "--account", email, "--name", name);
}
