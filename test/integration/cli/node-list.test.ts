import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../../package.json" with { type: "json" };
import { fillWallet, type Gateway, slowStream, startGateway } from "../../support/gateway.ts";
import { ownerCookie } from "../../support/owner-cookie.ts";
import { newDatabase, startPostgres, whyNoPostgres } from "../../support/postgres.ts";
import { metricsOf, readScrape, sampleOf } from "../../support/prometheus-text.ts";
import { until, untilByCommand } from "../../support/until.ts";

interface Node {
  id: string;
  name: string;
  version: string;
  state: string;
  started_at: string;
  uptime_seconds: number;
  heartbeat_age_seconds: number;
  open_calls: number;
  waiting_charges: number;
  spooled_charges: number;
  last_write_at: string | null;
  rollup_lag_seconds: number;
}

if (whyNoPostgres !== undefined) console.warn(`Nodes over PostgreSQL are not tried: ${whyNoPostgres}`);

const gateways: Gateway[] = [];
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.stop();
});

async function start(env: Record<string, string> = {}, home?: string): Promise<Gateway> {
  const gateway = await startGateway({ env: { METRICS_PORT: "0", ...env }, ...(home !== undefined && { home }) });
  gateways.push(gateway);
  return gateway;
}

/** Asks until the list is as expected, since figures come with the heartbeats. */
async function nodesOf(gateway: Gateway, isExpected: (nodes: Node[]) => boolean): Promise<Node[]> {
  let nodes: Node[] = [];
  await untilByCommand(async () => {
    nodes = await gateway.cli<Node[]>("node", "list");
    return isExpected(nodes);
  });
  return nodes;
}

describe("node list", () => {
  test("over SQLite shows the one gateway with its open calls, and none when it has ended", async () => {
    const home = mkdtempSync(join(tmpdir(), "modelgate-test-"));
    const gateway = await start({}, home);
    await fillWallet(gateway);
    const gone = new AbortController();
    const call = slowStream(gateway, gone.signal);
    // A call counts as soon as it is let in, and its hold is written then.
    const isHeld = (node: Node | undefined) => node?.open_calls === 1 && node.last_write_at !== null;
    const nodes = await nodesOf(gateway, ([node]) => isHeld(node));
    gone.abort();
    await call;
    expect(nodes).toMatchObject([
      { id: "embedded", version, state: "serving", waiting_charges: 0, spooled_charges: 0, rollup_lag_seconds: 0 },
    ]);
    expect(Date.parse(nodes[0]?.last_write_at as string)).toBeGreaterThan(Date.parse(nodes[0]?.started_at as string));
    const cookie = await ownerCookie(gateway);
    const answer = await fetch(`${gateway.origin}/v1/organization/nodes`, { headers: { cookie } });
    expect(await answer.json()).toMatchObject({
      data: [{ id: "embedded", object: "organization.node", version, state: "serving" }],
      has_more: false,
    });
    const lines = readScrape(await (await fetch(await metricsOf(gateway))).text());
    expect(sampleOf(lines, "modelgate_node_info", { node: "embedded", version })).toBe(1);
    expect(sampleOf(lines, "modelgate_heartbeat_age_seconds")).toBeLessThan(60);
    gateways.splice(0);
    await gateway.stop();
    const next = await start({}, home);
    expect(await nodesOf(next, (found) => found.length === 1)).toMatchObject([{ open_calls: 0 }]);
    gateways.splice(0);
    await next.stop();
    rmSync(home, { recursive: true, force: true });
  });

  test.skipIf(whyNoPostgres !== undefined)(
    "over PostgreSQL shows each gateway with its own figures, and commands are none",
    async () => {
      const DATABASE_URL = await newDatabase();
      const first = await start({ DATABASE_URL });
      const second = await start({ DATABASE_URL });
      await fillWallet(first);
      const gone = new AbortController();
      const call = slowStream(second, gone.signal);
      const nodes = await nodesOf(first, (found) => found.length === 2 && found.some((node) => node.open_calls === 1));
      gone.abort();
      await call;
      expect(nodes.map(({ open_calls: calls }) => calls)).toEqual([0, 1]);
      expect(new Set(nodes.map(({ id }) => id)).size).toBe(2);
      const lines = readScrape(await (await fetch(await metricsOf(second))).text());
      expect(sampleOf(lines, "modelgate_node_info", { node: nodes[1]?.id as string, version })).toBe(1);
      gateways.pop();
      await second.stop();
      expect(await nodesOf(first, (found) => found.length === 1)).toMatchObject([{ id: nodes[0]?.id as string }]);
    },
  );

  test.skipIf(whyNoPostgres !== undefined)(
    "shows a gateway that stands still as silent, and later no more",
    async () => {
      const gateway = await start({ DATABASE_URL: await newDatabase() });
      await nodesOf(gateway, (found) => found.length === 1);
      process.kill(gateway.pid, "SIGSTOP");
      try {
        const [node] = await nodesOf(gateway, ([found]) => found?.state === "silent");
        expect(node?.heartbeat_age_seconds).toBeGreaterThanOrEqual(10);
        expect((await gateway.run("node", "list")).stdout).toMatch(/silent for \d+s/);
      } finally {
        process.kill(gateway.pid, "SIGCONT");
      }
      expect(await nodesOf(gateway, ([found]) => found?.state === "serving")).toHaveLength(1);
    },
  );
});

test.skipIf(whyNoPostgres !== undefined)(
  "metrics count a charge that waits on the disk while the database is away, and none when it is back",
  async () => {
    const server = await startPostgres();
    const gateway = await start({ DATABASE_URL: server.url("postgres") });
    await fillWallet(gateway);
    const scrape = async () => readScrape(await (await fetch(await metricsOf(gateway))).text());
    const spooled = async () => sampleOf(await scrape(), "modelgate_spooled_charges");
    const content = "[[fault: pace=2000]] one two";
    const body = { model: "famA-4.1", stream: true, messages: [{ role: "user", content }] };
    const response = await gateway.post("/chat/completions", body);
    const reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    await reader.read();
    expect(await spooled()).toBe(0);
    await server.kill();
    while (!(await reader.read()).done);
    expect(await spooled()).toBe(1);
    const writtenAt = sampleOf(await scrape(), "modelgate_last_write_timestamp_seconds");
    await server.start();
    await until(async () => (await spooled()) === 0);
    expect(sampleOf(await scrape(), "modelgate_last_write_timestamp_seconds")).toBeGreaterThan(writtenAt);
    expect(await nodesOf(gateway, ([node]) => node?.waiting_charges === 0)).toMatchObject([{ spooled_charges: 0 }]);
    await gateway.stop();
    gateways.pop();
    await server.remove();
  },
);
