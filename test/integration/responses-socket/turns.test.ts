import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import type { ResponsesClientEvent } from "openai/resources/responses/responses";
import { ResponsesWS } from "openai/resources/responses/ws";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { ResponsesClient } from "../../support/responses-client.ts";
import {
  answerInText,
  type ScriptedProviders,
  type ScriptedRequest,
  startScriptedProviders,
} from "../../support/scripted-providers.ts";
import { until } from "../../support/until.ts";

const models = { openai: "gpt-5.4", anthropic: "claude-sonnet-4-6", gemini: "gemini-3-flash-preview" };
const providers = Object.keys(models) as (keyof typeof models)[];
const tool = {
  type: "function",
  name: "look",
  description: "Looks",
  strict: false,
  parameters: { type: "object", properties: { at: { type: "string" } }, required: ["at"] },
} as const;

let upstream: ScriptedProviders;
let gateway: InProcessGateway;
beforeAll(async () => {
  upstream = startScriptedProviders();
  gateway = await startInProcess({ env: { ...upstream.env, SANDBOX: "off" } });
});
beforeEach(() => {
  upstream.seen.length = 0;
  upstream.fault = undefined;
  upstream.plan = undefined;
});
afterAll(async () => {
  await gateway?.stop();
  await upstream?.stop();
});

const open = (headers: Record<string, string> = {}, key = gateway.key) =>
  ResponsesClient.open(gateway.baseUrl, key, headers);
const textOf = (request: ScriptedRequest | undefined) => JSON.stringify(request?.body);

async function newKey(fields: object = {}) {
  const { id: accountId } = await gateway.store.db.selectFrom("accounts").select("id").executeTakeFirstOrThrow();
  return await gateway.app.accounts.createKey({ accountId, name: "row", ...fields });
}

describe.each(providers)("OpenAI's own client on a model of %s", (provider) => {
  test("makes ten turns with a tool over one connection, which nobody stores", async () => {
    upstream.plan = { name: "look", input: { at: "the sky" } };
    const before = gateway.ledger.counts().calls;
    const client = new OpenAI({ apiKey: gateway.key, baseURL: gateway.baseUrl });
    const socket = new ResponsesWS(client);
    const turn = (body: Partial<ResponsesClientEvent>) =>
      new Promise<OpenAI.Responses.Response>((resolve, reject) => {
        socket.once("response.completed", ({ response }) => resolve(response));
        socket.once("error", reject);
        socket.send({
          type: "response.create",
          model: models[provider],
          store: false,
          tools: [tool],
          ...body,
        } as never);
      });
    let answer = await turn({ input: "What do you see?" });
    for (let count = 1; count < 10; count++) {
      const call = answer.output.find((item) => item.type === "function_call");
      const input =
        call === undefined
          ? [{ role: "user" as const, content: `Look again, the ${count}th time` }]
          : [{ type: "function_call_output" as const, call_id: call.call_id, output: `Blue ${count}` }];
      const next = await turn({ previous_response_id: answer.id, input });
      expect(next.previous_response_id).toBe(answer.id);
      answer = next;
    }
    socket.close();
    expect(upstream.seen.map((request) => request.provider)).toEqual(Array(10).fill(provider));
    // The provider stores nothing either: each request has the whole conversation.
    const last = textOf(upstream.seen.at(-1));
    for (const words of ["What do you see?", "Blue 1", "the sky"]) expect(last).toContain(words);
    expect([gateway.ledger.counts().calls - before, gateway.ledger.counts().open]).toEqual([10, 0]);
  });

  test("prepares a turn that the model does not answer, which is free", async () => {
    const client = await open();
    const before = gateway.ledger.counts().calls;
    const body = { model: models[provider], store: false };
    const prepared = await client.turn({
      ...body,
      generate: false,
      input: [{ role: "developer", content: "Be brief" }],
    });
    expect(prepared).toMatchObject({
      type: "response.completed",
      response: { status: "completed", output: [], usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 } },
    });
    expect([upstream.seen.length, gateway.ledger.counts().calls - before]).toEqual([0, 0]);
    const answer = await client.turn({ ...body, previous_response_id: prepared.response.id, input: "Hello" });
    expect(answer.response.output.at(-1).content[0].text).toBe("Hello Ada");
    expect(textOf(upstream.seen[0])).toContain("Be brief");
    client.close();
  });
});

describe("lanes", () => {
  test("run side by side, each in its order, and each event names its lane", async () => {
    const held = Promise.withResolvers<void>();
    const late = (request: ScriptedRequest) => held.promise.then(() => answerInText(request));
    upstream.fault = (request) => (textOf(request)?.includes("slow") ? late(request) : undefined);
    const client = await open();
    const send = (stream_id: string, input: string) =>
      client.send({ type: "response.create", model: models.openai, store: false, stream_id, input });
    send("a", "slow");
    send("a", "after it");
    send("b", "quick");
    expect((await client.ended()).stream_id).toBe("b");
    expect(upstream.seen.some((request) => textOf(request).includes("after it"))).toBe(false);
    held.resolve();
    expect([(await client.ended()).stream_id, (await client.ended()).stream_id]).toEqual(["a", "a"]);
    expect(client.events.every(({ stream_id }) => stream_id === "a" || stream_id === "b")).toBe(true);
    client.close();
  });

  test("continue a response of another lane", async () => {
    const client = await open();
    const body = { model: models.anthropic, store: false };
    const first = await client.turn({ ...body, stream_id: "a", input: "The word is plum" });
    const second = await client.turn({
      ...body,
      stream_id: "b",
      previous_response_id: first.response.id,
      input: "Which?",
    });
    expect(second).toMatchObject({ type: "response.completed", stream_id: "b" });
    expect(textOf(upstream.seen[1])).toContain("The word is plum");
    client.close();
  });

  test("are bounded, and so are the turns that wait in one", async () => {
    const held = Promise.withResolvers<void>();
    upstream.fault = (request) => held.promise.then(() => answerInText(request));
    const client = await open();
    const send = (stream_id: string) =>
      client.send({ type: "response.create", model: models.openai, store: false, stream_id, input: "Hi" });
    for (let lane = 0; lane < 9; lane++) send(`lane ${lane}`);
    const ninth = await client.ended();
    expect(ninth).toMatchObject({ type: "error", status: 429, stream_id: "lane 8", error: { param: "stream_id" } });
    for (let waiting = 0; waiting < 17; waiting++) send("lane 0");
    expect(await client.ended()).toMatchObject({ type: "error", status: 429, stream_id: "lane 0" });
    held.resolve();
    for (let turn = 0; turn < 24; turn++) expect((await client.ended()).type).toBe("response.completed");
    client.close();
  });
});

describe("earlier responses", () => {
  const body = { model: models.anthropic, input: "The word is plum" };

  test("that are stored continue on another connection, by POST and over a connection", async () => {
    const client = await open();
    const stored = await client.turn(body);
    client.close();
    expect(stored.response.store).toBe(true);
    const id = stored.response.id;
    const posted = await gateway.post("/responses", { ...body, previous_response_id: id, input: "By POST" });
    expect(posted.status).toBe(200);
    const other = await open();
    const next = await other.turn({ ...body, previous_response_id: id, input: "Over another" });
    expect(next.type).toBe("response.completed");
    for (const request of upstream.seen.slice(1)) expect(textOf(request)).toContain("The word is plum");
    other.close();
  });

  test("that only the connection has can be continued by one that is stored, which then has all of it", async () => {
    const client = await open();
    const kept = await client.turn({ ...body, store: false });
    const stored = await client.turn({ ...body, previous_response_id: kept.response.id, input: "Go on" });
    client.close();
    const next = await gateway.post("/responses", { ...body, previous_response_id: stored.response.id, input: "And?" });
    expect(next.status).toBe(200);
    const last = textOf(upstream.seen.at(-1));
    for (const words of ["The word is plum", "Go on", "And?"]) expect(last.split(words).length - 1).toBe(1);
  });

  test("are not found on another connection when nothing stores them, nor those of another account", async () => {
    const [one, other] = [await open(), await open()];
    const kept = await one.turn({ ...body, store: false });
    const stored = await one.turn(body);
    const missing = { type: "error", status: 404, error: { code: "previous_response_not_found" } };
    const again = { ...body, store: false, input: "Which?" };
    expect(await other.turn({ ...again, previous_response_id: kept.response.id })).toMatchObject(missing);
    const { id: accountId } = await gateway.app.accounts.create({ email: `other-${crypto.randomUUID()}@example.org` });
    const { key } = await gateway.app.accounts.createKey({ accountId, name: "other" });
    const stranger = await open({}, key);
    expect(await stranger.turn({ ...again, previous_response_id: stored.response.id })).toMatchObject(missing);
    for (const client of [one, other, stranger]) client.close();
  });

  test("that failed leave the one before them, so that the turn can be sent again", async () => {
    const client = await open();
    const first = await client.turn({ ...body, store: false });
    upstream.fault = () => Response.json({ error: { type: "api_error", message: "down" } }, { status: 400 });
    const turn = { ...body, store: false, previous_response_id: first.response.id, input: "Go on" };
    expect((await client.turn(turn)).type).toBe("error");
    upstream.fault = undefined;
    expect((await client.turn(turn)).type).toBe("response.completed");
    client.close();
  });
});

describe("what is wrong with a frame", () => {
  const good = { model: models.openai, store: false, input: "Hi" };
  const frames: [string, object | string | Uint8Array<ArrayBuffer>, object][] = [
    ["no JSON", "nope", { status: 400 }],
    ["a list", "[]", { status: 400 }],
    ["bytes", new Uint8Array([1, 2]), { status: 400 }],
    ["another event", { type: "response.cancel" }, { status: 400, error: { param: "type" } }],
    ["no type", {}, { status: 400, error: { param: "type" } }],
    ["a lane that is no name", { type: "response.create", stream_id: 7, ...good }, { error: { param: "stream_id" } }],
    ["an unknown model", { type: "response.create", ...good, model: "nobody" }, { error: { code: "model_not_found" } }],
    ["an input that is a number", { type: "response.create", ...good, input: 7 }, { status: 400 }],
    ["background", { type: "response.create", ...good, background: true }, { error: { param: "background" } }],
    [
      "an idempotency key that is none",
      { type: "response.create", ...good, idempotency_key: "é" },
      { error: { param: "idempotency_key" } },
    ],
    ["a depth that no body has", `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`, { status: 400 }],
  ];

  test.each(frames)("%s is told as an error, and the next turn runs", async (_, frame, error) => {
    const client = await open();
    client.send(frame);
    expect(await client.ended()).toMatchObject({ type: "error", ...error });
    expect((await client.turn(good)).type).toBe("response.completed");
    client.close();
  });

  test("steering is refused with its input, which is not lost", async () => {
    const client = await open();
    const input = [{ role: "user", content: "Stop" }];
    client.send({ type: "response.steer", previous_response_id: "resp_1", input });
    expect(await client.ended()).toMatchObject({
      type: "response.steer.failed",
      error: { code: "steering_not_supported" },
      steer: { previous_response_id: "resp_1", input },
    });
    client.close();
  });

  test("a frame beyond the largest body ends the connection", async () => {
    const client = await open();
    client.send("x".repeat(33 * 1024 * 1024));
    expect((await client.closed).code).not.toBe(1000);
    await until(() => gateway.app.http.sockets?.size === 0);
  });
});

describe("each turn is a call", () => {
  const body = { model: models.openai, store: false, input: "Hi" };

  test("whose key is checked anew", async () => {
    const { key, id } = await newKey();
    const client = await open({}, key);
    expect((await client.turn(body)).type).toBe("response.completed");
    await gateway.app.accounts.revokeKey(id);
    expect(await client.turn(body)).toMatchObject({ type: "error", status: 401, error: { code: "invalid_api_key" } });
    client.close();
  });

  test("whose budget ends it with the words of a POST", async () => {
    const { key } = await newKey({ bounds: { budgetNanodollars: 1 } });
    const client = await open({}, key);
    const refused = await client.turn(body);
    const posted = await fetch(`${gateway.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(refused).toMatchObject({ type: "error", status: posted.status, ...((await posted.json()) as object) });
    client.close();
  });

  test("that an idempotency key runs once, also by POST", async () => {
    const client = await open();
    const keyed = { ...body, store: true, idempotency_key: crypto.randomUUID() };
    const first = await client.turn(keyed);
    const second = await client.turn(keyed);
    expect(second.response).toEqual(first.response);
    expect(upstream.seen.length).toBe(1);
    client.close();
  });

  test("with the session, tag and end user of the handshake", async () => {
    const client = await open({ "session-id": "s-1", "x-modelgate-tag": "t-1", "x-modelgate-end-user": "u-1" });
    await client.turn(body);
    client.close();
    const row = await gateway.store.db
      .selectFrom("call_rows")
      .select(["session", "tag", "end_user"])
      .orderBy("seq", "desc")
      .executeTakeFirstOrThrow();
    expect(row).toEqual({ session: "s-1", tag: "t-1", end_user: "u-1" });
  });

  /** The row of the last call. */
  const lastNames = () =>
    gateway.store.db
      .selectFrom("call_rows")
      .select(["session", "agent", "parent_agent"])
      .orderBy("seq", "desc")
      .executeTakeFirstOrThrow();
  const ofTurn = (names: object) => ({ "x-codex-turn-metadata": JSON.stringify(names) });

  test.each<[string, Record<string, string>, object, object]>([
    [
      "its metadata",
      {},
      ofTurn({ session_id: "s-2", thread_id: "t-3", parent_thread_id: "t-2", turn_id: "u-1" }),
      { session: "s-2", agent: "t-3", parent_agent: "t-2" },
    ],
    [
      "members of its metadata",
      {},
      { "session-id": "s-2", "thread-id": "t-3", "x-codex-parent-thread-id": "s-2" },
      { session: "s-2", agent: "t-3", parent_agent: null },
    ],
    ["the first thread of a session", {}, { session_id: "s-2", thread_id: "s-2" }, { session: "s-2", agent: null }],
    [
      "the handshake before its metadata",
      { "session-id": "s-1", "thread-id": "t-1" },
      ofTurn({ session_id: "s-2", thread_id: "t-3" }),
      { session: "s-1", agent: "t-1" },
    ],
    [
      "nothing that can be a name",
      {},
      { "session-id": "a\nb", "thread-id": 7, ...ofTurn([]) },
      { session: null, agent: null },
    ],
  ])("whose session and agent are those of %s", async (_, headers, client_metadata, names) => {
    const client = await open(headers);
    expect(await client.turn({ ...body, client_metadata })).toMatchObject({ type: "response.completed" });
    client.close();
    expect(await lastNames()).toMatchObject(names);
  });

  test("whose client_metadata goes to OpenAI alone", async () => {
    const client_metadata = ofTurn({ session_id: "s-2" });
    const client = await open();
    for (const model of Object.values(models)) await client.turn({ ...body, model, client_metadata });
    client.close();
    expect(upstream.seen.map(({ body: sent }) => sent.client_metadata)).toEqual([
      client_metadata,
      undefined,
      undefined,
    ]);
  });
});
