import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { InProcessGateway } from "../../support/in-process.ts";
import { beginSession, password } from "../../support/session-cookie.ts";
import { wavFile } from "../../support/wav.ts";
import { endOf, openOf } from "../db/facts.ts";
import { addDeadChannel, alertRows } from "./alert-rows.ts";
import { type Caller, callers, createCallers, startWide } from "./callers.ts";
import { addContent, contentRows } from "./content-rows.ts";
import { organizationRows } from "./organization-rows.ts";
import { programRows } from "./program-rows.ts";
import { scimRows } from "./scim-rows.ts";
import { teamRows } from "./team-rows.ts";

type Statuses = { readonly others: number } & { readonly [name in Caller]?: number };

interface Row {
  readonly statuses: Statuses;
  /** The body of the request; a function makes a new one for each request. */
  readonly body?: unknown;
  /** What stands in the path for `:id` and the like. */
  readonly id?: () => string | Promise<string>;
}

let gateway: InProcessGateway;
let origin: string;
let headers: Record<Caller, Record<string, string>>;
let ids: Record<"member" | "other member" | "team member" | "mate" | "admin", string>;
const models: Record<string, string> = {};

const open = (status: number, row: Omit<Row, "statuses"> = {}): Row => ({ ...row, statuses: { others: status } });
/** A call of a model: valid keys that are not limited to other models. */
const call = (body: () => unknown): Row => ({
  body,
  statuses: { others: 401, key: 200, "other key": 200, "limited key": 403 },
});
/** Any valid key. */
const key = (status: number, row: Omit<Row, "statuses"> = {}): Row => ({
  ...row,
  statuses: { others: 401, key: status, "other key": status, "limited key": status },
});
/** Anybody who is signed in. */
const session = (status: number, row: Omit<Row, "statuses"> = {}): Row => ({
  ...row,
  statuses: { others: 401, member: status, "other member": status, admin: status, owner: status },
});
/** What belongs to the member: administrators and owners have no way to it either. */
const own = (status: number, row: Omit<Row, "statuses">): Row => ({
  ...row,
  statuses: { others: 401, member: status, "other member": 404, admin: 404, owner: 404 },
});
const admin = (status: number, row: Omit<Row, "statuses"> = {}): Row => ({
  ...row,
  statuses: { others: 401, member: 403, "other member": 403, admin: status, owner: status },
});
/** For everybody who is signed in, viewers too: it changes only their own sign-in. */
const ownSignIn = ({ statuses, ...row }: Row): Row => ({
  ...row,
  statuses: { ...statuses, viewer: statuses.owner as number },
});
/** What somebody in the member's team gets who is no admin of it; otherwise the same as members of other accounts. */
const forTeam = ({ statuses, ...row }: Row, status: number): Row => ({
  ...row,
  statuses: { ...statuses, "team member": status },
});
/** Viewers read what owners read, and write nothing. */
const statusOfViewer = (route: string, { owner, viewer, others }: Statuses) =>
  viewer ?? (owner === undefined ? others : route.startsWith("GET ") ? owner : 403);

const statusOf = (caller: Caller, statuses: Statuses) =>
  statuses[caller] ?? (caller === "team member" ? statuses["other member"] : undefined) ?? statuses.others;

const newKey = async () => (await gateway.app.accounts.createKey({ accountId: ids.member, name: "a key" })).id;
const newRotatable = async () => {
  const fields = { accountId: ids.member, name: "a key", by: ids.member };
  return (await gateway.app.accounts.createKey(fields)).id;
};
const newRequest = async () => {
  const open = openOf(`req_${crypto.randomUUID()}`, { accountId: ids.member, keyId: await newKey(), premium: false });
  await gateway.store.writeLedger([open, endOf(open, { costNanodollars: 0, chargedNanodollars: 0 })]);
  return open.callId;
};
/** A session of the member's calls, whose name is its id. */
const newCallSession = async () => {
  const session = crypto.randomUUID();
  const names = { accountId: ids.member, keyId: await newKey(), premium: false, session };
  const open = openOf(`req_${crypto.randomUUID()}`, names);
  await gateway.store.writeLedger([open, endOf(open, { costNanodollars: 0, chargedNanodollars: 0 })]);
  return session;
};
const newContent = async () => addContent(gateway, ids.member, await newRequest());
const newAccount = async () => (await gateway.app.accounts.create({ email: `${crypto.randomUUID()}@example.org` })).id;
const newSession = async () => (await beginSession(gateway.store, ids.member, Date.now())).id;
const newOf = async (...request: Parameters<typeof send>) =>
  ((await (await send(...request)).json()) as { id: string }).id;
const newResponse = () => newOf("POST /v1/responses", "key", { model: models.chat, input: "Hi" });
const fileFor = (model: string) => {
  const form = new FormData();
  form.set("file", wavFile(1000));
  form.set("model", model);
  return form;
};
const file = () => fileFor(models.transcription as string);
const png = "data:image/png;base64,iVBORw0KGgo=";
const messages = [{ role: "user", content: "Hi" }];
const rerank = call(() => ({ model: models.rerank, query: "Hi", documents: ["Hi", "Bye"] }));

const ofKey: Row = { id: newResponse, statuses: { others: 401, key: 200, "other key": 404, "limited key": 404 } };

/** Codex tries a 403 and a 404 again. */
const response = (key: number): Row => ({
  body: () => ({ model: models.chat, input: "Hi" }),
  statuses: { others: 401, key, "other key": key, "limited key": 400 },
});

/** Every route of the server. Those of the API stand once and are tried below each of its two paths. */
const rows: Record<string, Row> = {
  "POST {api}/chat/completions": call(() => ({ model: models.chat, messages })),
  "POST {api}/completions": call(() => ({ model: models.chat, prompt: "Hi" })),
  "POST {api}/decisions": call(() => ({
    model: models.chat,
    input: "Hi",
    questions: [{ type: "predicate", instructions: "Is it a greeting?" }],
  })),
  "POST {api}/responses": response(200),
  "POST {api}/responses/input_tokens": response(200),
  "POST {api}/responses/compact": response(400),
  "GET {api}/responses": { statuses: { others: 401, key: 426, "other key": 426, "limited key": 426 } },
  "GET {api}/responses/:id": ofKey,
  "DELETE {api}/responses/:id": ofKey,
  "GET {api}/responses/:id/input_items": ofKey,
  "POST {api}/messages": call(() => ({ model: models.chat, max_tokens: 100, messages })),
  "POST {api}/messages/count_tokens": call(() => ({ model: models.chat, messages })),
  "POST {api}/embeddings": call(() => ({ model: models.embeddings, input: "Hi" })),
  "POST {api}/images/generations": call(() => ({ model: models.images, prompt: "A cat" })),
  "POST {api}/audio/transcriptions": call(file),
  "POST {api}/audio/translations": call(() => fileFor("famW-large-v3")),
  "POST {api}/images/edits": call(() => ({ model: models.images, prompt: "A hat", images: [{ image_url: png }] })),
  "POST {api}/audio/speech": call(() => ({ model: models.speech, input: "Hi" })),
  "POST {api}/moderations": call(() => ({ model: models.moderation, input: "Hi" })),
  "POST {api}/rerank": rerank,
  "POST /v2/rerank": rerank,
  "POST /api/v2/rerank": rerank,
  "GET {api}/models": key(200),
  "GET {api}/v1/models": key(200),
  "GET {api}/models/:model": key(200, { id: () => models.chat as string }),
  "GET {api}/models/*": key(404, { id: () => "unknown/model" }),
  "GET {api}/key": key(200),
  "GET {api}/key/usage": key(200),
  "GET {api}/key/requests/:request_id": key(404, { id: () => "unknown" }),
  "GET {api}/key/sessions/:session": key(404, { id: () => "unknown" }),
  "GET {api}/files/:id": open(404, { id: () => "unknown" }),
  "GET {api}/usage": session(200),
  ...organizationRows<Row>((statuses, row) => ({ ...row, statuses }), {
    gateway: () => gateway,
    ids: () => ids,
    accounts: () => newAccount(),
    callSession: () => newCallSession(),
    send: (route, body, id) => newOf(route, "admin key", body, id),
  }),
  ...scimRows<Row>(
    (statuses, row) => ({ ...row, statuses }),
    () => gateway,
  ),
  "OPTIONS {api}/*": open(204, { id: () => "chat/completions" }),
  "GET /metrics": { statuses: { others: 401, operator: 200 } },
  "GET /api/auth/*": open(200, { id: () => "get-session" }),
  "POST /api/auth/*": ownSignIn(session(200, { id: () => "revoke-other-sessions" })),
  "GET /dashboard/api/gateway": open(200),
  "POST /dashboard/api/invitations/accept": open(404, { body: { token: "unknown", password } }),
  "POST /webhooks/stripe": open(404),
  "POST /dashboard/api/vouchers/redeem": session(404, { body: { code: "UNKNOWN" } }),
  "POST /dashboard/api/keys": session(200, { body: { name: "new" } }),
  // The member made it.
  "PATCH /dashboard/api/keys/:id": forTeam(own(200, { body: { name: "changed" }, id: newKey }), 403),
  "DELETE /dashboard/api/keys/:id": forTeam(own(200, { id: newKey }), 403),
  "GET /dashboard/api/keys/:id/callers": forTeam(own(200, { id: newKey }), 200),
  "POST /dashboard/api/credentials/lookup": session(200, {
    body: { credentials: [{ type: "api_key", id: "unknown1" }] },
  }),
  "POST /dashboard/api/credentials/revoke": session(404, { body: { type: "api_key", id: "unknown1" } }),
  "POST /dashboard/api/keys/:id/rotate": forTeam(own(200, { body: {}, id: newRotatable }), 403),
  "GET /dashboard/api/requests/:id": {
    statuses: {
      others: 401,
      member: 200,
      "team member": 200,
      "other member": 404,
      viewer: 200,
      admin: 200,
      owner: 200,
    },
    id: newRequest,
  },
  // Administrators name the account, or they ask for their own.
  "GET /dashboard/api/call-sessions/:session": forTeam(own(200, { id: newCallSession }), 200),
  "POST /dashboard/api/call-sessions/:session/end": forTeam(own(200, { body: {}, id: newCallSession }), 403),
  ...contentRows<Row>(
    { row: (statuses, row) => ({ ...row, statuses: statuses as Statuses }), session, own, admin, forTeam },
    { newAccount: () => newAccount(), newContent },
  ),
  // Everybody here is vouched for.
  "POST /dashboard/api/email/verification": ownSignIn(session(409)),
  "POST /dashboard/api/email/verify": ownSignIn(session(404, { body: { token: "unknown" } })),
  "DELETE /dashboard/api/sessions/:id": ownSignIn(own(200, { id: newSession })),
  "POST /dashboard/api/checkout": session(404, { body: { usd: "5.00" } }),
  ...teamRows({ session, own, admin, ownSignIn, forTeam }, { store: () => gateway.store, ids: () => ids }),
  ...Object.fromEntries(
    ["{api}", "", "/api"].flatMap((prefix) =>
      ["api/oauth/usage", "managed/settings"].map((path) => [`GET ${prefix}/${path}`, key(404)] as const),
    ),
  ),
  ...Object.fromEntries(["metrics", "logs", "traces"].map((path) => [`POST {api}/${path}`, key(200)] as const)),
  ...programRows<Row>({ open, session, own, forTeam }, { gateway: () => gateway, member: () => ids.member }),
  "POST /dashboard/api/invitations/account": open(404, { body: { token: "unknown" } }),
  "POST /dashboard/api/invitations/team": open(404, { body: { token: "unknown" } }),
  ...alertRows({ session, own, forTeam }, () => addDeadChannel(gateway, ids.member, "member")),
  "GET /dashboard/api/admin/api-keys/file.csv": admin(200),
  "POST /dashboard/api/admin/accounts/:id/invite": admin(200, { id: newAccount }),
  "GET /dashboard/api/admin/accounts/:id": admin(200, { id: newAccount }),
  "GET /dashboard/api/admin/accounts/:id/keys": admin(200, { id: newAccount }),
  "GET /dashboard/api/admin/accounts/:id/entries": admin(200, { id: newAccount }),
  "GET /dashboard/api/admin/accounts/:id/usage": admin(200, { id: newAccount }),
  "GET /openapi.json": open(200),
  "GET /assets/:file": open(200, { id: () => "page.js" }),
  "GET /admin/*": open(200, { id: () => "accounts" }),
  "GET /help/*": open(200, { id: () => "billing" }),
};
const pages = [
  "",
  "keys",
  "requests",
  "sessions",
  "statistics",
  "billing",
  "team",
  "statement",
  "models",
  "playground",
  "status",
  "overview",
  "connect",
  "settings",
  "help",
  "sign-in",
  "device",
  "authorize",
  "admin",
  "docs",
];
const docsFiles = ["swagger-ui.css", "swagger-ui.js", "page.css", "icon.svg", "start.js"].map((name) => `docs/${name}`);
for (const path of [...pages, ...docsFiles, "favicon.ico", "llms.txt", "llms-full.txt", "health", "healthz", "readyz"])
  rows[`GET /${path}`] = open(200);
const adminLists =
  "accounts accounts.csv api-keys attention audit audit.csv audit.jsonl budgets groups health home resources settings statements statements.csv";
for (const path of adminLists.split(" ")) rows[`GET /dashboard/api/admin/${path}`] = admin(200);
const ownLists =
  "me entries entries.csv statement statement.csv calls models vouchers keys requests requests.csv requests.jsonl sessions statistics statistics.csv status wallet";
for (const path of ownLists.split(" ")) rows[`GET /dashboard/api/${path}`] = session(200);

beforeAll(async () => {
  gateway = await startWide();
  origin = new URL(gateway.baseUrl).origin;
  for (const { model } of gateway.app.kernel.registry.modelEntries) models[model.capability] ??= model.id;
  ({ headers, ids } = await createCallers(gateway));
});
afterAll(() => gateway.stop());

async function send(route: string, caller: Caller, body?: unknown, id = ""): Promise<Response> {
  const [method, pattern] = route.split(" ") as [string, string];
  const parts = id.split(" ");
  const place = pattern.replace(/:\w+|\*/g, (part) => parts.shift() ?? part);
  const path = /\/(organization\/(usage|costs)|key\/usage)/.test(place)
    ? `${place}?start_time=${Math.floor(Date.now() / 1000)}`
    : place;
  const form = body instanceof FormData;
  const json = body === undefined || form ? {} : { "content-type": "application/json" };
  // A handshake behind a proxy that hands on no upgrade: a connection would have no status.
  const handshake = /^GET .*\/responses$/.test(route) ? { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" } : {};
  return await fetch(origin + path, {
    method,
    headers: { "accept-encoding": "identity", ...headers[caller], ...json, ...handshake },
    ...(body !== undefined && { body: form ? body : JSON.stringify(body) }),
  });
}

function routesOfServer(): string[] {
  return gateway.app.http.routes.map(({ method, path }) => `${method} ${path}`);
}

/** What only an operator may set of each account and its user, in the order in which they were made. */
async function operatorState() {
  const { db } = gateway.store;
  const query = db.selectFrom("accounts").leftJoin("users", "users.account_id", "accounts.id");
  const accounts = query.leftJoin("wallets", "wallets.account_id", "accounts.id").selectAll("accounts");
  return await accounts
    .select(["users.role", "users.email_verified", "users.password_is_temporary", "wallets.balance_nanodollars"])
    .orderBy("accounts.created_at")
    .orderBy("accounts.id")
    .execute();
}

/** The name of a route's row. */
const nameOf = (route: string) => (rows[route] === undefined ? route.replace(/ (\/api)?\/v1/, " {api}") : route);

describe("authorization", () => {
  test("the table has every route of the server, and no other", () => {
    expect([...new Set(routesOfServer().map(nameOf))].sort()).toEqual(Object.keys(rows).sort());
  });

  test.each(Object.keys(rows))("%s answers every kind of caller as the table says", async (name) => {
    const { statuses, body, id } = rows[name] as Row;
    const wrong: string[] = [];
    // Who is refused leaves the thing as it was, for the next one.
    let thing: string | undefined;
    for (const route of routesOfServer().filter((one) => nameOf(one) === name)) {
      for (const caller of callers) {
        thing ??= await id?.();
        const given = typeof body === "function" ? body() : body;
        const { status } = await send(route, caller, given, thing);
        if (status < 400) thing = undefined;
        const expected = caller === "viewer" ? statusOfViewer(route, statuses) : statusOf(caller, statuses);
        if (status !== expected) wrong.push(`${route} as ${caller}: ${status} instead of ${expected}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  const operatorFields = {
    free_tokens_per_day: 9,
    freeTokensPerDay: 9,
    premium: true,
    disabled_at: null,
    balance_usd: "9.00",
    role: "admin",
    account_id: "x",
    accountId: "x",
    user_id: "x",
    id: "x",
    key: "sk-mg-a-b",
    password_is_temporary: 0,
    emailVerified: true,
    spent_nanodollars: 0,
    nanodollars: 9,
    allowed_models: ["operators-only"],
  };
  // SCIM takes no session.
  const ownWrites = Object.keys(rows).filter((name) => /^(POST|PATCH|PUT|DELETE) \/(?!scim\/|.*\/admin\/)/.test(name));

  test.each(ownWrites)("%s of a member sets nothing that only an operator may set", async (route) => {
    const { body, id } = rows[route] as Row;
    const before = await operatorState();
    const accepted: string[] = [];
    for (const [name, value] of Object.entries(operatorFields)) {
      // The role in the own team, which is no role of the gateway.
      if (name === "role" && route.includes("/team/")) continue;
      // The list of a key, which is not that of its account.
      if (name === "allowed_models" && /^(POST|PATCH) .*\/keys/.test(route)) continue;
      const given = name === "account_id" || name === "accountId" ? ids.admin : value;
      const { ok } = await send(route, "member", { ...(body as object | undefined), [name]: given }, await id?.());
      if (ok && body !== undefined) accepted.push(name);
    }
    expect(accepted).toEqual([]);
    expect(await operatorState()).toEqual(before);
  });

  test("nobody who signs up sets what only an operator may set", async () => {
    const before = await operatorState();
    const eve = { email: "eve@example.org", name: "Eve", password, ...operatorFields, account_id: ids.admin };
    const status = async (path: string) => (await send("POST /api/auth/*", "member", eve, path)).status;
    expect(await Promise.all(["sign-up/email", "update-user", "admin/set-role"].map(status))).toEqual([200, 404, 404]);
    const [created, ...others] = (await operatorState()).toReversed();
    expect(created).toMatchObject({ email: eve.email, role: "member", free_tokens_per_day: null, email_verified: 0 });
    expect(others.reverse()).toEqual(before);
  });

  test("a key cannot lift the limits of its account", async () => {
    const created = await send("POST /dashboard/api/keys", "member", { name: "wide", requests_per_minute: 1_000_000 });
    const { key } = (await created.json()) as { key: string };
    const response = await fetch(`${origin}/v1/key`, { headers: { authorization: `Bearer ${key}` } });
    expect(await response.json()).toMatchObject({ limits: { requests_per_minute: { limit: 1000 } } });
  });
});
