import { afterEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { frameOf, openWithoutReading, ResponsesClient, webSocketHandshake } from "../../support/responses-client.ts";
import {
  answerInText,
  type ScriptedProviders,
  type ScriptedRequest,
  startScriptedProviders,
} from "../../support/scripted-providers.ts";
import { until } from "../../support/until.ts";

interface Bench {
  gateway: InProcessGateway;
  upstream: ScriptedProviders;
  sockets: NonNullable<InProcessGateway["app"]["http"]["sockets"]>;
  open(headers?: Record<string, string>): Promise<ResponsesClient>;
}

const toStop: Bench[] = [];
afterEach(async () => {
  for (const { gateway, upstream } of toStop.splice(0)) {
    await gateway.stop();
    await upstream.stop();
  }
});

async function start(env: Record<string, string> = {}): Promise<Bench> {
  const upstream = startScriptedProviders();
  const gateway = await startInProcess({ env: { ...upstream.env, SANDBOX: "off", ...env } });
  const { sockets } = gateway.app.http;
  const open = (headers?: Record<string, string>) => ResponsesClient.open(gateway.baseUrl, gateway.key, headers);
  const bench = { gateway, upstream, sockets: sockets as Bench["sockets"], open };
  toStop.push(bench);
  return bench;
}

const turn = { model: "gpt-5.4", store: false, input: "Hi" };
const create = { type: "response.create", ...turn };
const limitReached = { type: "error", error: { code: "websocket_connection_limit_reached" } };

/** Holds the provider's answers until `release` is called. */
function hold({ upstream }: Bench): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  upstream.fault = (request: ScriptedRequest) => promise.then(() => answerInText(request));
  return resolve;
}

const complete = webSocketHandshake;

/** The head of the answer to a GET, which `fetch` would read on after an upgrade. */
async function answerTo({ gateway }: Bench, headers: Record<string, string>): Promise<string> {
  const { hostname, port, host, pathname } = new URL(`${gateway.baseUrl}/responses`);
  const socket = connect(Number(port), hostname);
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${pathname} HTTP/1.1\r\n${lines.join("")}\r\n`);
  let answer = "";
  for await (const bytes of socket) {
    answer += bytes;
    if (answer.includes("\r\n\r\n")) break;
  }
  return answer;
}

describe("a handshake", () => {
  test("opens a connection for a key, and is refused like a call without one", async () => {
    const bench = await start({ CORS_ORIGINS: "https://app.example" });
    const authorization = `Bearer ${bench.gateway.key}`;
    const statusOf = async (headers: Record<string, string>) => (await answerTo(bench, headers)).slice(9, 12);
    expect(await statusOf({ ...complete, authorization })).toBe("101");
    expect(await statusOf({ ...complete, "x-api-key": bench.gateway.key })).toBe("101");
    expect(await statusOf({ ...complete, authorization, origin: "https://app.example" })).toBe("101");
    expect(await statusOf({ ...complete, authorization, origin: "https://elsewhere.example" })).toBe("400");
    expect(await statusOf(complete)).toBe("401");
    expect(await statusOf({ ...complete, authorization: "Bearer sk-mg-none" })).toBe("401");
    // A proxy without WebSockets removes what is between it and its neighbours.
    expect(await statusOf({ authorization, "sec-websocket-key": complete["sec-websocket-key"] })).toBe("426");
    expect(await answerTo(bench, { authorization })).toMatch(/^HTTP\/1\.1 405 [\s\S]*\r\nallow: POST\r\n/i);
    await until(() => bench.sockets.size === 0);
  });

  test("takes one of the requests per minute", async () => {
    const bench = await start({ REQUESTS_PER_MINUTE: "2" });
    const headers = { ...complete, authorization: `Bearer ${bench.gateway.key}` };
    const statuses = [];
    for (let count = 0; count < 3; count++) statuses.push((await answerTo(bench, headers)).slice(9, 12));
    expect(statuses).toEqual(["101", "101", "429"]);
  });

  test("is answered 426 where WebSockets are off, and beyond the share of an account", async () => {
    const off = await start({ RESPONSES_WEBSOCKETS: "off" });
    expect(off.gateway.app.http.sockets).toBeUndefined();
    expect(await answerTo(off, { ...complete, authorization: `Bearer ${off.gateway.key}` })).toMatch(
      /^HTTP\/1\.1 426 /,
    );
    const bench = await start();
    bench.sockets.bounds = { ...bench.sockets.bounds, connectionsMax: 4, ownMin: 1 };
    const clients = [await bench.open(), await bench.open()];
    const refused = await answerTo(bench, { ...complete, authorization: `Bearer ${bench.gateway.key}` });
    expect(refused).toMatch(/^HTTP\/1\.1 426 /);
    clients[0]?.close();
    await until(() => bench.sockets.size === 1);
    const again = await bench.open();
    for (const client of [...clients, again]) client.close();
  });
});

/** The times after which a connection ends that is old, idle or unread. */
type Lifetimes = Bench["sockets"]["bounds"]["lifetimes"];

/**
 * Holds the first of some turns of a connection that ends after a short time. Where it ends before that turn runs, as on a slow
 * machine, another one has longer.
 */
async function holdTurns(count: number, lifetimesOf: (ms: number) => Partial<Lifetimes>, ms: number) {
  const bench = await start();
  const unbounded = { wholeMs: 60_000, idleMs: 60_000, unreadMs: 60_000 };
  bench.sockets.bounds = { ...bench.sockets.bounds, lifetimes: { ...unbounded, ...lifetimesOf(ms) } };
  const release = hold(bench);
  const client = await bench.open();
  let isClosed = false;
  void client.closed.then(() => {
    isClosed = true;
  });
  for (let sent = 0; sent < count; sent++) client.send(create);
  await until(() => isClosed || bench.upstream.seen.length === 1);
  if (bench.upstream.seen.length === 0) return await holdTurns(count, lifetimesOf, ms * 4);
  return { bench, client, release, ms };
}

describe("a connection ends between turns", () => {
  test("after a time without any", async () => {
    const { client, release, ms } = await holdTurns(1, (idleMs) => ({ idleMs }), 20);
    // It is not idle while a turn runs.
    await Bun.sleep(3 * ms);
    release();
    expect((await client.ended()).type).toBe("response.completed");
    expect(await client.ended()).toMatchObject(limitReached);
    expect((await client.closed).code).toBe(1001);
  });

  test("when it is old; what waits is to be sent over another", async () => {
    const { bench, client, release, ms } = await holdTurns(2, (wholeMs) => ({ wholeMs }), 50);
    await Bun.sleep(ms + 30);
    release();
    expect((await client.ended()).type).toBe("response.completed");
    expect(await client.ended()).toMatchObject(limitReached);
    expect((await client.closed).code).toBe(1001);
    expect(bench.upstream.seen.length).toBe(1);
  });

  test("when the gateway shuts down: idle ones at once, others after the turn that runs", async () => {
    const bench = await start();
    const [idle, busy] = [await bench.open(), await bench.open()];
    const release = hold(bench);
    busy.send(create);
    busy.send(create);
    await until(() => bench.upstream.seen.length === 1);
    bench.gateway.app.loadShedder.close();
    bench.sockets.drain();
    expect(await idle.ended()).toMatchObject(limitReached);
    expect((await idle.closed).code).toBe(1012);
    release();
    expect((await busy.ended()).type).toBe("response.completed");
    expect(await busy.ended()).toMatchObject(limitReached);
    expect((await busy.closed).code).toBe(1012);
    await until(() => bench.sockets.size === 0);
    expect(bench.gateway.ledger.counts().open).toBe(0);
  });
});

describe("a client that", () => {
  test("leaves in the middle of a turn ends its call, which is settled once", async () => {
    const bench = await start();
    const release = hold(bench);
    const client = await bench.open();
    client.send(create);
    client.send(create);
    await until(() => bench.upstream.seen.length === 1);
    client.terminate();
    await until(() => bench.sockets.size === 0);
    // What the provider still says of it is waited for, as after any client that leaves.
    release();
    await until(() => bench.gateway.ledger.counts().open === 0);
    expect(bench.gateway.ledger.counts().calls).toBe(1);
    // The turn that waited was not begun.
    expect(bench.upstream.seen.length).toBe(1);
    expect(bench.gateway.app.memory.bytes).toBe(0);
  });

  test("does not read stops the provider's stream, and is left after a while", async () => {
    const bench = await start();
    bench.sockets.bounds = { ...bench.sockets.bounds, lifetimes: { wholeMs: 60_000, idleMs: 60_000, unreadMs: 2000 } };
    let sent = 0;
    const text = "x".repeat(64 * 1024);
    const encoder = new TextEncoder();
    bench.upstream.fault = () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            // Once its client has left, the gateway reads on for the usage.
            if (bench.sockets.size === 0) return controller.close();
            sent += text.length;
            const delta = {
              type: "response.output_text.delta",
              item_id: "m",
              output_index: 0,
              content_index: 0,
              delta: text,
            };
            controller.enqueue(encoder.encode(`event: ${delta.type}\ndata: ${JSON.stringify(delta)}\n\n`));
          },
        }),
        { headers: { "content-type": "text/event-stream" } },
      );
    const socket = await openWithoutReading(bench.gateway);
    socket.write(frameOf(JSON.stringify(create)));
    await until(() => sent > 0);
    let before = -1;
    await until(
      () => {
        const stands = sent === before;
        before = sent;
        return stands;
      },
      10_000,
      200,
    );
    expect(bench.sockets.size).toBe(1);
    // One megabyte here, and what the sockets on the way hold.
    expect(sent).toBeLessThan(32 * 1024 * 1024);
    await until(() => bench.sockets.size === 0);
    await until(() => bench.gateway.ledger.counts().open === 0);
    await until(() => bench.gateway.app.memory.bytes === 0);
    socket.destroy();
  });

  test("sends frames faster than they are read is bounded in what they take", async () => {
    const bench = await start();
    const client = await bench.open();
    for (let count = 0; count < 400; count++) client.send({ type: "nothing" });
    await Promise.race([client.closed, until(() => client.events.length === 400)]);
    expect((await bench.open().then((other) => other.turn(turn))).type).toBe("response.completed");
  });
});
