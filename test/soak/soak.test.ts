import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gateway, startGateway } from "../support/gateway.ts";
import { isLong } from "../support/long.ts";
import { newDatabase, whyNoPostgres } from "../support/postgres.ts";
import { redisProgram, startRedis, useRedisServers } from "../support/redis.ts";
import { probed } from "./heap-probe.ts";
import { type SoakProvider, startSoakProvider } from "./provider.ts";
import { type SoakReport, soak } from "./soak.ts";

/** The embedded gateway and the pair are soaked at the same time. */
const warmUpSeconds = isLong ? 180 : 6;
const seconds = isLong ? 1800 : 8;
const callsPerSecond = isLong ? 100 : 30;
const reloadMs = isLong ? 4000 : 2000;
const revokeMs = isLong ? 10_000 : 3000;
/** Handles that did not change for so long are those that stay. */
const restMs = isLong ? 5000 : 2000;
/** Of the heap after a collection and, in half an hour, of all memory under traffic. What is compiled late is most in the short form. */
const growthPercentMax = isLong ? 5 : 10;
/** Of all memory at rest: pages come back to the system one by one. */
const restGrowthPercentMax = isLong ? 10 : 20;
/** In the long form, which has the machine to itself. */
const busyPercentMax = 10;
/** What may stay open beside what was open before: idle connections to the provider, PostgreSQL and Redis. */
const handlesMore = 32;
const whyNoSoak = existsSync("/proc/self/fd") ? undefined : "memory and handles are read from Linux's /proc";
const whyNoPair = whyNoSoak ?? (redisProgram === null ? "there is no redis-server" : whyNoPostgres);

const home = mkdtempSync(join(tmpdir(), "modelgate-soak-"));
const gateways = { embedded: [] as Gateway[], pair: [] as Gateway[] };
let provider: SoakProvider | undefined;

useRedisServers();

beforeAll(async () => {
  if (whyNoSoak !== undefined) return;
  provider = await startSoakProvider();
  const env = { OPENAI_API_KEY: "upstream-key", OPENAI_BASE_URL: provider.baseUrl, LOG_LEVEL: "error", ...probed };
  gateways.embedded.push(await startGateway({ isEngineOwn: true, env }));
  if (whyNoPair !== undefined) return;
  const { url } = await startRedis();
  const shared = { ...env, REDIS_URL: url, DATABASE_URL: await newDatabase() };
  for (let i = 0; i < 2; i++) gateways.pair.push(await startGateway({ home, isEngineOwn: true, env: shared }));
});

afterAll(async () => {
  for (const gateway of [...gateways.embedded, ...gateways.pair]) await gateway.stop();
  await provider?.stop();
  rmSync(home, { recursive: true, force: true });
});

soakTest("an embedded gateway is after mixed traffic what it was before", whyNoSoak, () =>
  soaked("embedded", gateways.embedded),
);

soakTest("two gateways on PostgreSQL and Redis are after mixed traffic what they were before", whyNoPair, () =>
  soaked("two on PostgreSQL", gateways.pair),
);

function soakTest(name: string, whyNot: string | undefined, run: () => Promise<void>): void {
  if (whyNot === undefined) test.concurrent(name, run);
  else test.skip(`${name} (skipped: ${whyNot})`, run);
}

async function soaked(name: string, group: readonly Gateway[]): Promise<void> {
  if (provider === undefined) throw new Error("The provider was not started");
  const order = { warmUpSeconds, seconds, callsPerSecond, handlesMore, reloadMs, revokeMs, restMs };
  const report = await soak({ gateways: group, provider, ...order });
  process.stdout.write(`${describeReport(name, report)}\n`);
  expect(report.unexplained).toEqual([]);
  if (isLong) expect((100 * report.busy) / report.calls).toBeLessThan(busyPercentMax);
  expect(report.revocations).toBeGreaterThan(0);
  expect(report.reloads).toBeGreaterThan(0);
  for (const { before, after, traffic } of report.vitals) {
    expect(growth(before.heapMb, after.heapMb)).toBeLessThan(growthPercentMax);
    expect(growth(before.rssMb, after.rssMb)).toBeLessThan(restGrowthPercentMax);
    if (isLong) expect(growth(traffic.firstMb, traffic.secondMb)).toBeLessThan(growthPercentMax);
    expect(after.handles).toBeLessThanOrEqual(before.handles + handlesMore);
  }
  // A store that answers too late is rightly complained of.
  if (report.busy === 0) for (const gateway of group) expect(gateway.stderr()).toBe("");
  const { code, stdout, stderr } = await (group[0] as Gateway).run("ledger", "verify");
  expect(code, stdout + stderr).toBe(0);
  expect(stdout).toContain("(0 open, 0 abandoned)");
}

function growth(first: number, second: number): number {
  return (second / first - 1) * 100;
}

function describeReport(name: string, { calls, reloads, revocations, vitals, busy, heldBack }: SoakReport): string {
  const lines = vitals.map(({ before, after, traffic: { firstMb, secondMb, mostMb } }) =>
    [
      `heap ${before.heapMb.toFixed(1)} → ${after.heapMb.toFixed(1)} MB`,
      `RSS at rest ${before.rssMb.toFixed(0)} → ${after.rssMb.toFixed(0)} MB`,
      `under traffic ${firstMb.toFixed(0)} → ${secondMb.toFixed(0)} MB (most ${mostMb.toFixed(0)})`,
      `handles ${before.handles} → ${after.handles}`,
    ].join(", "),
  );
  const held =
    busy + heldBack === 0 ? "" : `, ${busy} calls refused and ${heldBack} not made: the machine was too slow`;
  const done = `${calls} calls, ${reloads} reloads, ${revocations} keys revoked${held}`;
  return [`soak, ${name}: ${done}`, ...lines].join("\n  ");
}
