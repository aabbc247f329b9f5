import { afterAll, expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { rounds } from "../../support/long.ts";
import { randomBelow } from "../../support/random.ts";

const gateways: InProcessGateway[] = [];
afterAll(async () => {
  for (const gateway of gateways) await gateway.stop();
});

interface Asked {
  readonly gateway: InProcessGateway;
  ask(method: string, body?: unknown): Promise<{ status: number; json: Document }>;
}

// biome-ignore lint/suspicious/noExplicitAny: what is asked of it is asserted.
type Document = any;

async function start(): Promise<Asked> {
  const gateway = await startInProcess({ env: { OPENAI_API_KEY: "sk-upstream", REQUESTS_PER_MINUTE: "1000" } });
  gateways.push(gateway);
  const { key } = await createAdminKey(gateway.store, commandLine, { name: "test", scopes: ["all"] }, Date.now());
  return {
    gateway,
    async ask(method, body) {
      const response = await fetch(`${gateway.baseUrl}/organization/config`, {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: response.status, json: await response.json() };
    },
  };
}

/** A number from 0 to below 1. */
type Random = () => number;

/** A document of what a gateway may have: names that occur twice, entries that name others, providers that rows and rules rest on. */
function makeDocument(random: Random): Document {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const some = <T>(count: number, make: (at: number) => T): T[] =>
    Array.from({ length: Math.floor(random() * (count + 1)) }, (_, at) => make(at));
  const maybe = (fields: object) => (random() < 0.5 ? fields : {});
  const budget = () => ({ budget_usd: pick(["1.00", "2.5", "0"]), budget_period: pick(["day", "week", "month"]) });
  const limits = () => ({ ...maybe({ requests_per_minute: 5 }), ...maybe({ concurrent_calls: 2 }) });
  const providers = some(2, (at) => ({
    name: `acme-${at}`,
    manifest: {
      name: `acme-${at}`,
      baseUrl: "http://127.0.0.1:9/v1",
      dialect: "openai",
      credential: "none",
      models: [{ id: `acme-${at}/llama`, upstreamId: "llama", premium: false }],
    },
    ...maybe({ priority: 5 }),
    enabled: random() < 0.5,
  }));
  const models = ["gpt-4.1-nano", ...providers.map(({ name }) => `${name}/llama`)];
  const people = ["ada@example.com", "ben@example.com", "eve@example.com"];
  const persons = people.slice(0, 2).map((email) => ({
    email,
    ...maybe({ name: "Somebody" }),
    ...maybe({ allowed_models: [pick(models)] }),
    ...maybe({ free_tokens_per_day: 1000 }),
    ...maybe(budget()),
    ...limits(),
  }));
  const teams = some(2, (at) => ({
    email: `team-${at}@teams.example`,
    kind: "team",
    name: "Team",
    ...(random() < 0.3 ? { ...budget(), billed_afterwards: true } : maybe(budget())),
    people: people.filter(() => random() < 0.5).map((email) => ({ email, role: pick(["admin", "member"]) })),
  }));
  const accounts = [...persons, ...teams];
  const keys = some(5, (at) => ({
    id: `key-${at}`,
    account: pick(accounts).email,
    name: pick(["app", "laptop"]),
    ...maybe({ service_account: pick(["job", "other job"]) }),
    ...maybe({ allowed_models: [pick(models)] }),
    ...maybe(budget()),
    ...limits(),
  }));
  const targets = new Set<string>();
  const once = <Entry extends object>(entry: Entry): Entry[] => {
    const name = JSON.stringify(entry);
    if (targets.has(name)) return [];
    targets.add(name);
    return [entry];
  };
  const ofKey = (account: string | undefined) => keys.filter((key) => key.account === account).map(({ id }) => id);
  const budgets = some(5, () => {
    const account = random() < 0.3 ? undefined : pick(accounts).email;
    const subject = pick(["end_user", "tag", "model"]);
    const target = {
      account,
      subject,
      ...maybe({ name: subject === "model" ? pick(models) : "a" }),
      budget_period: pick(["day", "month"]),
    };
    const [key] = ofKey(account);
    return { ...target, ...(key !== undefined && maybe({ api_key_id: key })) };
  }).flatMap(once);
  const rateLimits = some(4, () => {
    const account = random() < 0.3 ? undefined : pick(accounts).email;
    const [key] = ofKey(account);
    return { account, model: pick(models), ...(key !== undefined && maybe({ api_key_id: key })) };
  }).flatMap(once);
  const rules = some(3, (at) => {
    const [scope, subject] = pick([
      ["gateway", ""],
      ["account", pick(accounts).email],
      ["model", pick(models)],
      ...keys.map(({ id }) => ["key", id]),
      ["key", "one-that-was-revoked"],
      ...providers.map(({ name }) => ["provider", name]),
    ] as [string, string][]);
    const condition = { metric: "calls", scope, comparison: "above", threshold: "5", minutes: 60 };
    return { rule: "metric", name: `rule ${at}`, ...condition, ...(subject !== "" && { subject }) };
  });
  return {
    accounts,
    keys,
    budgets: budgets.map((entry) => ({ ...entry, budget_usd: "1.00" })),
    rate_limits: rateLimits.map((entry) => ({ ...entry, requests_per_minute: 5 })),
    markups: [{ markup_percent: "20" }, { account: pick(accounts).email, markup_percent: "-12.5" }],
    policies: [
      { policy: "no-projects", order: 1, on_failure: "open" },
      { account: pick(accounts).email, policy: "no-cards", model: pick(models), order: 2, on_failure: "open" },
    ],
    group_roles: some(3, (at) => ({
      ...maybe({ account: pick(accounts).email }),
      group: `group ${at}`,
      role: pick(["admin", "member"]),
    })),
    role_limits: [{ role: pick(["member", "none"]), ...limits() }],
    providers,
    catalogue: {
      ...maybe({ openai: { models: [{ id: "famA-4.1-nano", premium: false }] } }),
      ...(providers[0] !== undefined &&
        maybe({ [providers[0].name]: { models: [{ id: `${providers[0].name}/llama`, priority: 3 }] } })),
    },
    virtual_models: some(2, (at) => ({ id: `fast-${at}`, models: [pick(models)] })),
    alerts: [{ rule: "disk_full", enabled: random() < 0.5, threshold: "75" }, ...rules],
  };
}

/** A document without what each gateway gives anew: the ids of keys, in their entries and where others name them, and of rules. */
function withoutIds(document: Document): Document {
  const keys = new Map<string, string>();
  for (const { id, ...key } of document.keys) keys.set(id, `key ${JSON.stringify(key)}`);
  const replace = (value: unknown) => (typeof value === "string" && keys.has(value) ? keys.get(value) : value);
  const renamed = JSON.parse(JSON.stringify(document), (name, value) => (name === "id" ? value : replace(value)));
  const sorted = (entries: object[]) => entries.map((entry) => JSON.stringify(entry)).sort();
  return {
    ...renamed,
    accounts: sorted(renamed.accounts.filter(({ email }: { email: string }) => email !== "test@example.org")),
    keys: sorted(
      renamed.keys
        .filter(({ account }: { account: string }) => account !== "test@example.org")
        .map(({ id: _, ...key }: { id: string }) => key),
    ),
    budgets: sorted(renamed.budgets),
    rate_limits: sorted(renamed.rate_limits),
    group_roles: sorted(renamed.group_roles),
    alerts: sorted(renamed.alerts.map(({ id: _, ...rule }: { id?: string }) => rule)),
  };
}

test("the document of any gateway makes a fresh one the same, and is in force there when it is sent again", async () => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
  for (let at = 0; at < rounds(4, 200); at++) {
    const below = randomBelow(seed + at);
    const random = () => below(1000) / 1000;
    const label = `SEED=${seed + at}`;
    const made = makeDocument(random);
    const [a, b] = [await start(), await start()];
    const first = await a.ask("PUT", made);
    expect({ label, ...first, json: first.status === 200 ? {} : first.json }).toEqual({ label, status: 200, json: {} });
    const { json: document } = await a.ask("GET");
    document.accounts = document.accounts.filter(({ email }: { email: string }) => email !== "test@example.org");
    document.keys = document.keys.filter(({ account }: { account: string }) => account !== "test@example.org");
    const moved = await b.ask("PUT", document);
    expect({ label, ...moved, json: moved.status === 200 ? {} : moved.json }).toEqual({ label, status: 200, json: {} });
    const there = (await b.ask("GET")).json;
    expect({ label, ...withoutIds(there) }).toEqual({ label, ...withoutIds(document) });
    const again = await b.ask("PUT", document);
    expect({ label, status: again.status, changes: again.json.changes }).toEqual({ label, status: 200, changes: [] });
    for (const { gateway } of [a, b]) await gateway.stop();
    gateways.length = 0;
  }
});
