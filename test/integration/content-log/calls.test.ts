import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { enterAs } from "../../support/session-cookie.ts";
import {
  chatReply,
  claude,
  eventsOf,
  gpt,
  type NativeBench,
  type Seen,
  startNative,
  streamOf,
} from "../native/fixture.ts";

const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-upstream",
  stop_reason: "tool_use",
  content: [
    { type: "text", text: "Let me look" },
    { type: "tool_use", id: "toolu_1", name: "look", input: { at: "it" } },
  ],
  stop_sequence: null,
  usage: { input_tokens: 11, output_tokens: 4 },
};
const json = (text: string) => ({ type: "input_json_delta", partial_json: text });
const messageEvents = [
  { type: "message_start", message: { ...message, content: [], stop_reason: null } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Let me " } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "look" } },
  { type: "content_block_stop", index: 0 },
  {
    type: "content_block_start",
    index: 1,
    content_block: { type: "tool_use", id: "toolu_1", name: "look", input: {} },
  },
  { type: "content_block_delta", index: 1, delta: json('{"at":') },
  { type: "content_block_delta", index: 1, delta: json('"it"}') },
  { type: "content_block_stop", index: 1 },
  { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 4 } },
  { type: "message_stop" },
];
const response = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  status: "completed",
  model: "gpt-upstream",
  output: [
    {
      type: "message",
      id: "msg_2",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Hello from Responses", annotations: [] }],
    },
  ],
  usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
};
const responseEvents = [
  { type: "response.created", response: { ...response, status: "in_progress", output: [] }, sequence_number: 0 },
  { type: "response.output_text.delta", item_id: "msg_2", delta: "Hello from Responses", sequence_number: 1 },
  { type: "response.completed", response, sequence_number: 2 },
];

function answer(seen: Seen): Response {
  const isStream = seen.body.stream === true;
  if (JSON.stringify(seen.body).includes("fail please"))
    return Response.json({ error: { message: "No" } }, { status: 400 });
  if (seen.path.endsWith("/messages")) return isStream ? streamOf(eventsOf(messageEvents)) : Response.json(message);
  if (seen.path.endsWith("/responses")) return isStream ? streamOf(eventsOf(responseEvents)) : Response.json(response);
  return chatReply(seen, "Hello, ada@example.org");
}

const messages = [
  { role: "system", content: "Be brief" },
  { role: "user", content: "The word is xylophone, my key sk-live-0123456789abcdefghij" },
];
const asked = [
  { role: "system", text: "Be brief" },
  { role: "user", text: "The word is xylophone, my key [redacted]" },
];

type Turn = { role: string; text: string };
type Who = "member" | "other" | "viewer" | "admin";
let bench: NativeBench;
let origin: string;
let accountId: string;
const cookies = {} as Record<Who, string>;
const ids = {} as Record<Who, string>;

async function ask(who: Who, method: string, path: string, body?: unknown): Promise<Response> {
  return await fetch(`${origin}/dashboard/api${path}`, {
    method,
    headers: { cookie: cookies[who], origin, ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}
const flush = () => bench.gateway.app.flush();
const setSwitch = (on: boolean, key?: string) =>
  ask("admin", "POST", `/admin/accounts/${accountId}/content`, { on, ...(key !== undefined && { key }) });

/** Sends a call, and returns the id of its request once it is answered whole. */
async function call(path: string, body: object, status = 200): Promise<string> {
  const sent = await bench.ask(path, body);
  const text = await sent.text();
  expect(`${sent.status} ${text}`).toStartWith(String(status));
  await flush();
  return sent.headers.get("x-request-id") as string;
}
async function view(id: string, who: Who = "member") {
  const shown = await ask(who, "POST", `/requests/${id}/content`);
  const { request, answer: answered } = (await shown.json()) as { request?: Turn[]; answer?: Turn[] };
  return { status: shown.status, request, answered };
}
const audit = async () => {
  const { data } = (await (await ask("admin", "GET", "/admin/audit")).json()) as { data: Record<string, unknown>[] };
  return data.filter(({ action }) => String(action).startsWith("content."));
};

beforeAll(async () => {
  bench = await startNative(answer, { env: { CONTENT_LOG: "selected", SANDBOX: "off" } });
  origin = new URL(bench.gateway.baseUrl).origin;
  const { accounts } = bench.gateway.app;
  accountId = (await accounts.find("test@example.org"))?.id as string;
  for (const who of ["member", "other", "viewer", "admin"] as const) {
    ids[who] = who === "member" ? accountId : (await accounts.create({ email: `${who}@example.org` })).id;
    const role = who === "other" ? "member" : who;
    cookies[who] = await enterAs(bench.gateway.store, { accountId: ids[who], role }, Date.now());
  }
});
afterAll(() => bench.stop());

describe("the content log", () => {
  test("keeps nothing until an administrator switches it on, and tells the account", async () => {
    const id = await call("/chat/completions", { model: gpt, messages });
    expect((await view(id)).status).toBe(404);
    const described = { mode: "selected", days: 7, max_mb: 64, account: false, keys: [], records: 0, bytes: 0 };
    expect(await (await ask("member", "GET", "/content")).json()).toEqual(described);
    expect((await ask("member", "POST", `/admin/accounts/${accountId}/content`, { on: true })).status).toBe(403);
    expect((await ask("viewer", "POST", `/admin/accounts/${accountId}/content`, { on: true })).status).toBe(403);
    expect((await setSwitch(true)).status).toBe(200);
    expect((await setSwitch(true)).status).toBe(200);
    expect(await (await ask("member", "GET", "/content")).json()).toEqual({ ...described, account: true });
    expect(await audit()).toMatchObject([{ action: "content.switch", account: ids.admin, subject: accountId }]);
  });

  test.each([
    ["/chat/completions", "whole", { messages }, "Hello, [redacted]"],
    ["/chat/completions", "streamed", { messages, stream: true }, "Hello, [redacted]"],
    ["/responses", "whole", { instructions: "Be brief", input: messages.slice(1) }, "Hello from Responses"],
    [
      "/responses",
      "streamed",
      { instructions: "Be brief", input: messages.slice(1), stream: true },
      "Hello from Responses",
    ],
  ])("shows the account what %s said, %s", async (path, _, body, said) => {
    const id = await call(path, { model: gpt, ...body });
    const { status, request, answered } = await view(id);
    expect({ status, request, answered }).toEqual({
      status: 200,
      request: asked,
      answered: [{ role: "assistant", text: said }],
    });
    expect(await (await ask("member", "GET", `/requests/${id}`)).json()).toMatchObject({ has_content: true });
  });

  test.each([
    ["whole", false],
    ["streamed", true],
  ])("shows a tool call of Messages, %s", async (_, stream) => {
    const body = { model: claude, max_tokens: 100, system: "Be brief", messages: messages.slice(1), stream };
    const { request, answered } = await view(await call("/messages", body));
    expect(request).toEqual(asked);
    const text = answered?.map((turn) => turn.text).join("\n");
    expect(text).toBe(stream ? 'Let me look\nname: look\n{"at":"it"}' : "Let me look\nname: look\nat: it");
  });

  test("keeps the request of a call that failed, and nothing of one that was refused", async () => {
    const failing = [{ role: "user", content: "fail please" }];
    const failed = await view(await call("/chat/completions", { model: gpt, messages: failing }, 400));
    expect(failed).toMatchObject({ status: 200, request: [{ role: "user", text: "fail please" }], answered: [] });
    const refused = await call("/chat/completions", { model: "unknown", messages }, 400);
    expect((await view(refused)).status).toBe(404);
  });

  test("keeps nothing of a call with store: false", async () => {
    for (const path of ["/chat/completions", "/responses"]) {
      const body = path === "/responses" ? { input: "Hi" } : { messages };
      expect((await view(await call(path, { model: gpt, ...body, store: false }))).status).toBe(404);
    }
  });

  test("is shown to administrators with an audit entry each time, and to nobody else", async () => {
    const id = await call("/chat/completions", { model: gpt, messages });
    const before = (await audit()).length;
    expect((await view(id)).status).toBe(200);
    expect((await view(id, "other")).status).toBe(404);
    expect((await view(id, "viewer")).status).toBe(403);
    expect(await (await ask("viewer", "GET", `/requests/${id}`)).json()).toMatchObject({ has_content: false });
    expect((await audit()).length).toBe(before);
    const strange = { method: "POST", headers: { cookie: cookies.admin, origin: "https://evil.example" } };
    expect((await fetch(`${origin}/dashboard/api/requests/${id}/content`, strange)).status).toBe(403);
    for (const count of [1, 2]) {
      expect(await view(id, "admin")).toMatchObject({ status: 200, request: asked });
      const entries = await audit();
      expect(entries.length).toBe(before + count);
      expect(entries[0]).toMatchObject({
        action: "content.view",
        account: ids.admin,
        subject: accountId,
        detail: { request: id },
      });
    }
  });

  test("is not shown to an administrator unseen, whichever account their session is in", async () => {
    const id = await call("/chat/completions", { model: gpt, messages });
    const invite = (account: string) =>
      ask("admin", "POST", `/admin/accounts/${account}/team/invitations`, { role: "admin" });
    const latest = async () => (await audit())[0];
    // In the team of a third account, and in that of the account itself.
    for (const account of [ids.other, accountId]) {
      const { token } = (await (await invite(account)).json()) as { token: string };
      expect((await ask("admin", "POST", "/teams/join", { token })).status).toBe(200);
      const before = (await audit()).length;
      expect(await view(id, "admin")).toMatchObject({ status: 200, request: asked });
      expect((await audit()).length).toBe(before + 1);
      expect(await latest()).toMatchObject({ action: "content.view", account: ids.admin, subject: accountId });
    }
    await ask("admin", "POST", "/teams/switch", { account: ids.admin });
  });

  test("is on no disk in clear, and unreadable with another key", async () => {
    const id = await call("/chat/completions", { model: gpt, messages });
    const { home } = bench.gateway;
    const files = readdirSync(home).filter((name) => name.startsWith("modelgate.db"));
    expect(files.length).toBeGreaterThan(0);
    for (const name of files) expect(readFileSync(join(home, name)).includes("xylophone")).toBe(false);
    const { db } = bench.gateway.store;
    await db.updateTable("contents").set({ secrets_id: "another" }).where("id", "=", id).execute();
    expect(await view(id)).toMatchObject({ status: 409 });
  });

  test("can be deleted by the account, one by one or all, and by administrators with an audit entry", async () => {
    const id = await call("/chat/completions", { model: gpt, messages });
    expect((await ask("admin", "DELETE", `/requests/${id}/content`)).status).toBe(404);
    expect((await ask("member", "DELETE", `/requests/${id}/content`)).status).toBe(200);
    expect((await view(id)).status).toBe(404);
    await call("/chat/completions", { model: gpt, messages });
    expect(await (await ask("member", "DELETE", "/content")).json()).toEqual({ deleted: expect.any(Number) });
    expect(await (await ask("member", "GET", "/content")).json()).toMatchObject({ records: 0, bytes: 0 });
    await call("/chat/completions", { model: gpt, messages });
    expect(await (await ask("admin", "DELETE", `/admin/accounts/${accountId}/content`)).json()).toEqual({ deleted: 1 });
    expect((await audit())[0]).toMatchObject({ action: "content.delete", subject: accountId, detail: { requests: 1 } });
  });

  test("is switched on for single keys, and off again at once", async () => {
    await setSwitch(false);
    const { id: keyId, key } = await bench.gateway.app.accounts.createKey({ accountId, name: "watched" });
    const unknown = await setSwitch(true, "unknown");
    expect(unknown.status).toBe(404);
    await setSwitch(true, keyId);
    const send = async (authorization: string) => {
      const sent = await bench.ask("/chat/completions", { model: gpt, messages }, { authorization });
      await sent.text();
      await flush();
      return await view(sent.headers.get("x-request-id") as string);
    };
    expect((await send(`Bearer ${key}`)).status).toBe(200);
    expect((await send(`Bearer ${bench.gateway.key}`)).status).toBe(404);
    expect(await (await ask("member", "GET", "/content")).json()).toMatchObject({ account: false, keys: [keyId] });
    await setSwitch(false, keyId);
    expect((await send(`Bearer ${key}`)).status).toBe(404);
  });
});
