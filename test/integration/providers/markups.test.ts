import { describe, expect, test } from "bun:test";
import { commandLine, readAudit } from "../../../src/audit/index.ts";
import { readConfig } from "../../../src/config/index.ts";
import { createAccounts, createAdminKey } from "../../../src/keys/index.ts";
import { creditWallet, verifyLedger } from "../../../src/ledger/index.ts";
import { enterAs } from "../../support/session-cookie.ts";
import { until } from "../../support/until.ts";
import { call, engines, enter, open, provider, start, useNode } from "./fixture.ts";

const key = "provider-key-first-0001";
const rate = (usd: string) => ({ usd, per: 1_000_000 });
const price = { inputToken: rate("3"), outputToken: rate("15") };
/** 5 tokens of input and 1 of output at 3 and 15 USD a million. */
const cost = 0.00003;

/** A gateway whose provider `acme` sells a paid model and a free one, with an operator and a customer. */
async function startSeller(engine: keyof typeof engines) {
  const openNext = await open(engine);
  const store = await openNext();
  const node = await start(store, { SECRETS_KEY: "a-secrets-key-of-thirty-two-characters" });
  const admin = await enter(store);
  const page = await useNode(node, admin.cookie);
  const upstream = provider(key);
  const manifest = {
    baseUrl: upstream.baseUrl,
    dialect: "openai",
    models: [
      { id: "acme/chat", premium: true, price, reasoning: false, contextTokens: 1000, outputTokensMax: 100 },
      { id: "acme/free", premium: false, price, reasoning: false, contextTokens: 1000, outputTokensMax: 100 },
    ],
  };
  // biome-ignore lint/suspicious/noExplicitAny: what is asked of it is asserted.
  const ask = async (method: string, path: string, body?: unknown): Promise<{ status: number; json: any }> => {
    const response = await page.send(method, path, body);
    return { status: response.status, json: await response.json() };
  };
  expect((await ask("POST", "/providers", { name: "acme", manifest, key })).status).toBe(200);
  const accounts = createAccounts({ store, defaults: readConfig({}), now: Date.now });
  const { id: accountId } = await accounts.create({ email: "customer@example.org" });
  const customer = (await accounts.createKey({ accountId, name: "theirs" })).key;
  await creditWallet(store, { accountId, nanodollars: 1_000_000_000, note: "test" });
  const serve = async (apiKey: string, model = "acme/chat") => {
    const response = await call(node.origin, apiKey, model);
    expect(response.status).toBe(200);
    return { id: response.headers.get("x-request-id") as string, usd: response.headers.get("x-modelgate-cost-usd") };
  };
  const priceOf = async (apiKey: string, model = "acme/chat") => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const response = await fetch(`${node.origin}/v1/models/${model}`, { headers });
    return ((await response.json()) as { price: typeof price }).price;
  };
  return { store, node, admin, ask, upstream, accountId, customer, serve, priceOf };
}

describe.each(Object.keys(engines) as (keyof typeof engines)[])("markups over %s", (engine) => {
  test("are not in what a provider's bill is compared with", async () => {
    const { ask, customer, serve } = await startSeller(engine);
    await ask("POST", "/markups", { provider: "acme", markup_percent: "20" });
    await until(async () => Number((await serve(customer)).usd) === 0.000036);
    await serve(customer);
    const day = new Date().toISOString().slice(0, 10);
    const { data } = (await ask("GET", `/costs?start_time=${Date.parse(day) / 1000}`)).json;
    const [{ provider_cost_usd: owed }] = data[0].results;
    const compare = async (usd: string, more: object = {}) => {
      const content = `day,model,cost_usd\n${day},acme/chat,${usd}\n`;
      return await ask("POST", "/reconciliations", { content, provider: "acme", ...more });
    };
    expect((await compare(owed)).json).toMatchObject({ ok: true, rows_compared: 1, differences: [] });
    const other = { day, model: "acme/chat", figure: "cost_usd", ledger: owed, provider: "1" };
    expect((await compare("1")).json).toMatchObject({ ok: false, figures: ["cost_usd"], differences: [other] });
    expect((await compare("1", { provider: "acne" })).json.error.message).toContain("did you mean acme?");
    const wrong = await compare("much");
    expect([wrong.status, wrong.json.error]).toMatchObject([
      400,
      { param: "content", message: expect.stringContaining("line 2: cost_usd") },
    ]);
  });

  test("of the account, the provider and the gateway apply from the next call on, the most specific alone", async () => {
    const { store, admin, ask, accountId, customer, serve, priceOf } = await startSeller(engine);
    const set = async (path: string, body: object) => {
      const made = await ask("POST", path, body);
      expect(made.status).toBe(200);
      return made.json;
    };
    const sold = async (apiKey: string) => Number((await serve(apiKey)).usd);
    expect(await sold(customer)).toBe(cost);
    const gateway = await set("/markups", { markup_percent: "10" });
    expect(gateway).toMatchObject({ object: "organization.markup", provider: null, markup_percent: "10" });
    await until(async () => (await sold(customer)) === 0.000033);
    await set("/markups", { provider: "acme", markup_percent: "20" });
    await until(async () => (await sold(customer)) === 0.000036);
    await set(`/projects/${accountId}/markups`, { markup_percent: "-12.5" });
    await until(async () => (await sold(customer)) === 0.00002625);
    expect(await sold(admin.key)).toBe(0.000036);
    expect([await priceOf(customer), await priceOf(admin.key)]).toEqual([
      { inputToken: rate("2.625"), outputToken: rate("13.125") },
      { inputToken: rate("3.6"), outputToken: rate("18") },
    ]);
    const { json: all } = await ask("GET", "/markups");
    expect(all.data.map((one: { markup_percent: string }) => one.markup_percent)).toEqual(["10", "20"]);
    for (const { id } of all.data)
      expect((await ask("DELETE", `/markups/${id}`)).json).toMatchObject({ deleted: true });
    await until(async () => (await sold(admin.key)) === cost);
    expect(await sold(customer)).toBe(0.00002625);
    const { entries } = await readAudit(store, { subject: gateway.id });
    expect(entries.map(({ action }) => action)).toEqual(["markup.delete", "markup.set"]);
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("stay with a call that runs while they change", async () => {
    const { ask, upstream, customer, serve, priceOf, store } = await startSeller(engine);
    await ask("POST", "/markups", { provider: "acme", markup_percent: "20" });
    await until(async () => (await priceOf(customer)).inputToken.usd === "3.6");
    upstream.answer.delayMs = 800;
    const before = upstream.asked.length;
    const running = serve(customer);
    await until(async () => upstream.asked.length > before);
    await ask("POST", "/markups", { provider: "acme", markup_percent: "100" });
    await until(async () => (await priceOf(customer)).inputToken.usd === "6");
    expect((await running).usd).toBe("0.000036");
    upstream.answer.delayMs = 0;
    expect((await serve(customer)).usd).toBe("0.00006");
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("are told to operators alone, who see what was earned; a call on the free quota earns minus its cost", async () => {
    const { store, node, ask, accountId, customer, serve, priceOf } = await startSeller(engine);
    await ask("POST", "/markups", { markup_percent: "33.33" });
    await until(async () => (await priceOf(customer)).outputToken.usd === "19.9995");
    const [paid, free] = [await serve(customer), await serve(customer, "acme/free")];
    const [ofPaid, ofFree] = await Promise.all(
      [paid, free].map(async ({ id }) => (await ask("GET", `/requests/${id}`)).json),
    );
    expect(ofPaid).toMatchObject({
      cost_usd: "0.000039999",
      charged_usd: "0.000039999",
      provider_cost_usd: "0.00003",
      markup_percent: "33.33",
      earned_usd: "0.000009999",
    });
    expect(ofFree).toMatchObject({ charged_usd: "0", provider_cost_usd: "0.00003", earned_usd: "-0.00003" });
    const { json: costs } = await ask(
      "GET",
      `/costs?start_time=${Math.floor(Date.now() / 1000) - 86_400}&group_by=line_item`,
    );
    const results = costs.data.flatMap(({ results }: { results: object[] }) => results);
    expect(results).toContainEqual(
      expect.objectContaining({ line_item: "acme/chat", provider_cost_usd: "0.00003", earned_usd: "0.000009999" }),
    );
    expect(results).toContainEqual(
      expect.objectContaining({ line_item: "acme/free", provider_cost_usd: "0.00003", earned_usd: "-0.00003" }),
    );

    const cookie = await enterAs(store, { accountId, role: "member" }, Date.now());
    const { hostname, port } = new URL(node.origin);
    const origin = `http://${hostname}:${port}`;
    const answers = await Promise.all(
      [
        ...["models", `requests/${paid.id}`, "requests", "statistics", "statistics.csv", "calls", "entries"].map(
          (path) => [`/dashboard/api/${path}`, { cookie }] as const,
        ),
        ...["models", "models/acme/chat", `key/requests/${paid.id}`, `key/usage?start_time=0&limit=1`].map(
          (path) => [`/v1/${path}`, { authorization: `Bearer ${customer}` }] as const,
        ),
      ].map(async ([path, headers]) => {
        const response = await fetch(`${origin}${path}`, { headers });
        return [path, response.status, await response.text()] as const;
      }),
    );
    const { price_version: version } = ofPaid;
    for (const [path, status, text] of answers) {
      expect([path, status]).toEqual([path, 200]);
      for (const secret of ['"0.00003"', "33.33", "3333", '"0.000009999"', version, '"usd":"3"', '"usd":"15"']) {
        expect([path, text.includes(secret) && secret]).toEqual([path, false]);
      }
    }
    const [statistics] = answers.filter(([path]) => path.endsWith("/statistics.csv"));
    expect(statistics?.[2].split("\r\n")[0]).not.toContain("provider_cost");
  });

  test("leave what a provider is owed by its own price, where another provider's is the model's", async () => {
    const { store, ask, customer, serve, upstream } = await startSeller(engine);
    const otherKey = "provider-key-other-0001";
    const dear = provider(otherKey);
    const row = {
      id: "acme/chat",
      premium: true,
      priority: 900,
      reasoning: false,
      contextTokens: 1000,
      outputTokensMax: 100,
    };
    const models = [{ ...row, price: { inputToken: rate("30"), outputToken: rate("150") } }];
    const manifest = { baseUrl: dear.baseUrl, dialect: "openai", models };
    expect((await ask("POST", "/providers", { name: "dear", manifest, key: otherKey })).status).toBe(200);
    await ask("POST", "/markups", { markup_percent: "20" });
    await until(async () => Number((await serve(customer)).usd) === 0.000036);
    const first = await ask("GET", `/requests/${(await serve(customer)).id}`);
    expect(first.json).toMatchObject({ provider: "acme", provider_cost_usd: "0.00003", provider_price_version: null });

    upstream.answer.status = 500;
    const { id, usd } = await serve(customer);
    // The customer pays what the model costs here, whoever answers.
    expect(usd).toBe("0.000036");
    expect((await ask("GET", `/requests/${id}`)).json).toMatchObject({
      provider: "dear",
      charged_usd: "0.000036",
      provider_cost_usd: "0.0003",
      provider_price_version: expect.stringMatching(/^\w+$/),
      markup_percent: "20",
      earned_usd: "-0.000264",
    });
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("that cannot be are refused, and nobody but operators sets one", async () => {
    const { store, node, ask, accountId } = await startSeller(engine);
    for (const [path, body] of [
      ["/markups", { markup_percent: "-100" }],
      ["/markups", { markup_percent: "1000.5" }],
      ["/markups", { markup_percent: "1.234" }],
      ["/markups", { provider: "nobody", markup_percent: "1" }],
      [`/projects/${accountId}/markups`, { provider: "acme", markup_percent: "1" }],
    ] as const) {
      expect((await ask("POST", path, body)).status).toBe(400);
    }
    for (const role of ["member", "viewer"] as const) {
      const { send } = await useNode(node, await enterAs(store, { accountId, role }, Date.now()));
      expect((await send("POST", "/markups", { markup_percent: "1" })).status).toBe(403);
    }
    const scopes = ["usage:read", "catalogue:write", "providers:write"];
    const adminKey = await createAdminKey(store, commandLine, { name: "other areas", scopes }, Date.now());
    const response = await fetch(`${node.origin}/v1/organization/markups`, {
      method: "POST",
      headers: { authorization: `Bearer ${adminKey.key}`, "content-type": "application/json" },
      body: JSON.stringify({ markup_percent: "1" }),
    });
    expect(response.status).toBe(403);
  });
});
