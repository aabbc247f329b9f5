import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import type { LaneBounds } from "../../../src/kernel/upstream/provider-lanes.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { frameOf, openWithoutReading, ResponsesClient } from "../../support/responses-client.ts";
import {
  manifestOf,
  type SocketProvider,
  startSocketProvider,
  type TurnOnSocket,
} from "../../support/socket-provider.ts";
import { until } from "../../support/until.ts";

interface Bench {
  gateway: InProcessGateway;
  provider: SocketProvider;
  open(headers?: Record<string, string>): Promise<ResponsesClient>;
}

const toStop: Bench[] = [];
let shared: Bench;
beforeAll(async () => {
  shared = await start();
  toStop.length = 0;
  const { network } = shared.gateway.app.kernel;
  // A failed handshake of one test is not to be felt in the next.
  network.lanes.bounds = { ...network.lanes.bounds, pauseMs: 0 };
  ({ bounds: laneBounds } = network.lanes);
});
afterEach(stopAll);
afterAll(async () => {
  toStop.push(shared);
  await stopAll();
});

async function stopAll(): Promise<void> {
  for (const { gateway, provider } of toStop.splice(0)) {
    await gateway.stop();
    await provider.stop();
  }
}

let laneBounds: LaneBounds;
/** Calls of the shared gateway before the test. */
let callsBefore = 0;

/** The bench of all tests that change nothing about it. */
async function reuse(): Promise<Bench> {
  const { provider, gateway } = shared;
  await until(() => provider.open === 0 && gateway.ledger.counts().open === 0);
  provider.reset();
  gateway.app.kernel.network.lanes.bounds = laneBounds;
  callsBefore = gateway.ledger.counts().calls;
  return shared;
}

async function start(env: Record<string, string> = {}, model: object = {}): Promise<Bench> {
  const provider = startSocketProvider();
  const files = { "plugins/lab.json": manifestOf(provider, "lab", model) };
  const gateway = await startInProcess({ env: { SANDBOX: "off", LAB_API_KEY: "sk-lab", ...env }, files });
  const open = (headers?: Record<string, string>) => ResponsesClient.open(gateway.baseUrl, gateway.key, headers);
  const bench = { gateway, provider, open };
  toStop.push(bench);
  return bench;
}

/** 100 tokens of the prompt at $1, and 20 of the answer at $10 a million. */
const costOfTurn = 100 * 1000 + 20 * 10_000;

async function costsOf(gateway: InProcessGateway): Promise<(number | null)[]> {
  const rows = await gateway.store.db.selectFrom("call_rows").select("cost_nanodollars").orderBy("seq").execute();
  return rows.slice(gateway === shared.gateway ? callsBefore : 0).map(({ cost_nanodollars }) => cost_nanodollars);
}

const tool = { type: "function", name: "look", strict: false, parameters: { type: "object", properties: {} } };
const turn = { model: "lab-1", store: false, tools: [tool] };

/** Ten turns as an agent makes them: a question, then the result of each call. */
async function tenTurns(client: ResponsesClient, stream_id?: string): Promise<void> {
  const lane = stream_id === undefined ? {} : { stream_id };
  let last = await client.turn({ ...turn, ...lane, input: "What do you see?" });
  for (let count = 1; count < 10; count++) {
    expect(last).toMatchObject({ type: "response.completed" });
    const call = last.response.output.find(({ type }: { type: string }) => type === "function_call");
    const input = [{ type: "function_call_output", call_id: call.call_id, output: `Blue ${count}` }];
    last = await client.turn({ ...turn, ...lane, previous_response_id: last.response.id, input });
  }
}

test("ten turns with a tool go by one WebSocket to the provider, which gets each item once", async () => {
  const { gateway, provider, open } = await reuse();
  provider.plan = { name: "look", input: { at: "the sky" }, turns: 100 };
  const client = await open();
  await tenTurns(client);
  expect(gateway.app.kernel.network.lanes.size).toBe(1);
  client.close();
  expect(provider.faults).toEqual([]);
  expect(provider.handshakes.length).toBe(1);
  expect(provider.handshakes[0]).toMatchObject({ "openai-beta": "responses_websockets=2026-02-06" });
  expect(provider.seen.length).toBe(10);
  expect(provider.seen.map(({ socket }) => socket)).toEqual(Array(10).fill(1));
  expect(provider.seen.map(({ frame }) => frame.input.length)).toEqual([
    "What do you see?".length,
    ...Array(9).fill(1),
  ]);
  expect(provider.seen.map(({ frame }) => frame.previous_response_id)).toEqual([
    undefined,
    ...Array.from({ length: 9 }, (_, index) => `resp_native_${index + 1}`),
  ]);
  await until(() => gateway.ledger.counts().open === 0);
  expect(await costsOf(gateway)).toEqual(Array(10).fill(costOfTurn));
  await until(() => provider.open === 0);
  expect(gateway.app.kernel.network.lanes.size).toBe(0);
  expect(gateway.app.memory.bytes).toBe(0);
});

describe("a conversation goes on as a whole", () => {
  const first = { ...turn, input: "The word is plum" };
  /** The turn after one, and the items that the model read for it. */
  async function next({ provider }: Bench, client: ResponsesClient, id: string, body: object = {}) {
    const last = await client.turn({ ...turn, previous_response_id: id, input: "Which?", ...body });
    expect(last).toMatchObject({ type: "response.completed" });
    const seen = provider.seen.at(-1);
    expect(seen?.items.map(({ type }) => type)).toEqual(["message", "message", "message"]);
    expect(JSON.stringify(seen?.items)).toContain("plum");
    return { seen, last };
  }

  test("over a new WebSocket, after the provider closed the one before between turns", async () => {
    const bench = await reuse();
    const { provider, open, gateway } = bench;
    const client = await open();
    const { response } = await client.turn(first);
    provider.closeAll(1012);
    await until(() => gateway.app.kernel.network.lanes.size === 0);
    const { seen } = await next(bench, client, response.id);
    expect(seen?.socket).toBe(2);
    expect(seen?.frame.previous_response_id).toBeUndefined();
    client.close();
  });

  test.each([
    ["closed", 1012],
    ["cut", undefined],
  ])("over a new WebSocket, where the one before is %s as the turn is sent", async (_, code) => {
    const bench = await reuse();
    const { provider, open, gateway } = bench;
    const client = await open();
    const { response } = await client.turn(first);
    provider.fault = ({ socket, close, terminate }) => {
      if (socket === 1) code === undefined ? terminate() : close(code);
      return socket === 1;
    };
    const { seen } = await next(bench, client, response.id);
    expect(seen?.socket).toBe(2);
    client.close();
    await until(() => gateway.ledger.counts().open === 0);
    expect(await costsOf(gateway)).toEqual([costOfTurn, costOfTurn]);
  });

  test.each([
    ["has forgotten it", "previous_response_not_found", 1],
    ["takes no more turns by its WebSocket", "websocket_connection_limit_reached", 2],
  ])("where the provider %s", async (_, code, socket) => {
    const bench = await reuse();
    const { provider, open, gateway } = bench;
    const client = await open();
    const { response } = await client.turn(first);
    let refused = 0;
    provider.fault = ({ send }) => {
      if (++refused > 1) return false;
      send({ type: "error", status: 400, error: { code, type: "invalid_request_error", message: "no" } });
      return true;
    };
    const { seen } = await next(bench, client, response.id);
    expect([seen?.socket, seen?.frame.previous_response_id]).toEqual([socket, undefined]);
    client.close();
    await until(() => gateway.ledger.counts().open === 0);
    expect(await costsOf(gateway)).toEqual([costOfTurn, costOfTurn]);
  });

  test("where it is stored, or the client sends it whole, changed or for another model", async () => {
    const bench = await reuse();
    const { provider, open } = bench;
    const client = await open();
    const stored = await client.turn({ ...first, store: true });
    const { seen, last } = await next(bench, client, stored.response.id, { store: true });
    expect(seen?.frame).toMatchObject({ previous_response_id: stored.response.id, input: [{ content: "Which?" }] });
    const items = [
      { type: "message", role: "user", content: "The word is plum" },
      ...stored.response.output,
      { type: "message", role: "user", content: "Which?" },
      ...last.response.output,
    ];
    const more = { type: "message", role: "user", content: "And now?" };
    await client.turn({ ...turn, input: [...items, more] });
    expect(provider.seen.at(-1)?.frame).toMatchObject({ previous_response_id: last.response.id, input: [more] });
    await client.turn({ ...turn, input: [{ ...items[0], content: "The word is pear" }, ...items.slice(1), more] });
    expect(provider.seen.at(-1)?.frame.previous_response_id).toBeUndefined();
    expect(provider.seen.at(-1)?.items.length).toBe(5);
    await client.turn({ ...turn, input: [items[0], more] });
    expect(provider.seen.at(-1)?.frame.previous_response_id).toBeUndefined();
    expect(provider.faults).toEqual([]);
    expect(provider.handshakes.length).toBe(1);
    client.close();
  });

  test("after a turn that was refused, which costs nothing and keeps the WebSocket", async () => {
    const bench = await reuse();
    const { provider, open, gateway } = bench;
    const client = await open();
    const { response } = await client.turn(first);
    provider.fault = ({ send }) => {
      send({
        type: "error",
        status: 400,
        error: { code: "invalid_prompt", type: "invalid_request_error", message: "no" },
      });
      return true;
    };
    const refused = await client.turn({ ...turn, previous_response_id: response.id, input: "Bad" });
    expect(refused).toMatchObject({ type: "error", status: 400 });
    provider.fault = undefined;
    const { seen } = await next(bench, client, response.id);
    expect([seen?.socket, seen?.frame.previous_response_id]).toEqual([1, undefined]);
    client.close();
    await until(() => gateway.ledger.counts().open === 0);
    expect(await costsOf(gateway)).toEqual([costOfTurn, 0, costOfTurn]);
  });
});

test("another key has the turn where the provider refuses the first, with the whole conversation", async () => {
  const { provider, open, gateway } = await start({ LAB_API_KEY: "sk-one,sk-two" });
  const client = await open();
  const { response } = await client.turn({ ...turn, input: "Hi" });
  let refused = 0;
  provider.fault = ({ send }) => {
    if (++refused > 1) return false;
    const error = { code: "rate_limit_exceeded", type: "rate_limit_error", message: "slow down" };
    send({ type: "error", status: 429, error, headers: { "retry-after": "30" } });
    return true;
  };
  const last = await client.turn({ ...turn, previous_response_id: response.id, input: "And?" });
  expect(last).toMatchObject({ type: "response.completed" });
  expect(provider.seen.map(({ socket, frame }) => [socket, frame.previous_response_id])).toEqual([
    [1, undefined],
    [1, response.id],
    [2, undefined],
  ]);
  const [one, two] = provider.handshakes.map(({ authorization }) => authorization);
  expect(new Set([one, two])).toEqual(new Set(["Bearer sk-one", "Bearer sk-two"]));
  client.close();
  await until(() => gateway.ledger.counts().open === 0);
  expect(await costsOf(gateway)).toEqual([costOfTurn, costOfTurn]);
});

describe("what a provider sends that it should not", () => {
  const encoder = new TextEncoder();
  test.each<[string, (turn: TurnOnSocket) => void]>([
    ["a message in bytes", ({ sendRaw }) => sendRaw(encoder.encode("{}"))],
    ["a message of 17 MB", ({ sendRaw }) => sendRaw(`{"type":"x","a":"${"x".repeat(17 * 1024 * 1024)}"}`)],
  ])("%s ends the turn and its WebSocket, and the next one runs", async (_, send) => {
    const { provider, open, gateway } = await reuse();
    provider.fault = (asked) => {
      if (asked.socket !== 1) return false;
      send(asked);
      return true;
    };
    const client = await open();
    expect(["error", "response.failed"]).toContain((await client.turn({ ...turn, input: "Hi" })).type);
    expect(await client.turn({ ...turn, input: "Hi" })).toMatchObject({ type: "response.completed" });
    expect(provider.seen.map(({ socket }) => socket)).toEqual([1, 2]);
    client.close();
    await until(() => gateway.app.memory.bytes === 0);
  });

  test("a message that cannot be read is not asked for again, also where the WebSocket was kept", async () => {
    const { provider, open, gateway } = await start();
    const client = await open();
    const { response } = await client.turn({ ...turn, input: "Hi" });
    provider.fault = ({ sendRaw }) => sendRaw(encoder.encode("{}")) > 0;
    const failed = await client.turn({ ...turn, previous_response_id: response.id, input: "And?" });
    expect(failed).toMatchObject({ type: "error", status: 503 });
    expect(provider.seen.map(({ socket }) => socket)).toEqual([1, 1]);
    client.close();
    await until(() => gateway.ledger.counts().open === 0);
  });

  test("more between two turns than a ping ends the WebSocket", async () => {
    const { provider, open } = await reuse();
    provider.fault = ({ events, send, sendRaw }) => {
      send(...events);
      setTimeout(() => sendRaw(`{"type":"keepalive","a":"${"x".repeat(100_000)}"}`), 20);
      return true;
    };
    const client = await open();
    await client.turn({ ...turn, input: "Hi" });
    await until(() => provider.open === 0);
    client.close();
  });
});

test("a client that does not read stops the provider's WebSocket, and is left after a while", async () => {
  const { provider, gateway } = await reuse();
  const sockets = gateway.app.http.sockets as NonNullable<typeof gateway.app.http.sockets>;
  const { bounds } = sockets;
  sockets.bounds = { ...bounds, lifetimes: { wholeMs: 60_000, idleMs: 60_000, unreadMs: 500 } };
  const text = "x".repeat(64 * 1024);
  const at = { item_id: "m", output_index: 0, content_index: 0 };
  const delta = { type: "response.output_text.delta", ...at, delta: text };
  let sent = 0;
  provider.fault = async ({ events, send, sendRaw }) => {
    send(...events.slice(0, 4));
    // As much as the gateway takes.
    while (sockets.size > 0) {
      if (sendRaw(JSON.stringify(delta)) > 0) sent += text.length;
      else await Bun.sleep(20);
    }
    // Once its client has left, the gateway reads on for the usage.
    send(...events.slice(4));
    return true;
  };
  const socket = await openWithoutReading(gateway);
  socket.write(frameOf(JSON.stringify({ type: "response.create", ...turn, input: "Hi" })));
  await until(() => sent > 0 && sockets.size === 0, 20_000);
  // One megabyte here, and what the sockets on the way hold.
  expect(sent).toBeLessThan(32 * 1024 * 1024);
  await until(() => gateway.ledger.counts().open === 0, 20_000);
  await until(() => gateway.app.memory.bytes === 0);
  await until(() => provider.open === 0);
  socket.destroy();
  sockets.bounds = bounds;
});

test("OpenAI's own client makes ten turns over both WebSockets", async () => {
  const { provider, gateway } = await reuse();
  provider.plan = { name: "look", input: { at: "the sky" }, turns: 100 };
  const socket = new ResponsesWS(new OpenAI({ apiKey: gateway.key, baseURL: gateway.baseUrl }));
  const ask = (body: object) =>
    new Promise<OpenAI.Responses.Response>((resolve, reject) => {
      socket.once("response.completed", ({ response }) => resolve(response));
      socket.once("error", reject);
      socket.send({ type: "response.create", ...turn, ...body } as never);
    });
  let answer = await ask({ input: "What do you see?" });
  for (let count = 1; count < 10; count++) {
    const call = answer.output.find((item) => item.type === "function_call");
    const input = [{ type: "function_call_output", call_id: call?.call_id, output: `Blue ${count}` }];
    answer = await ask({ previous_response_id: answer.id, input });
  }
  socket.close();
  expect(provider.faults).toEqual([]);
  expect(provider.seen.map(({ frame }) => frame.previous_response_id).slice(1)).toEqual(
    Array.from({ length: 9 }, (_, index) => `resp_native_${index + 1}`),
  );
  expect(provider.handshakes.length).toBe(1);
});

test("a provider that does not list in its last event what it streamed gets the whole conversation", async () => {
  const { provider, open } = await reuse();
  provider.fault = ({ events, send }) => {
    const last = events.at(-1) as { response: object };
    send(...events.slice(0, -1), { ...last, response: { ...last.response, output: [] } });
    return true;
  };
  const client = await open();
  const { response } = await client.turn({ ...turn, input: "Hi" });
  expect(response.output.length).toBe(1);
  await client.turn({ ...turn, previous_response_id: response.id, input: "And?" });
  expect(provider.seen.map(({ frame, items }) => [frame.previous_response_id, items.length])).toEqual([
    [undefined, 1],
    [undefined, 3],
  ]);
  client.close();
});

test("names in client_metadata are not sent to a provider that does not say that it takes them", async () => {
  const { provider, open } = await reuse();
  const client = await open();
  await client.turn({ ...turn, input: "Hi", client_metadata: { session_id: "s-1" } });
  expect(provider.seen.map(({ frame }) => "client_metadata" in frame)).toEqual([false]);
  client.close();
});

describe("by server-sent events", () => {
  test.each([405, 503])(
    "where the provider answers a handshake by %d, and no handshake follows for a while",
    async (status) => {
      const { provider, open, gateway } = await start();
      provider.plan = { name: "look", input: {}, turns: 100 };
      provider.refusal = new Response("no", { status });
      const client = await open();
      await tenTurns(client);
      expect(provider.seen.map(({ socket }) => socket)).toEqual(Array(10).fill(0));
      expect(provider.handshakes.length).toBe(1);
      client.close();
      await until(() => gateway.ledger.counts().open === 0);
      expect(await costsOf(gateway)).toEqual(Array(10).fill(costOfTurn));
    },
  );

  test("where a new WebSocket is closed before an answer", async () => {
    const { provider, open, gateway } = await reuse();
    provider.fault = ({ close }) => {
      close(1013);
      return true;
    };
    const client = await open();
    expect(await client.turn({ ...turn, input: "Hi" })).toMatchObject({ type: "response.completed" });
    expect(provider.seen.map(({ socket }) => socket)).toEqual([1, 0]);
    client.close();
    await until(() => gateway.ledger.counts().open === 0);
    expect(await costsOf(gateway)).toEqual([costOfTurn]);
  });

  test("where the setting is off, the row does not say that the server has WebSockets, and by POST", async () => {
    for (const [env, model] of [
      [{ PROVIDER_WEBSOCKETS: "off" }, {}],
      [{}, { options: {} }],
    ]) {
      const { provider, open, gateway } = await start(env as Record<string, string>, model);
      const client = await open();
      expect(await client.turn({ ...turn, input: "Hi" })).toMatchObject({ type: "response.completed" });
      expect((await gateway.post("/responses", { ...turn, input: "Hi" })).status).toBe(200);
      expect(provider.handshakes.length).toBe(0);
      client.close();
    }
  });

  test("beyond the bounds of an account and of the process", async () => {
    const { provider, open, gateway } = await reuse();
    const { lanes } = gateway.app.kernel.network;
    lanes.bounds = { ...lanes.bounds, socketsMax: 2, ownMin: 1 };
    const client = await open();
    for (const stream_id of ["a", "b", "c"]) await client.turn({ ...turn, stream_id, input: "Hi" });
    expect(provider.seen.map(({ socket }) => socket)).toEqual([1, 0, 0]);
    client.close();
    await until(() => lanes.size === 0);
  });
});

describe("in the middle of a turn", () => {
  test("a WebSocket that is closed after content ends it with an error, and what was served is charged", async () => {
    const { provider, open, gateway } = await reuse();
    provider.fault = ({ events, send, close }) => {
      send(...events.slice(0, 6));
      close(1011);
      return true;
    };
    const client = await open();
    const last = await client.turn({ ...turn, input: "Hi" });
    expect(last).toMatchObject({ type: "response.failed" });
    expect(provider.seen.length).toBe(1);
    provider.fault = undefined;
    expect(await client.turn({ ...turn, input: "Hi" })).toMatchObject({ type: "response.completed" });
    client.close();
    await until(() => gateway.ledger.counts().open === 0);
    const [cut = 0, whole] = await costsOf(gateway);
    expect(whole).toBe(costOfTurn);
    expect(Number(cut)).toBeGreaterThan(0);
    expect(Number(cut)).toBeLessThan(costOfTurn);
    expect(gateway.app.memory.bytes).toBe(0);
  });

  test("a client that leaves ends the turn and its WebSocket, and it is settled once", async () => {
    const { provider, open, gateway } = await reuse();
    const { promise, resolve } = Promise.withResolvers<void>();
    provider.fault = async ({ events, send }) => {
      send(...events.slice(0, 6));
      await promise;
      send(...events.slice(6));
      return true;
    };
    const client = await open();
    client.send({ type: "response.create", ...turn, input: "Hi" });
    await client.until(({ type }) => type === "response.output_text.delta");
    client.terminate();
    await until(() => gateway.app.http.sockets?.size === 0);
    // The model may think, so its provider's report is waited for.
    resolve();
    await until(() => gateway.ledger.counts().open === 0);
    await until(() => provider.open === 0);
    expect(await costsOf(gateway)).toEqual([costOfTurn]);
    expect(gateway.app.memory.bytes).toBe(0);
    expect(gateway.app.kernel.network.lanes.size).toBe(0);
  });
});

test("two lanes have a WebSocket each, at once, and neither sees the other's responses", async () => {
  const { provider, open, gateway } = await reuse();
  provider.plan = { name: "look", input: { at: "the sky" }, turns: 100 };
  const [one, other] = [await open(), await open()];
  await Promise.all([tenTurns(one, "a"), tenTurns(other, "a")]);
  expect(provider.faults).toEqual([]);
  expect(provider.handshakes.length).toBe(2);
  const client = await open();
  let held = 2;
  const both = Promise.withResolvers<boolean>();
  provider.fault = () => {
    if (--held === 0) both.resolve(false);
    return both.promise;
  };
  for (const stream_id of ["a", "b"]) client.send({ type: "response.create", ...turn, stream_id, input: "Hi" });
  await client.ended();
  await client.ended();
  expect(new Set(provider.seen.slice(-2).map(({ socket }) => socket)).size).toBe(2);
  for (const each of [one, other, client]) each.close();
  await until(() => gateway.app.kernel.network.lanes.size === 0);
  await until(() => gateway.ledger.counts().open === 0);
  expect((await costsOf(gateway)).length).toBe(22);
});

test("a WebSocket to a provider ends when it was idle, when it is old, and when the gateway shuts down", async () => {
  const { provider, open, gateway } = await reuse();
  const { lanes } = gateway.app.kernel.network;
  const { bounds } = lanes;
  lanes.bounds = { ...bounds, idleMs: 20 };
  const client = await open();
  await client.turn({ ...turn, input: "Hi" });
  await until(() => provider.open === 0);
  lanes.bounds = { ...bounds, ageMs: 0 };
  await client.turn({ ...turn, input: "Hi" });
  await client.turn({ ...turn, input: "Hi" });
  expect(provider.seen.map(({ socket }) => socket)).toEqual([1, 2, 3]);
  lanes.bounds = bounds;
  await client.turn({ ...turn, input: "Hi" });
  gateway.app.http.sockets?.drain();
  await client.closed;
  await until(() => provider.open === 0);
  expect(lanes.size).toBe(0);
});
