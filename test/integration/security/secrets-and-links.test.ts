import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decrypt } from "../../../src/contract/index.ts";
import { createEmailVerification } from "../../../src/identity/index.ts";
import { creditWallet } from "../../../src/ledger/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { password } from "../../support/session-cookie.ts";
import { type SmtpSink, startSmtpSink } from "../../support/smtp-sink.ts";
import { type Caller, callers, createCallers } from "./callers.ts";

const page = readFileSync(join(import.meta.dir, "../../../docs/threats.md"), "utf8");
/** The first cells of the table in docs/threats.md. */
const documented = (page.split("\n## Secrets and links\n")[1]?.split("\n## ")[0] ?? "")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (what|-)/.test(line))
  .map((line) => line.split(" | ")[0]?.slice(2).trim() as string);

/** Values that must be nowhere but where the table says, by its rows. */
const planted: Record<string, string[]> = {};
const ofEnvironment = {
  METRICS_TOKEN: "canaryMetricsToken0123456789",
  OIDC_CLIENT_SECRET: "canaryOidcClientSecret",
  STRIPE_SECRET_KEY: "sk_test_canaryStripeSecret",
  STRIPE_WEBHOOK_SECRET: "whsec_canaryStripeWebhook",
  SECRETS_KEY: "canarySecretsKey-of-thirty-two-characters",
  GROQ_API_KEY: "gsk_canaryGroqKey0123456789",
  OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=canaryTraceHeader",
};

let gateway: InProcessGateway;
let origin: string;
let headers: Record<Caller, Record<string, string>>;
let ids: Awaited<ReturnType<typeof createCallers>>["ids"];
let ownerId: string;
let sink: SmtpSink;
const made = {
  response: "",
  call: "",
  file: "",
  fileQuery: "",
  makersKey: "",
  keyId: "",
  adminKeyId: "",
  voucherId: "",
  invited: "",
};

async function send(route: string, by: Caller | Record<string, string>, body?: unknown): Promise<Response> {
  const [method, path] = route.split(" ") as [string, string];
  const json = body === undefined ? {} : { "content-type": "application/json" };
  const own = typeof by === "string" ? headers[by] : by;
  return await fetch(origin + path, {
    method,
    headers: { "accept-encoding": "identity", ...own, ...json },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function give<Answer>(...request: Parameters<typeof send>): Promise<Answer> {
  const response = await send(...request);
  const text = await response.text();
  if (!response.ok) throw new Error(`${request[0]} is answered with ${response.status}: ${text}`);
  return JSON.parse(text) as Answer;
}

const api = "/dashboard/api";
const hook = (name: string) => ({
  url: `https://hooks.example.com/services/${name}`,
  secret: `whsec_${btoa(`${name} 0123456789abcdef0123456789`)}`,
});
const smtpOf = (port: number, changes = {}) => ({
  host: "127.0.0.1",
  port,
  tls: false,
  from: "gate@example.org",
  ...changes,
});
const manifestOf = (baseUrl: string, id: string) => ({
  baseUrl,
  dialect: "openai",
  models: [{ id, premium: false }],
});

beforeAll(async () => {
  sink = await startSmtpSink();
  gateway = await startInProcess({
    env: {
      ...ofEnvironment,
      SANDBOX: "on",
      SIGNUP: "open",
      CORS_ORIGINS: "*",
      REQUESTS_PER_MINUTE: "10000",
      CONTENT_LOG: "all",
      PUBLIC_URL: "https://gate.example.com",
      OIDC_ISSUER: "http://127.0.0.1:9",
      OIDC_CLIENT_ID: "gate",
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
    },
  });
  origin = new URL(gateway.baseUrl).origin;
  ({ headers, ids } = await createCallers(gateway));
  const { db } = gateway.store;
  const owner = db.selectFrom("users").select("account_id").where("role", "=", "owner");
  ownerId = (await owner.executeTakeFirstOrThrow()).account_id;
  await plant();
});
afterAll(async () => {
  await gateway?.stop();
  await sink?.stop();
});

/** Makes one of everything that the table has. */
async function plant(): Promise<void> {
  const { store } = gateway;
  for (const [variable, value] of Object.entries(ofEnvironment)) planted[variable] = [value.replace(/^x-api-key=/, "")];
  planted.password = [password];
  planted["session cookie"] = Object.values(headers).flatMap(({ cookie }) => {
    const token = /^session=([^.%;]+)/.exec(cookie ?? "")?.[1];
    return token === undefined ? [] : [token];
  });
  await give(
    "PUT /v1/organization/mail_server",
    "owner",
    smtpOf(sink.port, { user: "gate", password: "canaryMailPassword" }),
  );
  planted["password of the mail server"] = ["canaryMailPassword"];
  const [ofGateway, ofMember] = [hook("canaryGatewayHook"), hook("canaryMemberHook")];
  await give("POST /v1/organization/alerts/channels", "admin", { kind: "webhook", ...ofGateway });
  await give(`POST ${api}/alerts/webhooks`, "member", ofMember);
  planted["alert channel"] = [ofGateway, ofMember].flatMap(({ url, secret }) => [url, secret]);
  const acme = { name: "acme", manifest: manifestOf("https://acme.example/v1", "acme/chat") };
  await give("POST /v1/organization/providers", "admin", acme);
  await give("POST /v1/organization/providers/acme/keys", "admin", { key: "canary-provider-key-stored-0001" });
  planted["key of a provider, stored"] = ["canary-provider-key-stored"];
  const voucher = await give<{ id: string; code: string }>("POST /v1/organization/vouchers", "admin", { usd: "5.00" });
  planted["voucher code"] = [voucher.code];
  made.voucherId = voucher.id;
  const { key } = await give<{ key: string }>(`POST ${api}/keys`, "member", { name: "maker" });
  planted["API key"] = [key.split("-").at(-1) as string];
  made.makersKey = key;
  made.keyId = key.split("-")[2] as string;
  const adminKey = await give<{ id: string; value: string }>("POST /v1/organization/admin_api_keys", "owner", {
    name: "canary",
    scopes: ["all"],
  });
  made.adminKeyId = adminKey.id;
  planted["admin key"] = [adminKey.value.split("-").at(-1) as string];
  const team = await give<{ token: string }>(`POST ${api}/team/invitations`, "member", { role: "admin" });
  planted["invitation to a team"] = [team.token];
  const other = await gateway.app.accounts.create({ email: "invited@example.org" });
  const invitation = await give<{ token: string }>(`POST ${api}/admin/accounts/${other.id}/invite`, "admin");
  planted["invitation to set a password"] = [invitation.token];
  made.invited = other.id;
  await give("POST /api/auth/sign-up/email", {}, { email: "claimed@example.org", password });
  const claimed = await store.db
    .selectFrom("users")
    .select(["id", "email"])
    .where("email", "=", "claimed@example.org")
    .executeTakeFirstOrThrow();
  const user = { userId: claimed.id, email: claimed.email, emailVerified: false };
  planted["link that verifies an email"] = [(await createEmailVerification(store, user, Date.now())).token];
  const factor = await give<{ totpURI: string; backupCodes: string[] }>("POST /api/auth/two-factor/enable", "member", {
    password,
  });
  const totp = new URL(factor.totpURI).searchParams.get("secret") as string;
  planted["two-step sign-in"] = [totp, ...factor.backupCodes];
  await plantPrograms();
  await plantAnswers();
  planted["secrets of the gateway itself"] = (await store.db.selectFrom("settings").selectAll().execute())
    .filter(({ name }) => /secret/.test(name))
    .map(({ value }) => value);
  const hashes = [
    ...(await store.db.selectFrom("keys").select("secret_hash as hash").execute()),
    ...(await store.db.selectFrom("admin_keys").select("secret_hash as hash").execute()),
    ...(await store.db.selectFrom("vouchers").select("code_hash as hash").execute()),
    ...(await store.db.selectFrom("invitations").select("token_hash as hash").execute()),
    ...(await store.db.selectFrom("team_invitations").select("token_hash as hash").execute()),
    ...(await store.db.selectFrom("email_verifications").select("token_hash as hash").execute()),
    ...(await store.db.selectFrom("oauth_requests").select("code_hash as hash").execute()),
    ...(await store.db.selectFrom("oauth_grants").select("refresh_hash as hash").execute()),
    ...(await store.db.selectFrom("oauth_grants").select("access_hash as hash").execute()),
    ...(await store.db.selectFrom("credentials").select("password_hash as hash").execute()),
  ];
  planted["hash of any of them"] = hashes.flatMap(({ hash }) => hash || []);
}

/** A program that asks to be signed in, and one that is. */
async function plantPrograms(): Promise<void> {
  const post = async (path: string, form: Record<string, string>) => {
    const response = await fetch(origin + path, { method: "POST", body: new URLSearchParams(form) });
    return (await response.json()) as Record<string, string>;
  };
  const begin = () => post("/oauth/device_authorization", { client_id: "codex" });
  const [open, device] = [await begin(), await begin()];
  planted["code of a program that asks"] = [open.device_code as string, open.user_code as string];
  const approval = { user_code: device.user_code, account: ids.member };
  await give(`POST ${api}/programs/device/approve`, "member", approval);
  const tokens = await post("/oauth/token", {
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    device_code: device.device_code as string,
  });
  const secrets = [tokens.access_token, tokens.refresh_token].map((token) => token?.split("-").at(-1) as string);
  // The two parts of a refresh token are hashed apart.
  planted["access and refresh token of a program"] = secrets.flatMap((text) => [
    text,
    text.slice(0, 48),
    text.slice(48),
  ]);
}

/** What calls leave: a stored response, the content log and a signed file. */
async function plantAnswers(): Promise<void> {
  await creditWallet(gateway.store, { accountId: ids.member, nanodollars: 100_000_000_000, note: "test" });
  const models: Record<string, string> = {};
  for (const { model } of gateway.app.kernel.registry.modelEntries) models[model.capability] ??= model.id;
  const key = { authorization: `Bearer ${made.makersKey}` };
  const prompt = "canaryPromptWords of the member";
  const response = await send("POST /v1/responses", key, { model: models.chat, input: prompt });
  made.call = response.headers.get("x-request-id") as string;
  made.response = ((await response.json()) as { id: string }).id;
  planted["stored response"] = ["canaryPromptWords", made.response];
  planted["content log"] = ["canaryPromptWords"];
  const picture = await give<{ data: { url: string }[] }>("POST /v1/images/generations", key, {
    model: models.images,
    prompt: "a cat",
    response_format: "url",
  });
  const url = new URL(picture.data[0]?.url ?? "");
  [made.file, made.fileQuery] = [url.pathname.split("/").at(-1) as string, url.search];
  planted["signed address of a file"] = [made.file, url.searchParams.get("signature") as string];
}

/** What stands in the path of a route that is read; a new route with a place for an id is named here. */
function toPath(path: string): string {
  const values: [RegExp, string][] = [
    [/\/dashboard\/api\/requests\/:id/, `${api}/requests/${made.call}`],
    [/\/keys\/:id\/callers/, `/keys/${made.keyId}/callers`],
    [/\/admin\/accounts\/:id/, `/admin/accounts/${ids.member}`],
    [/\/responses\/:id/, `/responses/${made.response}`],
    [/\/requests\/:request_id/, `/requests/${made.call}`],
    [/\/call-sessions\/:session/, "/call-sessions/unknown"],
    [/\/sessions\/:session/, "/sessions/unknown"],
    [/\/files\/:id/, `/files/${made.file}`],
    [/\/models\/(:model|\*)/, "/models/unknown"],
    [/\/projects\/:project_id/, `/projects/${ids.member}`],
    [/\/api_keys\/:key_id/, `/api_keys/${made.keyId}`],
    [/\/admin_api_keys\/:key_id/, `/admin_api_keys/${made.adminKeyId}`],
    [/\/vouchers\/:voucher_id/, `/vouchers/${made.voucherId}`],
    [/\/budgets\/:budget_id/, "/budgets/unknown"],
    [/\/rate_limits\/:rate_limit_id/, "/rate_limits/all"],
    [/\/markups\/:markup_id/, "/markups/unknown"],
    [/\/policies\/:policy_id/, "/policies/unknown"],
    [/\/jwt_issuers\/:issuer/, "/jwt_issuers/unknown"],
    [/\/alerts\/channels\/:channel_id/, "/alerts/channels/unknown"],
    [/\/metric_rules\/:metric_rule_id/, "/metric_rules/unknown"],
    [/\/reroutes\/:reroute_id/, "/reroutes/unknown"],
    [/\/role_limits\/:role/, "/role_limits/member"],
    [/\/group_roles\/:group_role_id/, "/group_roles/unknown"],
    [/\/scim\/v2\/Users\/:id/, `/scim/v2/Users/${ids.member}`],
    [/\/scim\/v2\/(Groups|ResourceTypes|Schemas)\/:id/, "/scim/v2/$1/unknown"],
    [/\/service_accounts\/:service_account_id/, "/service_accounts/unknown"],
    [/\/users\/:user_id/, `/users/${ids.member}`],
    [/\/invites\/:invite_id/, `/invites/invite_${made.invited}`],
    [/\/providers\/:provider_id/, "/providers/openai"],
    [/\/catalogue\/files\/:file_id/, "/catalogue/files/openai"],
    [/\/catalogue\/models\/:catalogue_model_id/, "/catalogue/models/openai%3AfamA-4.1-nano"],
    [/\/assets\/:file/, "/assets/page.js"],
    [/^\/admin\/\*/, "/admin/accounts"],
    [/^\/help\/\*/, "/help/billing"],
    [/\/api\/auth\/\*/, "/api/auth/get-session"],
  ];
  const filled = values.reduce((text, [pattern, value]) => text.replace(pattern, value), path);
  if (/[:*]/.test(filled)) throw new Error(`This test does not know what to put into the route GET ${path}`);
  return filled;
}

const routesOf = (pattern: RegExp) => [
  ...new Set(
    gateway.app.http.routes.map(({ method, path }) => `${method} ${path}`).filter((route) => pattern.test(route)),
  ),
];

/** What in a text is planted. */
const found = (text: string) =>
  Object.entries(planted).flatMap(([name, values]) => (values.some((value) => text.includes(value)) ? [name] : []));

describe("the table of secrets and links", () => {
  test("has a row for each that is planted here, and here each of its rows is tried", () => {
    expect(documented.length).toBeGreaterThan(20);
    const elsewhere = [
      // By canary.test.ts, first-start.test.ts, idempotency-key.test.ts and sealed-thoughts.test.ts.
      "first password and API key",
      "key of a provider, of the environment",
      "DATABASE_URL, REDIS_URL, proxies",
      "answer to a repeated request",
      "hidden reasoning",
      "trusted device",
      "payment page",
      "message of an alert",
    ];
    const variables = Object.keys(ofEnvironment).filter((name) => name !== "GROQ_API_KEY");
    const here = Object.keys(planted).filter((name) => !(name in ofEnvironment) && !name.startsWith("hash of"));
    expect([...here, ...variables, ...elsewhere].sort()).toEqual([...documented].sort());
  });

  /** What ends with a membership, and with a person who leaves. */
  const ofTeam = ["API key", "session cookie", "invitation to a team"];
  const ofLeaver = [...ofTeam, "invitation to set a password", "access and refresh token of a program"];
  /** Each route that writes, and which rows of the table it makes, sends, shows or takes; a new route is added here. */
  const writes: Record<string, readonly string[]> = {
    "POST /api/auth/*": ["password", "session cookie", "two-step sign-in", "trusted device", "OIDC_CLIENT_SECRET"],
    "POST /webhooks/stripe": ["STRIPE_WEBHOOK_SECRET"],
    ...Object.fromEntries(
      ["", "/api"].flatMap((prefix) => [
        [`POST ${prefix}/oauth/device_authorization`, ["code of a program that asks"]],
        [`POST ${prefix}/oauth/token`, ["code of a program that asks", "access and refresh token of a program"]],
        [`POST ${prefix}/oauth/revoke`, ["access and refresh token of a program"]],
      ]),
    ),
    "POST /scim/v2/Users": [],
    ...Object.fromEntries(["PUT", "PATCH", "DELETE"].map((method) => [`${method} /scim/v2/Users/:id`, ofLeaver])),
    "POST /scim/v2/Groups": [],
    ...Object.fromEntries(["PUT", "PATCH", "DELETE"].map((method) => [`${method} /scim/v2/Groups/:id`, ofTeam])),
    [`POST ${api}/programs/device`]: ["code of a program that asks"],
    [`POST ${api}/programs/device/approve`]: ["code of a program that asks"],
    [`POST ${api}/programs/device/deny`]: ["code of a program that asks"],
    [`POST ${api}/programs/authorize`]: [],
    [`POST ${api}/programs/authorize/approve`]: ["code of a program that asks"],
    [`POST ${api}/vouchers/redeem`]: ["voucher code"],
    [`POST ${api}/keys`]: ["API key"],
    [`PATCH ${api}/keys/:id`]: [],
    [`POST ${api}/keys/:id/rotate`]: ["API key"],
    // The API below a path of its own: nothing but the key of the call.
    "POST /v2/rerank": ["API key"],
    "POST /api/v2/rerank": ["API key"],
    [`DELETE ${api}/keys/:id`]: ["API key"],
    [`DELETE ${api}/content`]: ["content log"],
    [`POST ${api}/requests/:id/content`]: ["content log"],
    [`DELETE ${api}/requests/:id/content`]: ["content log"],
    [`POST ${api}/credentials/lookup`]: ["API key", "access and refresh token of a program"],
    [`POST ${api}/credentials/revoke`]: ["API key"],
    [`POST ${api}/admin/accounts/:id/content`]: ["content log"],
    [`DELETE ${api}/admin/accounts/:id/content`]: ["content log"],
    [`DELETE ${api}/sessions/:id`]: ["session cookie"],
    [`POST ${api}/call-sessions/:session/end`]: [],
    [`POST ${api}/email/verification`]: ["link that verifies an email"],
    [`POST ${api}/email/verify`]: ["link that verifies an email"],
    [`POST ${api}/team/invitations`]: ["invitation to a team"],
    [`PATCH ${api}/team`]: [],
    [`PUT ${api}/team/budget`]: [],
    [`DELETE ${api}/team/invitations/:id`]: ["invitation to a team"],
    [`PATCH ${api}/team/people/:id`]: ["invitation to a team"],
    [`DELETE ${api}/team/people/:id`]: ["invitation to a team", "API key", "session cookie"],
    [`POST ${api}/teams/switch`]: [],
    [`POST ${api}/teams/join`]: ["invitation to a team"],
    [`POST ${api}/teams`]: [],
    [`POST ${api}/teams/leave`]: ["invitation to a team"],
    [`POST ${api}/admin/accounts/:id/team/invitations`]: ["invitation to a team"],
    [`DELETE ${api}/admin/accounts/:id/team/invitations/:invitation`]: ["invitation to a team"],
    [`PATCH ${api}/admin/accounts/:id/team/people/:person`]: ["invitation to a team"],
    [`DELETE ${api}/admin/accounts/:id/team/people/:person`]: ["invitation to a team", "API key", "session cookie"],
    [`POST ${api}/checkout`]: ["payment page"],
    [`POST ${api}/admin/accounts/:id/invite`]: ["invitation to set a password"],
    [`PUT ${api}/alerts/rules/:id`]: ["message of an alert"],
    [`POST ${api}/alerts/webhooks`]: ["alert channel"],
    [`POST ${api}/alerts/emails`]: ["alert channel"],
    [`DELETE ${api}/alerts/channels/:id`]: ["alert channel"],
    [`POST ${api}/alerts/channels/:id/test`]: ["message of an alert", "password of the mail server"],
    [`POST ${api}/invitations/accept`]: ["invitation to set a password", "password"],
    [`POST ${api}/invitations/account`]: ["invitation to set a password"],
    [`POST ${api}/invitations/team`]: ["invitation to a team"],
  };

  test("names what every route outside of the API makes, sends, shows or takes: a new route is added to it", () => {
    const routes = routesOf(/^(POST|PUT|PATCH|DELETE) (?!\/v1|\/api\/v1)/);
    expect(routes.sort()).toEqual(Object.keys(writes).sort());
    const unknown = Object.values(writes).flatMap((names) => names.filter((name) => !documented.includes(name)));
    expect(unknown).toEqual([]);
  });
});

describe("who may read them", () => {
  test("no route that is read has any of them for anybody, whatever their role", async () => {
    const routes = routesOf(/^GET /);
    expect(routes.length).toBeGreaterThan(60);
    const shown: string[] = [];
    for (const route of routes) {
      const path = toPath(route.slice(4));
      for (const caller of callers) {
        const response = await send(`GET ${path}`, caller);
        const told = found(`${JSON.stringify([...response.headers])} ${await response.text()}`);
        // The id of a response or file that was asked for is repeated in the refusal.
        const repeated = path.includes("/responses/") || path.includes("/files/");
        const news = told.filter((name) => !(repeated && /stored response|signed address/.test(name)));
        if (news.length > 0) shown.push(`${route} shows ${caller}: ${news.join(", ")}`);
      }
    }
    expect(shown).toEqual([]);
  });

  test("what is stored of a response is read with keys of the person who made it, and with nobody else's", async () => {
    const own = await send(`GET /v1/responses/${made.response}/input_items`, {
      authorization: `Bearer ${made.makersKey}`,
    });
    expect(await own.text()).toContain("canaryPromptWords");
    for (const path of [`/v1/responses/${made.response}`, `/v1/responses/${made.response}/input_items`]) {
      for (const caller of callers) {
        const response = await send(`GET ${path}`, caller);
        expect([caller, response.status === 200, (await response.text()).includes("canaryPromptWords")]).toEqual([
          caller,
          false,
          false,
        ]);
      }
    }
  });

  test("kept content is shown to its account's admins, administrators and owners", async () => {
    await gateway.app.flush();
    const readers: Caller[] = [];
    for (const caller of callers) {
      const response = await send(`POST ${api}/requests/${made.call}/content`, caller);
      if ((await response.text()).includes("canaryPromptWords")) readers.push(caller);
    }
    expect(readers).toEqual(["member", "admin", "owner"]);
  });

  test("a file is read by its signed address alone", async () => {
    expect((await send(`GET /v1/files/${made.file}${made.fileQuery}`, "nobody")).status).toBe(200);
    for (const query of ["", made.fileQuery.replace(/signature=./, "signature=!"), "?expires=9999999999&signature="]) {
      for (const caller of callers) {
        expect([caller, (await send(`GET /v1/files/${made.file}${query}`, caller)).status]).toEqual([caller, 404]);
      }
    }
  });

  test("the database has none in clear text but the tokens of sessions and the gateway's own secrets", async () => {
    const { db } = gateway.store;
    const tables = await db
      .selectFrom("sqlite_master" as never)
      .select("name" as never)
      .where("type" as never, "=", "table" as never)
      .execute();
    const clear = new Set<string>();
    for (const { name } of tables as { name: string }[]) {
      for (const row of await db
        .selectFrom(name as "settings")
        .selectAll()
        .execute()) {
        const text = Object.values(row)
          .map((value: unknown) =>
            value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : String(value),
          )
          .join(" ");
        for (const secret of found(text)) clear.add(secret);
      }
    }
    for (const expected of ["session cookie", "secrets of the gateway itself", "hash of any of them"]) {
      expect(clear.delete(expected)).toBe(true);
    }
    // Their ids, not what they lead to.
    for (const id of ["stored response", "signed address of a file"]) clear.delete(id);
    expect([...clear]).toEqual([]);
  });

  test("a copy of the database opens neither the mail server's password nor a webhook: no key in it does", async () => {
    const { db } = gateway.store;
    const settings = await db.selectFrom("settings").selectAll().execute();
    const keys = settings.flatMap(({ value }) =>
      ["", "modelgate secrets "].map((before) =>
        createHash("sha256")
          .update(before + value)
          .digest(),
      ),
    );
    const channels = await db.selectFrom("alert_channels").select(["id", "target as bytes"]).execute();
    const smtp = JSON.parse(settings.find(({ name }) => name === "mail_server")?.value as string) as { secret: string };
    const sealed = [
      ...channels.map(({ id, bytes }) => ({ owner: `alert channel ${id}`, bytes })),
      { owner: "mail_server", bytes: Buffer.from(smtp.secret, "base64") },
    ];
    const opens = (key: Uint8Array) =>
      sealed.filter(({ owner, bytes }) => {
        try {
          return decrypt(key, owner, bytes).length > 0;
        } catch {
          return false;
        }
      });
    expect(sealed.length).toBeGreaterThan(2);
    expect(keys.flatMap(opens)).toEqual([]);
    const ofEnv = createHash("sha256").update(`modelgate secrets ${ofEnvironment.SECRETS_KEY}`).digest();
    expect(opens(ofEnv)).toHaveLength(sealed.length);
  });
});

describe("who decides where they go", () => {
  type Statuses = Partial<Record<Caller, number>> & { readonly others: number };
  const only = (statuses: Partial<Record<Caller, number>>): Statuses => ({
    ...signedIn(403),
    ...statuses,
    others: 401,
  });
  const signedIn = (status: number): Partial<Record<Caller, number>> => {
    const all: Caller[] = ["member", "other member", "team member", "viewer", "admin", "owner"];
    return Object.fromEntries(all.map((caller) => [caller, status]));
  };
  let count = 0;
  const provider = (baseUrl: string) => () => {
    const name = `p${++count}`;
    return { name, manifest: { ...manifestOf(baseUrl, `${name}/chat`), credential: "none" } };
  };
  const invited = (caller: string) => ({ role: "member", email: `${caller.replace(" ", "-")}@invited.example` });

  test.each<[string, () => string, (caller: Caller) => unknown, Statuses]>([
    [
      "the mail server of links to owners: owners",
      () => "PUT /v1/organization/mail_server",
      () => smtpOf(sink.port),
      only({ owner: 200, "admin key": 200, "limited admin key": 403 }),
    ],
    [
      "whether there is one: owners",
      () => "DELETE /v1/organization/mail_server",
      () => undefined,
      only({ owner: 200, "admin key": 200, "limited admin key": 403 }),
    ],
    [
      "the webhooks of the gateway: administrators",
      () => "POST /v1/organization/alerts/channels",
      () => ({ kind: "webhook", ...hook("x") }),
      only({ admin: 200, owner: 200, "admin key": 200, "limited admin key": 403 }),
    ],
    [
      "the webhooks of an account: its admins",
      () => `POST ${api}/alerts/webhooks`,
      () => hook("x"),
      only({ ...signedIn(200), viewer: 403, "team member": 403 }),
    ],
    [
      "an invitation to set the password of an owner: owners",
      () => `POST ${api}/admin/accounts/${ownerId}/invite`,
      () => undefined,
      only({ owner: 200 }),
    ],
    [
      "an invitation to set the password of anybody else: administrators",
      () => `POST ${api}/admin/accounts/${ids.mate}/invite`,
      () => undefined,
      only({ admin: 200, owner: 200 }),
    ],
    [
      "who may come into an account: its admins",
      () => `POST ${api}/team/invitations`,
      invited,
      only({ ...signedIn(200), viewer: 403, "team member": 403 }),
    ],
    [
      "who may come into the account of an owner: that owner, and other owners",
      () => `POST ${api}/admin/accounts/${ownerId}/team/invitations`,
      invited,
      only({ owner: 200 }),
    ],
    [
      "what is asked of this machine's network: owners",
      () => "POST /v1/organization/providers",
      provider("http://127.0.0.1:9/v1"),
      only({ owner: 200, "admin key": 200, "limited admin key": 403 }),
    ],
    [
      "where machines of clouds get their credentials: nobody",
      () => "POST /v1/organization/providers",
      provider("http://169.254.169.254/latest"),
      only({ admin: 400, owner: 400, "admin key": 400, "limited admin key": 403 }),
    ],
    [
      "which other host is asked: administrators",
      () => "POST /v1/organization/providers",
      provider("https://provider.example/v1"),
      only({ admin: 200, owner: 200, "admin key": 200, "limited admin key": 403 }),
    ],
    [
      "who is an owner: owners",
      () => `POST /v1/organization/projects/${ids["other member"]}`,
      () => ({ role: "owner" }),
      only({ owner: 200, "admin key": 200, "limited admin key": 403 }),
    ],
    [
      "a link to verify an e-mail: nobody, it goes to the user's own, which is verified here",
      () => `POST ${api}/email/verification`,
      () => undefined,
      only({ ...signedIn(409) }),
    ],
  ])("%s", async (_, route, body, statuses) => {
    for (const caller of callers) {
      const { status } = await send(route(), caller, body(caller));
      expect([caller, status]).toEqual([caller, statuses[caller] ?? statuses.others]);
    }
    // For the rows behind it.
    const user = gateway.store.db.updateTable("users").set({ role: "member" });
    await user.where("account_id", "=", ids["other member"]).execute();
  });

  test("a link that an owner mails to an owner goes by the mail server of owners, and not by one of an administrator", async () => {
    const own = await startSmtpSink();
    expect((await send("PUT /v1/organization/mail_server", "admin", smtpOf(own.port))).status).toBe(403);
    await give("PUT /v1/organization/mail_server", "owner", smtpOf(sink.port));
    const { id } = await give<{ id: string }>("POST /v1/organization/projects", "owner", { email: "next@example.org" });
    await give(`POST /v1/organization/projects/${id}`, "owner", { role: "owner" });
    const { length } = sink.mails;
    const elsewhere = {
      "x-forwarded-host": "evil.example",
      "x-forwarded-proto": "http",
      forwarded: "host=evil.example",
    };
    const { token } = await give<{ token: string }>(`POST ${api}/admin/accounts/${id}/invite?mail=send`, {
      ...headers.owner,
      ...elsewhere,
    });
    expect(sink.mails.slice(length)).toMatchObject([{ to: ["next@example.org"] }]);
    const text = sink.mails.at(-1)?.text.replaceAll("=\n", "").replaceAll("=3D", "=");
    // Where it leads is PUBLIC_URL, whatever the request says of its host.
    expect(text).toContain(`https://gate.example.com/#invitation=${token}`);
    expect(text).not.toContain("evil");
    expect(own.mails).toEqual([]);
    await own.stop();
  });
});
