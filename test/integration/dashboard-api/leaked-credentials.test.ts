import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { commandLine } from "../../../src/audit/index.ts";
import { findCredentials, hashCredentials } from "../../../src/dashboard/data/find-credentials.ts";
import { refreshGrant } from "../../../src/identity/index.ts";
import { createGrant } from "../../../src/identity/oauth/grants.ts";
import { createAdminKey, importForeignKeys, provideSignInKey, readIdSecret } from "../../../src/keys/index.ts";
import { createLog } from "../../../src/observability/log.ts";
import type { Handlers } from "../../../src/provider/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { enterAs } from "../../support/session-cookie.ts";
import { type SmtpSink, startSmtpSink } from "../../support/smtp-sink.ts";
import { completionOf } from "../../unit/kernel/streams.ts";
import { chatModel, createPlugin } from "../../unit/kernel/support.ts";

const handlers: Handlers = {
  chat: async () => completionOf("Hello", { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }),
};
const plugin = createPlugin(handlers, { models: [{ ...chatModel, premium: false }] });
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

type Who = "owner" | "admin" | "viewer" | "ada" | "ben";
let gateway: InProcessGateway;
let sink: SmtpSink;
const cookies = {} as Record<Who, string>;
const ids = {} as Record<Who, string>;
const logged: string[] = [];

async function ask(who: Who, method: string, path: string, body?: object) {
  const place = path.startsWith("/v1/") ? path : `/dashboard/api${path}`;
  const response = await fetch(new URL(place, gateway.baseUrl), {
    method,
    headers: { cookie: cookies[who], "content-type": "application/json", origin: new URL(gateway.baseUrl).origin },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

/** Looks up what stands in a text, as the page does. */
async function lookUp(text: string, who: Who = "admin") {
  const credentials = await hashCredentials(findCredentials(text));
  const path = who === "ada" || who === "ben" ? "/credentials/lookup" : "/v1/organization/credentials/lookup";
  const { status, body } = await ask(who, "POST", path, { credentials });
  expect(status).toBe(200);
  return body.data;
}

const end = (who: Who, body: object) =>
  ask(
    who,
    "POST",
    who === "ada" || who === "ben" ? "/credentials/revoke" : "/v1/organization/credentials/revoke",
    body,
  );

const createKey = (name: string, who: Who = "ada") =>
  gateway.app.accounts.createKey({ accountId: ids[who], name, by: ids[who] });

async function call(key: string, headers: Record<string, string> = {}): Promise<number> {
  const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: chatModel.id, messages: [{ role: "user", content: "Hi" }] }),
  });
  await response.text();
  return response.status;
}

beforeAll(async () => {
  sink = await startSmtpSink();
  gateway = await startInProcess({
    env: {
      ...{ SANDBOX: "off", ACME_API_KEY: "sk-upstream", PUBLIC_URL: "https://gate.example.com" },
      ...{ SMTP_URL: `smtp://127.0.0.1:${sink.port}`, SMTP_FROM: "gate@example.org" },
    },
    plugins: [plugin],
    log: createLog("debug", (line) => void logged.push(line)),
  });
  for (const [who, role] of [
    ["owner", "owner"],
    ["admin", "admin"],
    ["viewer", "viewer"],
    ["ada", "member"],
    ["ben", "member"],
  ] as const) {
    ids[who] = (await gateway.app.accounts.create({ email: `${who}@example.org` })).id;
    cookies[who] = await enterAs(gateway.store, { accountId: ids[who], role }, Date.now());
  }
});
afterAll(async () => {
  await gateway.stop();
  await sink.stop();
});

describe("a leaked API key", () => {
  test("is described with its owner, whether its secret works, and until when", async () => {
    const { accounts } = gateway.app;
    const { id, key } = await createKey("website");
    expect(await lookUp(`OPENAI_API_KEY=${key}`)).toMatchObject([
      {
        ...{ object: "organization.credential", type: "api_key", id, name: "website", key_id: id },
        ...{ status: "active", secret: "current", usable: true, usable_until: null, replaced_at: null },
        project: { id: ids.ada, email: "ada@example.org" },
        ...{ created_by: "ada@example.org", holders: ["ada@example.org"], last_used_at: null, can_rotate: true },
        ...{ cost_today_usd: "0", cost_30_days_usd: "0", callers: [] },
      },
    ]);
    const second = await accounts.rotateKey(id, 60, ids.ada);
    const [previous] = await lookUp(key);
    expect(previous).toMatchObject({ secret: "previous", usable: true });
    expect(previous.usable_until).toBe(Math.floor(second.previousUntil / 1000));
    expect(previous.replaced_at).toBeGreaterThan(Date.now() / 1000 - 60);
    expect(await lookUp(second.key)).toMatchObject([{ secret: "current", usable: true }]);
    await accounts.rotateKey(id, 0, ids.ada);
    expect(await lookUp(second.key)).toMatchObject([{ secret: "previous", usable: false, usable_until: null }]);
    expect(await lookUp(key)).toMatchObject([{ secret: "other", usable: false }]);
    expect(await lookUp(`sk-mg-${id}-…`)).toMatchObject([{ secret: "unchecked", usable: null, status: "active" }]);
    expect(await lookUp(`sk-mg-unknown1-${"0".repeat(48)}`)).toMatchObject([{ status: "not_found", usable: null }]);
    await accounts.revokeKey(id, ids.ada);
    expect(await lookUp(key)).toMatchObject([{ status: "revoked", usable: false, can_rotate: false }]);
  });

  test("that has expired, or whose account is disabled, does not work", async () => {
    const { accounts } = gateway.app;
    const { key, id } = await createKey("short");
    await gateway.store.db
      .updateTable("keys")
      .set({ expires_at: Date.now() - 1000 })
      .where("id", "=", id)
      .execute();
    expect(await lookUp(key)).toMatchObject([{ status: "expired", usable: false }]);
    const other = await createKey("of disabled", "ben");
    await accounts.setDisabled(ids.ben, true);
    expect(await lookUp(other.key)).toMatchObject([{ status: "disabled", usable: false }]);
    await accounts.setDisabled(ids.ben, false);
    cookies.ben = await enterAs(gateway.store, { accountId: ids.ben, role: "member" }, Date.now());
  });

  test("of another gateway is found by the hash of all of its text", async () => {
    const text = `sk-${"f0".repeat(20)}`;
    const planned = { accountId: ids.ada, name: "theirs", sha256: sha256(text), isRevoked: false };
    const { ids: made } = await importForeignKeys(gateway.store, [planned], { now: Date.now(), by: "cli" });
    const id = made.get(planned.sha256) as string;
    expect(await lookUp(text)).toMatchObject([{ id, name: "theirs", secret: "current", usable: true }]);
    expect(await call(text)).toBe(200);
    expect(await lookUp(text)).toMatchObject([{ id, secret: "current", usable: true }]);
    await gateway.app.accounts.rotateKey(id, 60, ids.ada);
    expect(await lookUp(text)).toMatchObject([{ id, secret: "previous", usable: true }]);
    await gateway.app.accounts.rotateKey(id, 60, ids.ada);
    expect(await lookUp(text)).toMatchObject([{ id, secret: "other", usable: false }]);
  });

  test("is described with the networks behind the proxy and the programs that use it, and its last use", async () => {
    const { id, key } = await createKey("used");
    const from = (address: string, agent: string) =>
      call(key, { "x-forwarded-for": `6.6.6.6, ${address}`, "user-agent": agent });
    expect(await from("203.0.113.9", "OpenAI/Python 1.99")).toBe(200);
    expect(await from("203.0.113.200", "OpenAI/Python 2.0")).toBe(200);
    expect(await from("2001:db8:7:1::5", "curl/8.5.0")).toBe(200);
    await gateway.app.accounts.saveLastUsed();
    // A list that was read less than a second ago is not counted anew.
    await Bun.sleep(1100);
    const [found] = await lookUp(key);
    const counted = found.callers.map(({ network, program, requests }: Record<string, unknown>) => [
      network,
      program,
      requests,
    ]);
    expect(counted.sort()).toEqual([
      ["2001:db8:7::/48", "curl", 1],
      ["203.0.113.0/24", "OpenAI/Python", 2],
    ]);
    expect(found.last_used_at).toBeGreaterThan(Date.now() / 1000 - 60);
    const path = `/v1/organization/projects/${ids.ada}/api_keys/${id}/callers`;
    expect((await ask("viewer", "GET", path)).body).toEqual({ object: "list", data: found.callers });
    const own = await ask("ada", "GET", `/keys/${id}/callers`);
    expect(own.body.data).toHaveLength(2);
    expect(own.body.data[0].last_seen_at).toMatch(/^\d{4}-.*Z$/);
    expect((await ask("ben", "GET", `/keys/${id}/callers`)).status).toBe(404);
  });

  test("is revoked by an administrator, and its holder is written to without any secret", async () => {
    const { id, key } = await createKey("blog www.evil.example/x");
    expect(await call(key)).toBe(200);
    const { status, body } = await end("admin", { type: "api_key", id });
    expect(status).toBe(200);
    expect(body).toMatchObject({ action: "revoke", value: null, mailed_to: ["ada@example.org"], mail_error: null });
    expect(await call(key)).toBe(401);
    const mail = sink.mails.at(-1);
    expect(mail).toMatchObject({ from: "gate@example.org", to: ["ada@example.org"] });
    const text = (mail?.text ?? "").replaceAll("=\n", "").replaceAll("=3D", "=");
    expect(text).toContain("https://gate.example.com/keys");
    expect(text).not.toContain("evil.example");
    expect(text).not.toContain(key.split("-").at(-1) as string);
    const again = await end("admin", { type: "api_key", id: "unknown1" });
    expect(again).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
  });

  test("is rotated by an administrator, who is shown the new key, unless it belongs to an owner", async () => {
    const { id, key } = await createKey("job");
    const { body } = await end("admin", { type: "api_key", id, action: "rotate" });
    expect(body.value).toStartWith(`sk-mg-${id}-`);
    expect(await call(key)).toBe(401);
    expect(await call(body.value)).toBe(200);
    expect(sink.mails.at(-1)?.text).toContain("Its secret was replaced");
    const owners = await createKey("owner's", "owner");
    const rotated = await end("admin", { type: "api_key", id: owners.id, action: "rotate" });
    expect(rotated).toMatchObject({ status: 403, body: { error: { code: "forbidden" } } });
    expect((await end("admin", { type: "api_key", id: owners.id })).body.mailed_to).toEqual(["owner@example.org"]);
    const ended = await end("admin", { type: "api_key", id: owners.id, action: "rotate" });
    expect(ended.status).toBe(403);
  });

  test("is ended without a mail if nobody is to be written to, or if the holder ends it", async () => {
    const { length } = sink.mails;
    const quiet = await createKey("quiet");
    const { body } = await end("admin", { type: "api_key", id: quiet.id, notify_holder: false });
    expect(body).toMatchObject({ mailed_to: [], mail_error: null });
    const own = await createKey("own");
    expect((await end("ada", { type: "api_key", id: own.id })).body).toMatchObject({ mailed_to: [], mail_error: null });
    expect(sink.mails).toHaveLength(length);
    sink.refuse(true);
    const refused = await createKey("refused");
    const { body: unsent } = await end("admin", { type: "api_key", id: refused.id });
    sink.refuse(false);
    expect(unsent).toMatchObject({ mailed_to: [], mail_error: expect.stringContaining("did not accept") });
    expect(await call(refused.key)).toBe(401);
    // Nobody knows whether an address that somebody has only claimed is theirs.
    const claimed = await createKey("claimed", "ben");
    const users = gateway.store.db.updateTable("users").where("account_id", "=", ids.ben);
    await users.set({ email_verified: 0 }).execute();
    expect((await end("admin", { type: "api_key", id: claimed.id })).body).toMatchObject({
      ...{ mailed_to: [], mail_error: "It has no holder with a verified e-mail" },
    });
    await users.set({ email_verified: 1 }).execute();
  });

  test("is found by the people of its account, and by nobody else's", async () => {
    const { id, key } = await createKey("private");
    expect(await lookUp(key, "ada")).toMatchObject([{ id, usable: true, project: { id: ids.ada } }]);
    expect(await lookUp(key, "ben")).toMatchObject([
      { id, status: "not_found", usable: null, name: null, holders: [] },
    ]);
    expect((await end("ben", { type: "api_key", id })).status).toBe(404);
    expect(await call(key)).toBe(200);
    expect((await end("ada", { type: "api_key", id, action: "rotate" })).status).toBe(200);
    expect(await call(key)).toBe(401);
  });
});

describe("another leaked credential", () => {
  test("is an admin key, which ends with its mail, and of which members learn nothing", async () => {
    const by = { accountId: ids.owner, role: "owner" } as const;
    const made = await createAdminKey(gateway.store, by, { name: "reports", scopes: ["usage:read"] }, Date.now());
    expect(await lookUp(made.key)).toMatchObject([
      {
        ...{
          type: "admin_key",
          id: made.id,
          name: "reports",
          secret: "current",
          usable: true,
          key_id: null,
          project: null,
        },
        ...{ holders: ["owner@example.org"], cost_today_usd: null, can_rotate: false },
      },
    ]);
    expect(await lookUp(made.key, "ada")).toMatchObject([{ status: "not_found" }]);
    expect((await end("ada", { type: "admin_key", id: made.id })).status).toBe(404);
    expect(await lookUp(`${made.key.slice(0, -48)}${"0".repeat(48)}`)).toMatchObject([
      { secret: "other", usable: false },
    ]);
    expect((await end("admin", { type: "admin_key", id: made.id })).body.mailed_to).toEqual(["owner@example.org"]);
    expect(await lookUp(made.key)).toMatchObject([{ status: "revoked", usable: false }]);
  });

  test("is an admin key, for which a key of the management API needs the scope of accounts", async () => {
    const fields = { name: "keys only", scopes: ["keys:read", "keys:write"] };
    const { key } = await createAdminKey(gateway.store, commandLine, fields, Date.now());
    const send = async (path: string, body: object) =>
      (
        await fetch(new URL(`/v1/organization/credentials/${path}`, gateway.baseUrl), {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify(body),
        })
      ).status;
    expect(await send("lookup", { credentials: [{ type: "api_key", id: "unknown1" }] })).toBe(200);
    expect(await send("lookup", { credentials: [{ type: "admin_key", id: "unknown1" }] })).toBe(403);
    expect(await send("revoke", { type: "api_key", id: "unknown1" })).toBe(404);
    expect(await send("revoke", { type: "admin_key", id: "unknown1" })).toBe(403);
  });

  test("is a token of a program, whose sign-in ends with its key", async () => {
    const { store } = gateway;
    const rules = { now: Date.now(), keysMax: undefined };
    const keyId = await provideSignInKey(
      store,
      { accountId: ids.ada, program: "codex", name: "Codex", by: ids.ada },
      rules,
    );
    const idSecret = await readIdSecret(store);
    const { id: userId } = await store.db
      .selectFrom("users")
      .select("id")
      .where("account_id", "=", ids.ada)
      .executeTakeFirstOrThrow();
    const tokens = await store.db
      .transaction()
      .execute((db) => createGrant(db, { keyId, userId, idSecret }, Date.now()));
    const { id, accessToken, refreshToken } = tokens;
    expect(await call(accessToken)).toBe(200);
    const found = await lookUp(`${accessToken} ${refreshToken}`);
    const common = { id, key_id: keyId, name: "Codex", secret: "current", usable: true, can_rotate: false };
    expect(found).toMatchObject([
      { ...common, type: "access_token", usable_until: Math.floor(tokens.expiresAt / 1000) },
      { ...common, type: "refresh_token" },
    ]);
    await refreshGrant(store, refreshToken, Date.now());
    expect(await lookUp(`${accessToken} ${refreshToken}`)).toMatchObject([
      { secret: "previous", usable: true },
      { secret: "previous", usable: false },
    ]);
    expect(await lookUp(`mg-at-${id}-${"0".repeat(64)}`)).toMatchObject([{ secret: "other", usable: false }]);
    expect((await end("admin", { type: "access_token", id })).body.mailed_to).toEqual(["ada@example.org"]);
    expect(await call(accessToken)).toBe(401);
    expect(await lookUp(accessToken)).toMatchObject([{ status: "revoked", usable: false }]);
  });
});

test("from where keys are used is counted unless the operator turns it off", async () => {
  const counted: Record<string, number> = {};
  for (const KEY_CALLERS of ["on", "off"]) {
    const other = await startInProcess({ env: { SANDBOX: "on", KEY_CALLERS } });
    const { id: accountId } = await other.app.accounts.create({ email: "ada@example.org" });
    const cookie = await enterAs(other.store, { accountId, role: "member" }, Date.now());
    const { id, key } = await other.app.accounts.createKey({ accountId, name: "watched" });
    expect((await fetch(`${other.baseUrl}/models`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(200);
    const address = new URL(`/dashboard/api/keys/${id}/callers`, other.baseUrl);
    const { data } = (await (await fetch(address, { headers: { cookie } })).json()) as { data: unknown[] };
    counted[KEY_CALLERS] = data.length;
    await other.stop();
  }
  expect(counted).toEqual({ on: 1, off: 0 });
});

describe("a look-up of credentials", () => {
  test("takes hashes and ids alone, at most twenty, and thirty requests a minute", async () => {
    const path = "/v1/organization/credentials/lookup";
    const one = { type: "api_key", id: "unknown1" };
    const refused = [
      {},
      { credentials: [] },
      { credentials: Array.from({ length: 21 }, () => one) },
      { credentials: [{ ...one, secret: "0123456789abcdef" }] },
      { credentials: [{ ...one, sha256: "x" }] },
      { credentials: [{ type: "admin_key", sha256: sha256("x") }] },
      { credentials: [{ type: "api_key" }] },
      { credentials: [{ type: "password", id: "unknown1" }] },
    ];
    for (const body of refused) expect([body, (await ask("owner", "POST", path, body)).status]).toEqual([body, 400]);
    const statuses = [];
    for (let times = 0; times < 31; times++)
      statuses.push((await ask("owner", "POST", path, { credentials: [one] })).status);
    expect(statuses.at(-1)).toBe(429);
    expect((await ask("viewer", "POST", path, { credentials: [one] })).status).toBe(403);
  });

  test("leaves no secret in the log, the audit log and the database", async () => {
    const { key } = await createKey("canary");
    const secret = key.split("-").at(-1) as string;
    await call(key, { "user-agent": `${key}/1.0` });
    await call(key, { "user-agent": secret });
    await Bun.sleep(1100);
    expect(await lookUp(`"${key}"`)).toMatchObject([{ usable: true }]);
    const { id } = findCredentials(key)[0] ?? {};
    const { body } = await end("admin", { type: "api_key", id: id as string, action: "rotate" });
    const fresh = body.value.split("-").at(-1) as string;
    const audit = await gateway.store.db.selectFrom("audit").selectAll().execute();
    const callers = await gateway.store.db.selectFrom("key_callers").selectAll().execute();
    const keys = await gateway.store.db.selectFrom("keys").selectAll().execute();
    expect(callers.filter((caller) => caller.key_id === id)).toMatchObject([{ program: "other", requests: 2 }]);
    for (const text of [
      JSON.stringify([audit, callers, keys]),
      logged.join("\n"),
      sink.mails.map(({ text }) => text).join(),
    ]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(fresh);
    }
  });
});
