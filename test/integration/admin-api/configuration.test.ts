import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { makeBench } from "../cli/fixture.ts";

let gateway: InProcessGateway;
let adminKey: string;

const makeAdminKey = async (...scopes: string[]) =>
  (await createAdminKey(gateway.store, commandLine, { name: `test ${scopes}`, scopes }, Date.now())).key;

beforeAll(async () => {
  gateway = await startInProcess({ env: { OPENAI_API_KEY: "sk-upstream", REQUESTS_PER_MINUTE: "1000" } });
  adminKey = await makeAdminKey("all");
});
afterAll(() => gateway.stop());

async function ask(method: string, query: string, { body, key = adminKey }: { body?: unknown; key?: string } = {}) {
  const response = await fetch(`${gateway.baseUrl}/organization/config${query}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: what is asked of it is asserted.
  return { status: response.status, json: (await response.json()) as any };
}

const document = {
  accounts: [
    { email: "search@teams.example", kind: "team", name: "Search", budget_usd: "100.00", budget_period: "month" },
    { email: "ada@example.com", name: "Ada", free_tokens_per_day: 1000, allowed_models: ["gpt-4.1-nano"] },
  ],
  keys: [
    { id: "there", account: "search@teams.example", name: "website", budget_usd: "5.00", budget_period: "day" },
    { account: "ada@example.com", name: "laptop", allowed_networks: ["127.0.0.0/8"], cache_marks: "off" },
  ],
  budgets: [
    { account: "search@teams.example", subject: "end_user", budget_usd: "1.00", budget_period: "day" },
    { account: "search@teams.example", subject: "tag", api_key_id: "there", budget_usd: "2", budget_period: "week" },
  ],
  providers: [
    {
      name: "acme",
      manifest: {
        name: "acme",
        baseUrl: "http://127.0.0.1:9/v1",
        dialect: "openai",
        credential: "none",
        models: [{ id: "acme/llama", upstreamId: "llama", premium: false }],
      },
      priority: 5,
    },
  ],
  catalogue: { openai: { models: [{ id: "famA-4.1-nano", premium: false }] } },
  virtual_models: [{ id: "fast", models: ["gpt-4.1-nano"] }],
  alerts: [{ rule: "disk_full", enabled: true, threshold: "75" }],
};

describe("the document of a gateway", () => {
  test("is planned without a change, applied, and changes nothing when it is applied again", async () => {
    const before = (await ask("GET", "")).json;
    const plan = await ask("PUT", "?dry_run=true", { body: document });
    expect([plan.status, plan.json.error]).toEqual([200, undefined]);
    expect(plan.json).toMatchObject({ object: "organization.config.plan", dry_run: true, keys: [] });
    const entries = plan.json.changes.map(({ section, id, action }: Record<string, string>) => [section, id, action]);
    expect(entries).toEqual([
      ["providers", "acme", "create"],
      ["catalogue", "catalogue", "change"],
      ["accounts", "search@teams.example", "create"],
      ["accounts", "ada@example.com", "create"],
      ["keys", "search@teams.example: website", "create"],
      ["keys", "ada@example.com: laptop", "create"],
      ["budgets", "search@teams.example end_user each day", "create"],
      ["budgets", "search@teams.example tag each week there", "create"],
      ["alerts", "disk_full", "change"],
    ]);
    expect((await ask("GET", "")).json).toEqual(before);

    const applied = await ask("PUT", "", { body: document });
    expect([applied.status, applied.json.error]).toEqual([200, undefined]);
    expect(applied.json.changes).toEqual(plan.json.changes);
    expect(applied.json.keys.map(({ account, name }: Record<string, string>) => [account, name])).toEqual([
      ["search@teams.example", "website"],
      ["ada@example.com", "laptop"],
    ]);
    const again = await ask("PUT", "", { body: document });
    expect(again.json).toMatchObject({ changes: [], keys: [] });

    const [acme] = document.providers;
    const manifest = { ...acme?.manifest, models: [{ id: "acme/other", upstreamId: "llama", premium: false }] };
    const change = await ask("PUT", "", { body: { providers: [{ name: "acme", manifest }] } });
    expect(change.json.changes).toEqual([
      {
        section: "providers",
        id: "acme",
        action: "change",
        fields: { manifest: { before: acme?.manifest, after: manifest } },
      },
    ]);
    const wrong = {
      providers: [{ name: "acme", manifest: { ...manifest, models: 5 } }],
      accounts: [{ email: "x@y.z" }],
    };
    const refused = await ask("PUT", "?dry_run=true", { body: wrong });
    expect([refused.status, refused.json.error.param]).toEqual([400, "manifest"]);
    await ask("PUT", "", { body: { providers: document.providers } });

    const { json } = await ask("GET", "");
    expect(json.accounts).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ email: "search@teams.example", budget_usd: "100", budget_period: "month" }),
        expect.objectContaining({ email: "ada@example.com", free_tokens_per_day: 1000 }),
      ]),
    );
    expect(json.budgets).toMatchObject([
      { account: "search@teams.example", subject: "end_user", name: null, budget_usd: "1", raise_usd: null },
      { subject: "tag", api_key_id: applied.json.keys[0].id, budget_usd: "2", budget_period: "week" },
    ]);
    expect(json.catalogue).toEqual(document.catalogue);
    expect(json.virtual_models).toEqual(document.virtual_models);
    expect(JSON.stringify(json)).not.toContain(applied.json.keys[0].value);
    const models = await fetch(`${gateway.baseUrl}/models`, {
      headers: { authorization: `Bearer ${applied.json.keys[0].value}` },
    });
    const ids = ((await models.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
    expect(ids).toContain("fast");
    expect(ids).toContain("acme/llama");
  });

  test("may name models by any of their names, and warns of those that no model has once", async () => {
    const aliased = { id: "famA-4o-mini", aliases: ["gpt-4o-mini", "small"] };
    const models = ["claude-haiku-4-5", "small", "new", "no-model"];
    const virtual = [...document.virtual_models, { id: "new", models: ["gpt-4.1-nano"] }];
    const body = {
      catalogue: { openai: { models: [...document.catalogue.openai.models, aliased] } },
      virtual_models: virtual,
      accounts: [{ email: "grace@example.com", allowed_models: models }],
      keys: [{ account: "grace@example.com", name: "listed", allowed_models: models }],
    };
    const { json } = await ask("PUT", "", { body });
    expect(json.warnings).toEqual([expect.stringContaining("there is no model no-model")]);
    const [{ value }] = json.keys;
    const call = async (model: string) => {
      const messages = [{ role: "user", content: "Hi" }];
      const headers = { authorization: `Bearer ${value}`, "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify({ model, messages, max_tokens: 5 }) };
      const response = await fetch(`${gateway.baseUrl}/chat/completions`, init);
      return ((await response.json()) as { error: { code: string } }).error.code;
    };
    // The provider's host does not exist: what may be called gets that far.
    const codes = Object.fromEntries(
      await Promise.all(["new", "small", "gpt-4o-mini", "gpt-4o"].map(async (name) => [name, await call(name)])),
    );
    const allowed = "upstream_error";
    expect(codes).toEqual({ new: allowed, small: allowed, "gpt-4o-mini": allowed, "gpt-4o": "model_not_allowed" });
    expect((await ask("PUT", "", { body })).json.changes).toEqual([]);
    await ask("PUT", "", { body: { catalogue: document.catalogue, virtual_models: document.virtual_models } });
  });

  test("as it is read is in force: writing it back changes nothing", async () => {
    const { json } = await ask("GET", "");
    expect((await ask("PUT", "", { body: json })).json).toMatchObject({ changes: [], keys: [] });
  });

  test("changes, raises and removes budgets by what they count", async () => {
    const ofUsers = { account: "search@teams.example", subject: "end_user", budget_period: "day" };
    const until = Math.floor(Date.now() / 1000) + 3600;
    const raised = { ...ofUsers, budget_usd: "3.0", raise_usd: "1.50", raise_until: until };
    const { json } = await ask("PUT", "", { body: { budgets: [raised] } });
    expect(json.changes).toEqual([
      {
        section: "budgets",
        id: "search@teams.example end_user each day",
        action: "change",
        fields: {
          budget_usd: { before: "1", after: "3" },
          raise_usd: { before: null, after: "1.5" },
          raise_until: { before: null, after: until },
        },
      },
    ]);
    expect((await ask("PUT", "", { body: { budgets: [raised] } })).json.changes).toEqual([]);
    const half = { accounts: [{ email: "half@example.com" }], budgets: [{ ...ofUsers, raise_usd: "2" }] };
    const refused = await ask("PUT", "", { body: half });
    expect([refused.status, refused.json.error.param]).toEqual([400, "raise_until"]);
    expect(JSON.stringify((await ask("GET", "?sections=accounts")).json)).not.toContain("half@example.com");
    const removal = await ask("PUT", "", { body: { budgets: [{ ...ofUsers, status: "removed" }] } });
    expect(removal.json.changes).toMatchObject([{ action: "remove" }]);
    expect((await ask("GET", "?sections=budgets")).json.budgets.length).toBe(1);
    for (const [wrong, param] of [
      [ofUsers, "budgets"],
      [{ ...raised, account: "nobody@example.com" }, "budgets"],
      [{ ...raised, raise_until: null }, "raise_until"],
      [{ ...raised, budget_period: "lifetime" }, "budget_period"],
    ] as const) {
      const { status, json } = await ask("PUT", "", { body: { budgets: [wrong] } });
      expect([status, json.error.param]).toEqual([400, param]);
    }
  });

  test("sets, changes and removes limits of models by whom they bind", async () => {
    const [each, team, newcomer] = [
      { model: "famA-4.1", tokens_per_minute: 500 },
      { model: "famA-4.1", account: "search@teams.example", requests_per_minute: 5 },
      { model: "famA-4.1", account: "carl@example.com", api_key_id: "new", concurrent_calls: 2 },
    ];
    const body = {
      accounts: [{ email: "carl@example.com", name: "Carl" }],
      keys: [{ id: "new", account: "carl@example.com", name: "phone" }],
      rate_limits: [each, team, newcomer],
    };
    const { json: made } = await ask("PUT", "", { body });
    expect(made.changes.slice(2)).toMatchObject([
      { section: "rate_limits", id: "each account famA-4.1", action: "create" },
      { id: "search@teams.example famA-4.1", action: "create" },
      { id: "carl@example.com famA-4.1 new", fields: { concurrent_calls: { before: null, after: 2 } } },
    ]);
    const read = async () => (await ask("GET", "?sections=rate_limits")).json.rate_limits;
    const set = [team, { ...newcomer, api_key_id: made.keys[0].id }].map((entry) => expect.objectContaining(entry));
    expect(await read()).toEqual([expect.objectContaining(each), ...set.map(() => expect.anything())]);
    expect(await read()).toEqual(expect.arrayContaining(set));
    expect((await ask("PUT", "", { body: { rate_limits: await read() } })).json.changes).toEqual([]);
    const more = { ...team, tokens_per_minute: 900, requests_per_minute: null };
    const { json } = await ask("PUT", "", { body: { rate_limits: [more, { ...each, status: "removed" }] } });
    expect(json.changes).toMatchObject([
      { action: "change", fields: { requests_per_minute: { before: 5, after: null } } },
      { action: "remove" },
    ]);
    expect(await read()).toHaveLength(2);
    expect(await read()).toContainEqual({ ...more, api_key_id: null, concurrent_calls: null });
    for (const [wrong, param] of [
      [{ ...more, tokens_per_minute: null }, "requests_per_minute"],
      [{ ...more, account: "nobody@example.com" }, "rate_limits"],
      [{ ...more, model: "fast" }, "model"],
      [more, "rate_limits"],
    ] as const) {
      // Another name of a model is no other model.
      const twice = wrong === more ? [{ ...more, model: "gpt-4.1" }] : [];
      const refused = await ask("PUT", "", { body: { rate_limits: [wrong, ...twice] } });
      expect([refused.status, refused.json.error.param]).toEqual([400, param]);
    }
  });

  test("sets limits of roles and gives back the configured ones, and changes nothing that is so already", async () => {
    const read = async () => (await ask("GET", "?sections=role_limits")).json.role_limits;
    const unset = {
      requests_per_minute: null,
      tokens_per_minute: null,
      concurrent_calls: null,
      free_tokens_per_day: null,
    };
    const before = await read();
    expect(before).toContainEqual({ role: "member", ...unset });
    const body = { role_limits: [{ role: "member", requests_per_minute: 60, free_tokens_per_day: 0 }] };
    expect((await ask("PUT", "", { body })).json.changes).toEqual([
      {
        section: "role_limits",
        id: "member",
        action: "change",
        fields: {
          requests_per_minute: { before: null, after: 60 },
          free_tokens_per_day: { before: null, after: 0 },
        },
      },
    ]);
    expect(await read()).toContainEqual({ role: "member", ...unset, ...body.role_limits[0] });
    expect((await ask("PUT", "", { body })).json.changes).toEqual([]);
    expect((await ask("PUT", "", { body: { role_limits: before } })).json.changes).toMatchObject([{ id: "member" }]);
    expect(await read()).toEqual(before);
    const twice = await ask("PUT", "", { body: { role_limits: [...body.role_limits, ...body.role_limits] } });
    expect([twice.status, twice.json.error.param]).toEqual([400, "role_limits"]);
  });

  test("changes what differs by field, revokes, archives and removes what it says so of, and leaves the rest", async () => {
    const change = {
      accounts: [{ email: "ada@example.com", status: "archived", free_tokens_per_day: null }],
      keys: [
        { account: "search@teams.example", name: "website", budget_usd: "7.50" },
        { account: "ada@example.com", name: "laptop", status: "revoked" },
      ],
      providers: [{ name: "acme", status: "removed" }],
      virtual_models: [],
    };
    const { status, json } = await ask("PUT", "", { body: change });
    expect([status, json.error]).toEqual([200, undefined]);
    expect(json.changes).toEqual([
      { section: "providers", id: "acme", action: "remove", fields: {} },
      expect.objectContaining({ section: "virtual_models", action: "change" }),
      {
        section: "accounts",
        id: "ada@example.com",
        action: "change",
        fields: {
          status: { before: "active", after: "archived" },
          free_tokens_per_day: { before: 1000, after: null },
        },
      },
      {
        section: "keys",
        id: "search@teams.example: website",
        action: "change",
        fields: { budget_usd: { before: "5", after: "7.5" } },
      },
      { section: "keys", id: "ada@example.com: laptop", action: "remove", fields: {} },
    ]);
    const after = (await ask("GET", "")).json;
    expect(after.virtual_models).toEqual([]);
    expect(after.catalogue).toEqual(document.catalogue);
    expect(after.keys.map(({ name }: { name: string }) => name)).not.toContain("laptop");
    expect(after.accounts).toContainEqual(expect.objectContaining({ email: "ada@example.com", status: "archived" }));
  });

  test("has keys of service accounts and custom rules for metrics, found by name, with amounts as they are written", async () => {
    const own = {
      accounts: [{ email: "jobs@teams.example", kind: "team", budget_usd: "20.00", budget_period: "week" }],
      keys: [{ account: "jobs@teams.example", name: "nightly", service_account: "nightly job", budget_usd: "1.50" }],
      alerts: [
        {
          rule: "metric",
          name: "Nightly spend",
          metric: "spend",
          scope: "account",
          subject: "jobs@teams.example",
          comparison: "above",
          threshold: "3.00",
          minutes: 60,
        },
      ],
    };
    const first = await ask("PUT", "", { body: own });
    expect([first.status, first.json.error]).toEqual([200, undefined]);
    expect(first.json.changes.map(({ section, action }: Record<string, string>) => [section, action])).toEqual([
      ["accounts", "create"],
      ["keys", "create"],
      ["alerts", "create"],
    ]);
    expect((await ask("PUT", "", { body: own })).json).toMatchObject({ changes: [], keys: [] });
    const { json } = await ask("GET", "");
    expect(json.keys).toContainEqual(
      expect.objectContaining({ name: "nightly", service_account: "nightly job", budget_period: "month" }),
    );
    expect(json.alerts).toContainEqual(expect.objectContaining({ rule: "metric", name: "Nightly spend" }));
    expect((await ask("PUT", "", { body: json })).json).toMatchObject({ changes: [], keys: [] });

    const later = { alerts: [{ rule: "metric", name: "Nightly spend", threshold: "4" }] };
    const { changes } = (await ask("PUT", "", { body: later })).json;
    expect(changes).toMatchObject([{ section: "alerts", action: "change", fields: { threshold: { after: "4" } } }]);
    const moved = { keys: [{ account: "jobs@teams.example", name: "nightly", service_account: "another" }] };
    expect((await ask("PUT", "", { body: moved })).status).toBe(409);
    const removed = { alerts: [{ rule: "metric", name: "Nightly spend", status: "removed" }] };
    expect((await ask("PUT", "", { body: removed })).json.changes).toMatchObject([{ action: "remove" }]);
    expect((await ask("PUT", "", { body: removed })).json.changes).toEqual([]);
  });

  test.each([
    ["an unknown field", { accounts: [{ email: "x@example.com", quota: 5 }] }],
    ["an entry that is there twice", { accounts: [{ email: "x@example.com" }, { email: "X@example.com" }] }],
    ["a budget that is no amount", { accounts: [{ email: "x@example.com", budget_usd: "much" }] }],
    ["a key of an account that does not exist", { keys: [{ account: "nobody@example.com", name: "x" }] }],
    ["a markup of a provider that is not here", { markups: [{ provider: "opnai", markup_percent: "20" }] }],
    ["a provider that nobody knows", { providers: [{ name: "nobody", enabled: true }] }],
    [
      "a row of the catalogue with a typo",
      { catalogue: { openai: { models: [{ id: "gpt-4.1-nano", premum: true }] } } },
    ],
    [
      "a member without an e-mail",
      { accounts: [{ email: "t@example.com", people: [{ email: "nobody", role: "admin" }] }] },
    ],
    ["a rule of alerts that does not exist", { alerts: [{ rule: "moon", enabled: true }] }],
    ["a rule for a metric that has no threshold", { alerts: [{ rule: "metric", name: "x", metric: "calls" }] }],
    ["a period without an amount", { accounts: [{ email: "x@example.com", budget_period: "day" }] }],
    ["an issuer that is none", { jwt_issuers: [{ issuer: 5 }] }],
  ])("with %s is refused before anything changes", async (_, body) => {
    const whole = { accounts: [{ email: "first@example.com" }], ...body };
    const { status, json } = await ask("PUT", "", { body: whole });
    expect([status, json.error?.type]).toEqual([400, "invalid_request_error"]);
    const { accounts } = (await ask("GET", "?sections=accounts")).json;
    expect(accounts.map(({ email }: { email: string }) => email)).not.toContain("first@example.com");
  });

  test("is read and written as far as the scopes of an admin key go", async () => {
    const key = await makeAdminKey("catalogue:write", "keys:read");
    const { json } = await ask("GET", "", { key });
    expect(Object.keys(json).sort()).toEqual(["catalogue", "keys", "virtual_models"]);
    expect((await ask("GET", "?sections=accounts", { key })).status).toBe(403);
    expect((await ask("PUT", "", { key, body: { keys: [] } })).status).toBe(403);
    expect((await ask("PUT", "", { key, body: { virtual_models: [] } })).status).toBe(200);
    expect((await ask("GET", "", { key: await makeAdminKey("usage:read") })).status).toBe(403);
    expect((await ask("GET", "?sections=nothing")).status).toBe(400);
  });
});

describe("modelgate export and apply", () => {
  test("write a document, show what it would change, and change it", async () => {
    const bench = makeBench({
      env: { MODELGATE_URL: new URL(gateway.baseUrl).origin, MODELGATE_ADMIN_KEY: adminKey },
    });
    const file = join(bench.home, "gateway.json");
    expect((await bench.run("export", "--out", file)).stdout).toBe(`Wrote ${file}\n`);
    expect((await bench.run("apply", file)).stdout).toContain("Nothing to change");
    writeFileSync(file, JSON.stringify({ accounts: [{ email: "eve@example.com", requests_per_minute: 7 }] }));
    const plan = await bench.run("apply", file, "--dry-run");
    expect([plan.code, plan.stdout]).toEqual([
      0,
      "+ accounts eve@example.com\n    requests_per_minute: null → 7\n1 change, none written\n",
    ]);
    expect((await bench.json<{ changes: unknown[] }>("apply", file)).changes).toHaveLength(1);
    expect((await bench.run("apply", file)).stdout).toContain("Nothing to change");
    const wrong = await bench.run("apply", join(bench.home, "absent.json"));
    expect([wrong.code === 0, wrong.stderr]).toEqual([false, expect.stringContaining("There is no file")]);
    bench.remove();
  });

  test("follow nobody to another address, and believe no other server", async () => {
    const other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => Response.json({ hello: "world" }) });
    const leading = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => Response.redirect(`${other.url}`, 307) });
    const bench = makeBench({ env: { MODELGATE_ADMIN_KEY: adminKey } });
    const file = join(bench.home, "gateway.json");
    writeFileSync(file, "{}");
    try {
      const runs = [leading, other].map(({ url }) => bench.run("apply", file, "--url", url.origin));
      expect(await Promise.all(runs)).toEqual([
        { code: 2, stdout: "", stderr: expect.stringContaining("is not followed") },
        { code: 2, stdout: "", stderr: expect.stringContaining("not a configuration plan") },
      ]);
    } finally {
      await Promise.all([other.stop(true), leading.stop(true)]);
      bench.remove();
    }
  });
});
