import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fillWallet, type Gateway, type GatewayOptions, startGateway } from "../../support/gateway.ts";
import { openCliStore } from "../../support/ledger-view.ts";
import { newDatabase, whyNoPostgres } from "../../support/postgres.ts";
import { redisProgram, startRedis, useRedisServers } from "../../support/redis.ts";
import { parseEvents } from "../../support/sse.ts";
import { until } from "../../support/until.ts";

const model = "famA-4.1";
useRedisServers();

const asking = (text: string, stream: boolean) => ({ model, stream, messages: [{ role: "user", content: text }] });

/** A stream that says its words this slowly, and its first bytes: it is at work from then on. */
async function begin(gateway: Gateway, paceMs: number) {
  const words = "one two three four five six seven eight nine ten";
  const response = await gateway.post("/chat/completions", asking(`[[fault: pace=${paceMs}]] ${words}`, true));
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = decoder.decode((await reader.read()).value);
  const rest = (async () => {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) text += decoder.decode(piece.value);
    return parseEvents<{ error?: { code: string; message: string } }>(text);
  })();
  // What fails first is the reason, and not that the gateway is ended then.
  rest.catch(() => undefined);
  return { response, rest };
}

async function withGateway(options: GatewayOptions, use: (gateway: Gateway) => Promise<void>): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "modelgate-test-"));
  try {
    const gateway = await startGateway({ home, ...options });
    try {
      await fillWallet(gateway);
      await use(gateway);
    } finally {
      await gateway.stop();
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function expectTrueLedger(gateway: Gateway): Promise<void> {
  const { code, stdout, stderr } = await gateway.run("ledger", "verify");
  expect(code, stdout + stderr).toBe(0);
}

/** Begins a request on a connection of its own, of which the rest comes later. */
async function openRequest(origin: string, head: string) {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  let text = "";
  socket.on("data", (bytes) => {
    text += bytes;
  });
  const closed = new Promise<string>((resolve) => socket.once("close", () => resolve(text)));
  socket.on("error", () => undefined);
  socket.write(head);
  return { write: (rest: string) => socket.write(rest), closed };
}

describe("SIGTERM", () => {
  test("lets calls at work come to their end, takes no new ones, and ends with 0", () =>
    withGateway({}, async (gateway) => {
      // Before the others, so that the gateway has read its beginning when they are at work.
      const late = await openRequest(gateway.origin, "GET /readyz HTTP/1.1\r\n");
      const stream = await begin(gateway, 60);
      const whole = gateway.post("/chat/completions", asking("[[fault: delay=900]] Hello", false));
      whole.catch(() => undefined);
      const ledger = openCliStore(gateway.home);
      await until(() => ledger.counts().open === 2);
      process.kill(gateway.pid, "SIGTERM");
      await until(() =>
        fetch(gateway.origin)
          .then(Boolean, () => false)
          .then((answered) => !answered),
      );
      late.write("host: x\r\n\r\n");
      expect(await late.closed).toMatch(/^HTTP\/1\.1 503 .*connection: close.*shutting down/is);
      const { events, done } = await stream.rest;
      expect(done).toBe(true);
      expect(events.some(({ error }) => error)).toBe(false);
      const answer = await whole;
      expect([answer.status, answer.headers.get("connection")]).toEqual([200, "close"]);
      await answer.text();
      await ledger.untilSettled();
      expect([ledger.callOf(stream.response), ledger.callOf(answer)]).toMatchObject(
        Array(2).fill({ state: "settled", usage_source: "reported", status: 200 }),
      );
      ledger.close();
      expect(await gateway.ended).toBe(0);
      await expectTrueLedger(gateway);
    }));

  test("refuses a call that comes on a connection from before: 503, retry-after, and the connection is closed", () =>
    withGateway({}, async (gateway) => {
      const body = JSON.stringify(asking("Hello", false));
      const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\n`;
      const late = await openRequest(gateway.origin, head);
      const stream = await begin(gateway, 60);
      process.kill(gateway.pid, "SIGTERM");
      await until(() =>
        fetch(gateway.origin)
          .then(Boolean, () => false)
          .then((answered) => !answered),
      );
      late.write(`content-length: ${body.length}\r\n\r\n${body}`);
      const text = await late.closed;
      expect(text).toStartWith("HTTP/1.1 503 ");
      for (const header of ["retry-after: 1", "connection: close"]) expect(text.toLowerCase()).toContain(header);
      expect(text).toContain('"code":"unavailable"');
      expect((await stream.rest).done).toBe(true);
      expect(await gateway.ended).toBe(0);
    }));

  test("ends what takes longer than DRAIN_SECONDS with an error event, charges what was said, and ends with 0", () =>
    withGateway({ env: { DRAIN_SECONDS: "1" } }, async (gateway) => {
      const stream = await begin(gateway, 700);
      process.kill(gateway.pid, "SIGTERM");
      const { events, done } = await stream.rest;
      expect([done, events.at(-1)?.error]).toMatchObject([false, { code: "unavailable" }]);
      expect(events.at(-1)?.error?.message).toContain("shutting down");
      expect(await gateway.ended).toBe(0);
      const ledger = openCliStore(gateway.home);
      expect(ledger.callOf(stream.response)).toMatchObject({
        state: "settled",
        usage_source: "estimated",
        error_code: "unavailable",
      });
      ledger.close();
      expect(gateway.stderr()).toMatch(/"drain_timeout".*"calls":1,"streams":1/);
      await expectTrueLedger(gateway);
    }));

  test("and SIGHUP, of a terminal that closes, let calls come to their end too", () =>
    withGateway({}, async (gateway) => {
      const stream = await begin(gateway, 60);
      process.kill(gateway.pid, "SIGHUP");
      const { events, done } = await stream.rest;
      expect([done, events.some(({ error }) => error)]).toEqual([true, false]);
      expect(await gateway.ended).toBe(0);
      expect(gateway.stderr()).toMatch(/"stopping".*"calls":1[\s\S]*"draining"[\s\S]*"stopped"/);
    }));

  test("a second time ends at once; the next start settles what was open", () =>
    withGateway({}, async (gateway) => {
      const stream = await begin(gateway, 700);
      process.kill(gateway.pid, "SIGTERM");
      await until(() => gateway.stderr().includes('"draining"'));
      process.kill(gateway.pid, "SIGTERM");
      await stream.rest.catch(() => undefined);
      expect(await gateway.ended).toBe(143);
      const next = await startGateway({ home: gateway.home });
      try {
        await until(() => next.stderr().includes("calls_recovered"));
        const ledger = openCliStore(gateway.home);
        expect(ledger.counts().open).toBe(0);
        ledger.close();
        await expectTrueLedger(next);
      } finally {
        expect(await next.stop()).toBe(0);
      }
    }));

  test("with DRAIN_NOTICE_SECONDS says so in /readyz first, and goes on taking calls until then", () =>
    withGateway({ env: { DRAIN_NOTICE_SECONDS: "2" } }, async (gateway) => {
      process.kill(gateway.pid, "SIGTERM");
      const readiness = () => fetch(`${gateway.origin}/readyz`);
      await until(async () => (await readiness()).status === 503);
      const answer = await gateway.post("/chat/completions", asking("Hello", false));
      expect([answer.status, answer.headers.get("connection")]).toEqual([200, "close"]);
      expect((await readiness()).headers.get("connection")).toBe("close");
      expect(await gateway.ended).toBe(0);
    }));
});

test.skipIf(whyNoPostgres !== undefined || redisProgram === null || process.platform !== "linux")(
  "with WORKERS the parent passes the signal on, and all calls come to their end",
  async () => {
    const redis = await startRedis();
    const env = { WORKERS: "2", DATABASE_URL: await newDatabase(), REDIS_URL: redis.url };
    await withGateway({ env }, async (gateway) => {
      const streams = await Promise.all(Array.from({ length: 8 }, () => begin(gateway, 60)));
      process.kill(gateway.pid, "SIGTERM");
      const ends = await Promise.all(streams.map(({ rest }) => rest));
      expect(ends.every(({ done }) => done)).toBe(true);
      await until(() =>
        fetch(gateway.origin)
          .then(Boolean, () => false)
          .then((answered) => !answered),
      );
    });
  },
);
