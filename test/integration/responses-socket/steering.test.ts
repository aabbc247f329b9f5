import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { ResponsesClient, type SocketEvent } from "../../support/responses-client.ts";
import {
  manifestOf,
  type SocketProvider,
  startSocketProvider,
  type TurnOnSocket,
} from "../../support/socket-provider.ts";
import { until } from "../../support/until.ts";

// The provider of these tests follows the protocol as OpenAI documents it.

let gateway: InProcessGateway;
let provider: SocketProvider;
const clients: ResponsesClient[] = [];
let callsBefore = 0;

beforeAll(async () => {
  provider = startSocketProvider();
  const files = { "plugins/lab.json": manifestOf(provider, "lab", {}) };
  gateway = await startInProcess({ env: { SANDBOX: "off", LAB_API_KEY: "sk-lab" }, files });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await until(() => provider.open === 0 && gateway.ledger.counts().open === 0);
  await until(() => gateway.app.memory.bytes === 0);
  expect(provider.faults).toEqual([]);
  provider.reset();
  callsBefore = gateway.ledger.counts().calls;
});
afterAll(async () => {
  await gateway.stop();
  await provider.stop();
});

async function open(key = gateway.key): Promise<ResponsesClient> {
  const client = await ResponsesClient.open(gateway.baseUrl, key);
  clients.push(client);
  return client;
}

async function rows() {
  await until(() => gateway.ledger.counts().open === 0);
  const all = await gateway.store.db.selectFrom("call_rows").selectAll().orderBy("seq").execute();
  return all.slice(callsBefore);
}

const costOfTurn = 100 * 1000 + 20 * 10_000;
const turn = { model: "lab-1", store: false, max_output_tokens: 500 };
const input = [{ type: "message", role: "user", content: "Say it in French" }];
const isOf = (type: string) => (event: SocketEvent) => event.type === type;

/** The last event of a response that ends because it was steered. */
function cut(events: object[]): object {
  const { response } = events.at(-1) as { response: object };
  const incomplete = { ...response, status: "incomplete", incomplete_details: { reason: "steered" } };
  return { ...events.at(-1), type: "response.incomplete", response: incomplete };
}

/** Answers the first turn only after it was steered. */
function waitForSteering(end: (turn: TurnOnSocket) => object = ({ events }) => cut(events)): void {
  provider.fault = async (asked) => {
    const { events, send, steered } = asked;
    if (asked.isSuccessor || provider.seen.length > 1) return false;
    send(...events.slice(0, -1));
    await steered;
    send(end(asked));
    return true;
  };
}

async function begin(client: ResponsesClient, body: object = {}): Promise<string> {
  client.send({ type: "response.create", ...turn, input: "Count to nine", ...body });
  const { response } = await client.until(isOf("response.created"));
  await client.until(isOf("response.output_text.delta"));
  return response.id;
}

test("a response that is steered ends, and its successor is a call of its own that is charged once", async () => {
  waitForSteering();
  const client = await open();
  const id = await begin(client);
  client.send({ type: "response.steer", previous_response_id: id, input });
  expect(await client.until(isOf("response.steer.accepted"))).toMatchObject({ steer: { previous_response_id: id } });
  await client.until(isOf("response.incomplete"));
  const last = await client.until(isOf("response.completed"));
  expect(last.response.previous_response_id).toBe(id);
  const order = client.events.map(({ type }) => type).filter((type) => /created|incomplete|completed/.test(type));
  expect(order).toEqual(["response.created", "response.incomplete", "response.created", "response.completed"]);
  expect((await rows()).map(({ cost_nanodollars }) => cost_nanodollars)).toEqual([costOfTurn, costOfTurn]);
  // The next turn continues the successor by the same WebSocket, with its own item alone.
  client.send({ type: "response.create", ...turn, previous_response_id: last.response.id, input: "And in Latin?" });
  await client.until(isOf("response.completed"), 1);
  const [, , seen] = provider.seen;
  expect(seen?.frame).toMatchObject({ previous_response_id: last.response.id, input: [{ content: "And in Latin?" }] });
  expect(seen?.items.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "user"]);
});

const costs = async () => (await rows()).map(({ cost_nanodollars }) => cost_nanodollars);
const steer = (client: ResponsesClient, id: string, more: object = {}) =>
  client.send({ type: "response.steer", previous_response_id: id, input, ...more });

test("the most that the successor may cost is held before the provider gets the input, with the running answer", async () => {
  const goOn = Promise.withResolvers<void>();
  provider.fault = async ({ events, send, isSuccessor }) => {
    if (isSuccessor) return false;
    send(...events.slice(0, -1));
    await goOn.promise;
    send(cut(events));
    return true;
  };
  const client = await open();
  const id = await begin(client);
  steer(client, id);
  await client.until(isOf("response.steer.accepted"));
  const held = await gateway.store.db.selectFrom("open_call_rows").select("hold_nanodollars").execute();
  const [running = 0, next = 0] = held.map(({ hold_nanodollars }) => Number(hold_nanodollars)).sort((a, b) => a - b);
  // 500 tokens of the answer as input, at a tenth of what they may cost as output, and the new input.
  expect(next - running).toBeGreaterThan(500 * 1000);
  expect(next - running).toBeLessThan(600 * 1000);
  goOn.resolve();
  await client.until(isOf("response.completed"));
  expect(await costs()).toEqual([costOfTurn, costOfTurn]);
});

test("a refused hold refuses the steering with its input, and leaves the running response alone", async () => {
  const goOn = Promise.withResolvers<void>();
  provider.fault = async ({ events, send }) => {
    send(...events.slice(0, -1));
    await goOn.promise;
    send(...events.slice(-1));
    return true;
  };
  const { id: accountId } = await gateway.store.db.selectFrom("accounts").select("id").executeTakeFirstOrThrow();
  const bounds = { budgetNanodollars: 8_000_000 };
  const { key } = await gateway.app.accounts.createKey({ accountId, name: "row", bounds });
  const client = await open(key);
  const id = await begin(client);
  steer(client, id);
  const failed = await client.until(isOf("response.steer.failed"));
  expect(failed).toMatchObject({
    error: { type: "invalid_request_error" },
    steer: { previous_response_id: id, input },
  });
  expect(failed.error?.code).toMatch(/budget|insufficient/);
  goOn.resolve();
  await client.until(isOf("response.completed"));
  expect(provider.seen.length).toBe(1);
  expect(await costs()).toEqual([costOfTurn]);
});

test("input that waits for results of tools goes with the next turn, which is held with it and sends it once", async () => {
  provider.plan = { name: "look", input: {}, turns: 1 };
  waitForSteering(({ events }) => events.at(-1) as object);
  const client = await open();
  const tools = [{ type: "function", name: "look", strict: false, parameters: { type: "object", properties: {} } }];
  client.send({ type: "response.create", ...turn, tools, input: "Look" });
  const { response } = await client.until(isOf("response.created"));
  await client.until(isOf("response.output_item.done"));
  const { id } = response;
  steer(client, id);
  const pending = await client.until(isOf("response.steer.pending"));
  expect(client.events.findIndex(isOf("response.completed"))).toBeLessThan(client.events.indexOf(pending));
  const [{ call_id }] = pending.required_input;
  const output = { type: "function_call_output", call_id, output: "Blue" };
  client.send({ type: "response.create", ...turn, tools, previous_response_id: id, input: [output] });
  await client.until(isOf("response.completed"), 1);
  expect(provider.seen[1]?.frame).toMatchObject({ previous_response_id: id, input: [output] });
  expect(provider.seen[1]?.items.map(({ type }) => type)).toEqual([
    ...["message", "function_call", "message", "function_call_output"],
  ]);
  expect(await costs()).toEqual([costOfTurn, 0, costOfTurn]);
});

test("input that waited is sent with the whole conversation where the provider has closed in between", async () => {
  provider.plan = { name: "look", input: {}, turns: 1 };
  waitForSteering(({ events }) => events.at(-1) as object);
  const client = await open();
  const tools = [{ type: "function", name: "look", strict: false, parameters: { type: "object", properties: {} } }];
  client.send({ type: "response.create", ...turn, tools, input: "Look" });
  const { response } = await client.until(isOf("response.created"));
  await client.until(isOf("response.output_item.done"));
  steer(client, response.id);
  const pending = await client.until(isOf("response.steer.pending"));
  provider.closeAll(1012);
  await until(() => gateway.app.kernel.network.lanes.size === 0);
  const output = { type: "function_call_output", call_id: pending.required_input[0].call_id, output: "Blue" };
  client.send({ type: "response.create", ...turn, tools, previous_response_id: response.id, input: [output] });
  await client.until(isOf("response.completed"), 1);
  expect(provider.seen[1]?.frame.previous_response_id).toBeUndefined();
  expect(JSON.stringify(provider.seen[1]?.items).split("Say it in French").length).toBe(2);
});

test.each(["steering_not_supported", "invalid_input"])(
  "a provider that answers %s is passed on, and costs nothing",
  async (code) => {
    provider.steeringRefusal = code;
    waitForSteering(({ events }) => events.at(-1) as object);
    const client = await open();
    const id = await begin(client);
    steer(client, id);
    expect(await client.until(isOf("response.steer.failed"))).toMatchObject({ error: { code }, steer: { input } });
    await client.until(isOf("response.completed"));
    expect(await costs()).toEqual([costOfTurn, 0]);
  },
);

test("a turn that waits in the lane is sent after the successor, by the same WebSocket", async () => {
  waitForSteering();
  const client = await open();
  client.send({ type: "response.create", ...turn, stream_id: "a", input: "Count" });
  const { response } = await client.until(isOf("response.created"));
  steer(client, response.id);
  client.send({ type: "response.create", ...turn, stream_id: "a", input: "Next" });
  await client.until(isOf("response.completed"), 1);
  expect(client.events.every(({ stream_id }) => stream_id === "a")).toBe(true);
  expect(provider.seen.map(({ socket }) => socket)).toEqual([1, 1, 1]);
  expect(provider.seen.map(({ frame }) => JSON.stringify(frame.input))).toEqual([
    JSON.stringify("Count"),
    JSON.stringify(input),
    JSON.stringify("Next"),
  ]);
  expect(await costs()).toEqual([costOfTurn, costOfTurn, costOfTurn]);
});

test.each<[string, (asked: TurnOnSocket) => void]>([
  ["in the middle of the response", ({ terminate }) => terminate()],
  [
    "between the response and its successor",
    ({ events, send, close }) => {
      send(cut(events));
      close(1012);
    },
  ],
])("a provider that closes %s returns the input, which costs nothing", async (_, leave) => {
  provider.fault = async (asked) => {
    const { events, send, steered } = asked;
    send(...events.slice(0, -1));
    await steered;
    leave(asked);
    return true;
  };
  const client = await open();
  const id = await begin(client);
  steer(client, id);
  const failed = await client.until(isOf("response.steer.failed"));
  expect(failed).toMatchObject({ error: { code: "successor_creation_failed" }, steer: { input } });
  const [none, running = 0] = (await costs()).map(Number).sort((a, b) => a - b);
  expect(none).toBe(0);
  expect(running).toBeGreaterThan(0);
});

test("a client that leaves is charged once for each response that the provider has made", async () => {
  const goOn = Promise.withResolvers<void>();
  provider.fault = async ({ events, send, isSuccessor }) => {
    if (isSuccessor) return false;
    send(...events.slice(0, -1));
    await goOn.promise;
    send(cut(events));
    return true;
  };
  const client = await open();
  const id = await begin(client);
  steer(client, id);
  await client.until(isOf("response.steer.accepted"));
  client.terminate();
  await until(() => gateway.app.http.sockets?.size === 0);
  goOn.resolve();
  expect(await costs()).toEqual([costOfTurn, costOfTurn]);
  expect(provider.seen.length).toBe(2);
});

test("a drain lets the response and its successor end", async () => {
  waitForSteering();
  const goOn = Promise.withResolvers<void>();
  const { fault } = provider;
  provider.fault = async (asked) => {
    if (asked.isSuccessor) await goOn.promise;
    return (await fault?.(asked)) ?? false;
  };
  const client = await open();
  const id = await begin(client);
  steer(client, id);
  await client.until(isOf("response.incomplete"));
  gateway.app.http.sockets?.drain();
  goOn.resolve();
  await client.until(isOf("response.completed"));
  expect((await client.closed).code).toBe(1012);
  expect(await costs()).toEqual([costOfTurn, costOfTurn]);
});

test("a second input waits for the successor, and steers that", async () => {
  const goOn = Promise.withResolvers<void>();
  provider.fault = async ({ events, send, steered }) => {
    if (provider.seen.length === 3) return false;
    send(...events.slice(0, -1));
    await steered;
    if (provider.seen.length === 1) await goOn.promise;
    send(cut(events));
    return true;
  };
  const client = await open();
  const id = await begin(client);
  steer(client, id);
  steer(client, id);
  const failed = await client.until(isOf("response.steer.failed"));
  expect(failed).toMatchObject({ error: { code: "too_many_pending_steers" }, steer: { input } });
  goOn.resolve();
  const { response } = await client.until(isOf("response.created"), 1);
  steer(client, response.id);
  await client.until(isOf("response.completed"));
  expect(provider.seen[2]?.items.length).toBe(5);
  expect(await costs()).toEqual([costOfTurn, costOfTurn, costOfTurn]);
});

test.each([
  ["no input", { input: [] }],
  ["input that is not a user's", { input: [{ type: "function_call_output", call_id: "c", output: "x" }] }],
])("%s is refused before the provider gets it", async (_, more) => {
  const goOn = Promise.withResolvers<void>();
  provider.fault = async ({ events, send }) => {
    send(...events.slice(0, -1));
    await goOn.promise;
    send(...events.slice(-1));
    return true;
  };
  const client = await open();
  const id = await begin(client);
  steer(client, id, more);
  expect(await client.until(isOf("response.steer.failed"))).toMatchObject({
    error: { code: "invalid_input" },
    steer: more,
  });
  goOn.resolve();
  await client.until(isOf("response.completed"));
  expect(await costs()).toEqual([costOfTurn]);
});

test("a response that has ended is not steered", async () => {
  const client = await open();
  const { response } = await client.turn({ ...turn, input: "Hi" });
  steer(client, response.id);
  expect(await client.until(isOf("response.steer.failed"))).toMatchObject({
    error: { code: "steering_not_supported" },
  });
  expect(await costs()).toEqual([costOfTurn]);
});

test("responses that are stored are continued from the store, each with the input that it was given", async () => {
  waitForSteering();
  const client = await open();
  const id = await begin(client, { store: true });
  steer(client, id);
  const { response } = await client.until(isOf("response.completed"));
  const read = async (path: string) => {
    const headers = { authorization: `Bearer ${gateway.key}` };
    return await (await fetch(`${gateway.baseUrl}/responses/${response.id}${path}`, { headers })).json();
  };
  expect(await read("")).toMatchObject({ id: response.id, previous_response_id: id, store: true });
  expect(await read("/input_items")).toMatchObject({ data: [{ role: "user" }] });
  client.close();
  const other = await open();
  await other.turn({ ...turn, previous_response_id: response.id, input: "And?" });
  expect(provider.seen.at(-1)?.items.map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "user",
    "assistant",
    "user",
  ]);
});
