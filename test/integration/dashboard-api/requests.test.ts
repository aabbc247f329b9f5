import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { UpstreamError } from "../../../src/contract/index.ts";
import type { Handlers } from "../../../src/provider/index.ts";
import { changeCharacter } from "../../support/change-character.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { enterAs } from "../../support/session-cookie.ts";
import { until } from "../../support/until.ts";
import { completionOf } from "../../unit/kernel/streams.ts";
import { chatModel, createPlugin } from "../../unit/kernel/support.ts";

const secretKey = "sk-upstream-0123456789abcdef";
const messages = [{ role: "user", content: "Say hello" }];

/** Fails on its first attempt of each call, and repeats the key that it was sent. */
const attempted = new Set<string>();
const handlers: Handlers = {
  chat: async ({ id, warn }) => {
    warn("seed is not known here", "seed");
    if (attempted.has(id)) return completionOf("Hello", { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 });
    attempted.add(id);
    throw new UpstreamError("overloaded", `Account org-7 with ${secretKey} waits`, { status: 503 });
  },
};
const plugin = createPlugin(handlers, { models: [{ ...chatModel, premium: false }] });

type Who = "member" | "other" | "admin" | "viewer";
let gateway: InProcessGateway;
let origin: string;
const cookies = {} as Record<Who, string>;
const keys = {} as Record<"app" | "limited" | "revoked", { id: string; key: string }>;
let memberId: string;

interface Row {
  id: string;
  [name: string]: unknown;
}

async function send(body: unknown, key: string, headers: Record<string, string> = {}): Promise<Response> {
  return await fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

const get = (who: Who, path: string) =>
  fetch(`${origin}/dashboard/api/requests${path}`, { headers: { cookie: cookies[who] } });

async function rows(who: Who, query: string): Promise<Row[]> {
  return ((await (await get(who, query)).json()) as { data: Row[] }).data;
}

/** Waits until the refused requests are written. */
async function rowsOnce(who: Who, query: string, count: number): Promise<Row[]> {
  await until(async () => (await rows(who, query)).length >= count);
  return await rows(who, query);
}

beforeAll(async () => {
  gateway = await startInProcess({ env: { SANDBOX: "off", ACME_API_KEY: secretKey }, plugins: [plugin] });
  ({ origin } = new URL(gateway.baseUrl));
  const { accounts } = gateway.app;
  for (const who of ["member", "other", "viewer", "admin"] as const) {
    const { id } = await accounts.create({ email: `${who}@example.org` });
    if (who === "member") memberId = id;
    const role = who === "other" ? "member" : who;
    cookies[who] = await enterAs(gateway.store, { accountId: id, role }, Date.now());
  }
  const accountId = memberId;
  keys.app = await accounts.createKey({ accountId, name: "app" });
  keys.limited = await accounts.createKey({ accountId, name: "limited", allowedModels: ["another"] });
  keys.revoked = await accounts.createKey({ accountId, name: "revoked" });
  await accounts.revokeKey(keys.revoked.id);
});
afterAll(() => gateway.stop());

describe("the request log", () => {
  test("tells of a call how it went: its attempts, finish reason, ignored fields, session and client", async () => {
    const body = { model: chatModel.id, messages, seed: 7, prompt_cache_key: "session-1" };
    const response = await send(body, keys.app.key, { "x-request-id": "mine-1" });
    expect(response.status).toBe(200);
    const id = response.headers.get("x-request-id") as string;
    const [row] = await rows("member", "?text=mine-1");
    const listed = { id, state: "settled", status: 200, protocol: "chat", session: "session-1", key_id: keys.app.id };
    expect(row).toMatchObject({
      ...listed,
      client_request_id: "mine-1",
      input_tokens: 3,
      output_tokens: 2,
      email: null,
    });
    const detail = await (await get("member", `/${id}`)).json();
    expect(row?.model_name).toBe(detail.model_name);
    expect(detail).toMatchObject({
      ...listed,
      finish_reasons: ["stop"],
      ignored: ["seed"],
      error: null,
      stream: false,
    });
    const attempt = { plugin: "acme", error: "overloaded", status: 503 };
    expect(detail.failed_attempts).toEqual([{ ...attempt, duration_ms: expect.any(Number), message: null }]);
    const ofAdmin = await (await get("admin", `/${id}`)).json();
    expect(ofAdmin.email).toBe("member@example.org");
    expect(ofAdmin.failed_attempts[0]).toMatchObject({ ...attempt, message: "Account org-7 with [hidden] waits" });
    // A provider may repeat a part of the prompt, and viewers read none.
    const ofViewer = await (await get("viewer", `/${id}`)).json();
    expect(ofViewer).toMatchObject({ email: "member@example.org", node: ofAdmin.node });
    expect(ofViewer.failed_attempts[0]).toMatchObject({ ...attempt, message: null });
    expect(ofAdmin.warnings).toContain("seed is not known here");
  });

  test("holds what was refused: a bad body, an unknown model, a model or a key that may not", async () => {
    const model = chatModel.id;
    const wrongSecret = changeCharacter(keys.app.key, -1);
    const answers = [
      await send({ model, messages, temperature: 9 }, keys.app.key),
      await send({ model: "nothing", messages }, keys.app.key),
      await send({ model, messages }, keys.limited.key),
      await send({ model, messages }, keys.revoked.key),
      await send({ model, messages }, wrongSecret),
      await send({ model: 7, messages }, keys.app.key, { "x-request-id": "mine-2" }),
    ];
    const written = await rowsOnce("member", "?status=refused", answers.length);
    const refused = answers.map(({ headers }) => written.find(({ id }) => id === headers.get("x-request-id")));
    const [limited, unauthorized] = [{ key_id: keys.limited.id }, { status: 401, error_code: "invalid_api_key" }];
    expect(written).toHaveLength(answers.length);
    expect(refused).toMatchObject([
      { model, status: 400, error_code: "invalid_request", state: "refused", key_id: keys.app.id },
      { model: "nothing", status: 400, error_code: "model_not_found", capability: "chat" },
      { model, status: 403, error_code: "model_not_allowed", ...limited },
      { ...unauthorized, key_id: keys.revoked.id },
      { ...unauthorized, key_id: keys.app.id },
      { model: null, client_request_id: "mine-2", endpoint: "POST /api/v1/chat/completions" },
    ]);
    const detail = await (await get("member", `/${refused[0]?.id}`)).json();
    expect(detail.error).toContain("temperature is 9");
    expect(await rows("member", "?status=401")).toHaveLength(2);
  });

  test("does not hold a request whose key is not known", async () => {
    const before = await rows("admin", "");
    await send({ model: chatModel.id, messages }, "sk-mg-0123456789ab-0123456789abcdef0123456789abcdef");
    await send({ model: chatModel.id, messages }, "nothing");
    // Refused requests are written in their order: once this one is there, those would be.
    await send({ model: "no-such-model", messages }, keys.app.key);
    const [known, ...others] = await rowsOnce("admin", "", before.length + 1);
    expect(known).toMatchObject({ model: "no-such-model" });
    expect(others).toEqual(before);
  });

  test("shows a member the own account alone, and an administrator all or one", async () => {
    const [own] = await rows("member", "");
    expect(await rows("other", "")).toEqual([]);
    expect((await get("other", `/${own?.id}`)).status).toBe(404);
    expect((await get("other", `?account=${memberId}`)).status).toBe(403);
    expect((await get("other", `.csv?account=${memberId}`)).status).toBe(403);
    expect((await rows("admin", "")).length).toBe((await rows("member", "")).length);
    expect(await rows("admin", "?account=other@example.org")).toEqual([]);
    expect((await rows("admin", "?account=MEMBER@example.org"))[0]).toMatchObject({ email: "member@example.org" });
    expect((await get("admin", "?account=nobody@example.org")).status).toBe(400);
  });

  test.each(["?status=6xx", "?protocol=smtp", "?from=yesterday", "?before=1", `?text=${"x".repeat(300)}`, "?text=%00"])(
    "refuses the filter %s",
    async (query) => {
      expect((await get("member", query)).status).toBe(400);
    },
  );

  test("is sent as CSV and as JSON lines, with the filters of the page", async () => {
    await send({ model: `=cmd"x`, messages }, keys.app.key);
    await rowsOnce("member", "?model=%3Dcmd%22x", 1);
    const count = (await rows("member", "?status=failed")).length;
    const csv = await get("member", ".csv?status=failed");
    expect(csv.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    const lines = (await csv.text()).trim().split("\r\n");
    expect(lines).toHaveLength(count + 1);
    expect(lines[0]).toStartWith("id,at,account,key_id,state,status");
    expect(lines.join("\n")).toContain(`,"'=cmd""x",`);
    const jsonl = (await (await get("member", ".jsonl?status=failed")).text()).trim().split("\n");
    expect(jsonl.map((line) => JSON.parse(line).id)).toEqual(
      (await rows("member", "?status=failed")).map(({ id }) => id),
    );
  });
});
