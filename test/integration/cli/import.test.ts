import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import openai from "../../../plugins/openai/index.ts";
import { toPricedRow } from "../../../src/cli/import/plan.ts";
import type { Model } from "../../../src/provider/index.ts";
import { readManifest } from "../../../src/providers/manifest.ts";
import { type Gateway, startGateway } from "../../support/gateway.ts";
import { type MariaDbServer, startMariaDb, whyNoMariaDb } from "../../support/mariadb.ts";
import { type PostgresServer, startPostgres, whyNoPostgres } from "../../support/postgres.ts";
import { prepareMsMax } from "../../support/prepare-once.ts";
import { preparePython } from "../../support/python.ts";
import { makeBench } from "./fixture.ts";

/** LiteLLM's migrations, as its proxy runs them. */
const litellmPackage = "litellm-proxy-extras==0.4.110";

const folder = mkdtempSync(join(tmpdir(), "modelgate-import-"));
let gateway: Gateway;
let server: PostgresServer | undefined;
let provider: ReturnType<typeof Bun.serve>;

if (whyNoPostgres !== undefined) console.log(`Skipped: imports from PostgreSQL: ${whyNoPostgres}`);
if (whyNoMariaDb !== undefined) console.log(`Skipped: an import from MariaDB: ${whyNoMariaDb}`);

beforeAll(async () => {
  provider = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { model } = (await request.json()) as { model: string };
      const content = `${model} for ${request.headers.get("authorization")}`;
      return Response.json({
        id: "c",
        object: "chat.completion",
        created: 1,
        model,
        choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
        usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
      });
    },
  });
  gateway = await startGateway({
    env: {
      SANDBOX: "off",
      OPENAI_API_KEY: "sk-of-this-gateway",
      OPENAI_BASE_URL: `http://127.0.0.1:${provider.port}/v1`,
    },
  });
  server = whyNoPostgres === undefined ? await startPostgres() : undefined;
});
afterAll(async () => {
  await gateway?.stop();
  await server?.remove();
  await provider?.stop(true);
  rmSync(folder, { recursive: true, force: true });
});

async function newDatabase(name: string): Promise<string> {
  const own = server as PostgresServer;
  const admin = new SQL(own.url("postgres"), { max: 1 });
  await admin.unsafe(`create database ${name}`);
  await admin.close();
  return own.url(name);
}

async function execute(url: string, statements: readonly string[]): Promise<void> {
  const sql = new SQL(url, { max: 1 });
  for (const statement of statements) await sql.unsafe(statement);
  await sql.close();
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

async function chat(key: string, model: string): Promise<[number, string]> {
  const response = await gateway.post(
    "/chat/completions",
    { model, messages: [{ role: "user", content: "Hi" }], max_tokens: 20 },
    { authorization: `Bearer ${key}` },
  );
  const body = (await response.json()) as { choices?: { message: { content: string } }[]; error?: { message: string } };
  return [response.status, body.choices?.[0]?.message.content ?? body.error?.message ?? ""];
}

/** The first answer that is not about a change which the gateway has not seen yet. */
async function chatUntil(key: string, model: string, status: number, part = ""): Promise<[number, string]> {
  for (let tries = 0; ; tries++) {
    const answer = await chat(key, model);
    if ((answer[0] === status && answer[1].includes(part)) || tries === 40) return answer;
    await Bun.sleep(100);
  }
}

describe("import litellm", () => {
  const ada = "sk-adas-key-at-litellm-000001";
  const old = "sk-1234567890abcdef";
  const blocked = "sk-a-key-that-was-blocked-0001";

  function writeConfig(): string {
    const file = join(folder, "config.yaml");
    const text = `
model_list:
  - model_name: gpt-4o-mini
    litellm_params: { model: openai/gpt-4o-mini, api_key: os.environ/THEIR_OPENAI_KEY }
    model_info: { input_cost_per_token: 0.00000015, output_cost_per_token: 0.0000006 }
  - model_name: smart
    litellm_params: { model: openai/gpt-5-mini, weight: 3 }
  - model_name: smart
    litellm_params: { model: groq/llama-3.1-8b-instant, weight: 1 }
  - model_name: own
    litellm_params: { model: openai/qwen3, api_base: "http://127.0.0.1:${provider.port}/v1", api_key: sk-of-their-own-server, input_cost_per_token: 0.000001, output_cost_per_token: 0.000002 }
  - model_name: copy
    litellm_params: { model: openai/gpt-4.1-mini, api_base: "http://127.0.0.1:${provider.port}/v1" }
  - model_name: plain
    litellm_params: { model: hosted_vllm/some-model, api_base: "http://127.0.0.1:${provider.port}/v1" }
  - model_name: dream
    litellm_params: { model: replicate/dream-9 }
  - model_name: "anthropic/*"
    litellm_params: { model: "anthropic/*" }
litellm_settings:
  fallbacks: [{ own: [gpt-4o-mini] }]
  callbacks: [langfuse]
router_settings:
  model_group_alias: { cheap: gpt-4o-mini }
general_settings: { master_key: sk-master }
guardrails: []
`;
    writeFileSync(file, text);
    return file;
  }

  test.skipIf(whyNoPostgres !== undefined)(
    "takes over what LiteLLM's own migrations hold, prints it before, and its keys answer",
    async () => {
      const python = await preparePython("litellm", litellmPackage);
      if (python.command === undefined) {
        console.log(`Skipped: LiteLLM's migrations: ${python.missing}`);
        return;
      }
      const site = Bun.spawnSync([python.command, "-c", "import litellm_proxy_extras as p; print(p.__path__[0])"])
        .stdout.toString()
        .trim();
      const migrations = join(site, "migrations");
      const url = await newDatabase("litellm");
      const files = readdirSync(migrations)
        .filter((name) => /^\d/.test(name))
        .sort();
      expect(files.length).toBeGreaterThan(100);
      await execute(
        url,
        files.map((name) => readFileSync(join(migrations, name, "migration.sql"), "utf8")),
      );
      const token = (key: string, fields: Record<string, string>) => {
        const all = { token: `'${sha256(key)}'`, key_name: "'sk-...0001'", ...fields };
        return `insert into "LiteLLM_VerificationToken" (${Object.keys(all).join(", ")}) values (${Object.values(all).join(", ")})`;
      };
      await execute(url, [
        `insert into "LiteLLM_TeamTable" (team_id, team_alias, max_budget, budget_duration, models, rpm_limit, max_parallel_requests, spend, metadata, admins, members)
         values ('t1', 'Search', 250.5, '30d', '{gpt-4o-mini,smart,own}', 600, 40, 12.5, '{"model_rpm_limit": {"smart": 90}, "model_tpm_limit": {"smart": 1}}', '{}', '{}')`,
        `insert into "LiteLLM_UserTable" (user_id, user_email, user_alias, models) values ('u1', 'Ada@Example.com', 'Ada', '{}')`,
        `insert into "LiteLLM_EndUserTable" (user_id, blocked) values ('customer', false)`,
        token(ada, {
          key_alias: "'ada'",
          user_id: "'u1'",
          team_id: "'t1'",
          models: "'{gpt-4o-mini,own,gone-model}'",
          max_budget: "5",
          budget_duration: "'24h'",
          rpm_limit: "100",
          metadata: `'{"model_rpm_limit": {"gpt-4o-mini": 30}, "model_tpm_limit": {"cheap": 500000, "dream": 5}}'`,
          model_max_budget: `'{"gpt-4o-mini": {"budget_limit": "2", "time_period": "30d"}, "dream": {"max_budget": 1}}'`,
          expires: "now() + interval '30 days'",
        }),
        token(old, { key_alias: "'old'", user_id: "'u1'", models: "'{}'", max_budget: "12", spend: "2" }),
        token(blocked, { key_alias: "'blocked'", models: "'{}'", blocked: "true" }),
      ]);
      const config = writeConfig();
      const before = await gateway.run("import", "litellm", config, "--database", url, "--dry-run");
      expect([before.code, before.stderr]).toEqual([0, ""]);
      for (const part of [
        "gpt-4o-mini",
        "famA-4o-mini",
        "0.15 / 0.6",
        "Search",
        "250.5 USD a month",
        "ada@example.com",
        "5 USD a day",
        "10 USD in all",
        "revoked",
        "replicate/dream-9 is not served here",
        "anthropic/* sells every model",
        "THEIR_OPENAI_KEY is not set here",
        "callbacks has no counterpart",
        "master key is not imported",
        "Team Search has a budget that starts again here",
        "famA-4o-mini  ada  2 USD a month",
        "copy has no price in the file: it has the price of gpt-4.1-mini",
        "plain has no price in the file: it draws on the free quota",
        "Limits of models",
        "Team Search has limits of smart, which 2 models share here\n",
        "Team Search has limits of smart, which 2 models share here: 1 for each, more than its 1 in all",
        "Key ada has limits of dream, which nothing here serves",
        "A list of models is kept as it is, but there is no model gone-model",
        "Nothing was changed",
      ]) {
        expect(before.stdout).toContain(part);
      }
      expect(before.stdout).not.toContain("sk-of-their-own-server");
      expect((await chat(ada, "gpt-4o-mini"))[0]).toBe(401);

      const credit = ["--credit", "20.00", "--free-tokens", "250000"];
      const done = await gateway.run("import", "litellm", config, "--database", url, ...credit);
      expect(done.stdout).toContain("3 accounts, 3 keys, 60 USD of credit, 1 providers, 5 virtual models");
      expect(await chatUntil(ada, "gpt-4o-mini", 200)).toEqual([200, expect.any(String)]);
      // Until the gateway has read its new provider, the fallback of the file serves it.
      expect(await chatUntil(ada, "own", 200, "qwen3")).toEqual([200, "qwen3 for Bearer sk-of-their-own-server"]);
      expect((await chat(ada, "o4-mini"))[0]).toBe(403);
      expect((await chatUntil(old, "cheap", 200))[0]).toBe(200);
      expect(await chat(blocked, "gpt-4o-mini")).toEqual([401, expect.stringContaining("was revoked")]);
      expect((await chat(`${ada}x`, "gpt-4o-mini"))[0]).toBe(401);

      const limits = await gateway.cli<{ api_key_id: string | null; requests_per_minute: number }[]>("limit", "list");
      const ofKey = { model: "gpt-4o-mini", api_key_id: expect.stringMatching(/^imp/), requests_per_minute: 30 };
      expect(limits).toHaveLength(3);
      expect(limits).toContainEqual(expect.objectContaining({ ...ofKey, tokens_per_minute: 500_000 }));
      const ofTeam = limits.filter(({ api_key_id }) => api_key_id === null);
      expect(ofTeam.map((row) => row.requests_per_minute)).toEqual([45, 45]);

      const again = await gateway.run("import", "litellm", config, "--database", url, ...credit);
      expect(again.stdout).toContain("0 accounts, 0 keys, 0 USD of credit, 0 providers, 0 virtual models");

      const budgets = readRows("select subject, budget_nanodollars as limit_of, budget_period as period from budgets");
      expect(budgets.toSorted((one, other) => String(one.subject).localeCompare(String(other.subject)))).toEqual([
        { subject: "account", limit_of: 250.5e9, period: "month" },
        { subject: "key", limit_of: 5e9, period: "day" },
        { subject: "key", limit_of: 10e9, period: "lifetime" },
        { subject: "model", limit_of: 2e9, period: "month" },
      ]);

      const [key] = await gateway.cli<{ id: string }[]>("key", "list", "--account", "ada@example.com");
      const [stored] = readRows("select foreign_hash from keys where id = ?", key?.id as string);
      expect(stored?.foreign_hash).toStartWith("hmac:");
      expect(await gateway.cli("ledger", "verify")).toMatchObject({});
      const rotated = await gateway.cli<{ key: string }>("key", "rotate", key?.id as string, "--grace-seconds", "0");
      expect((await chatUntil(rotated.key, "gpt-4o-mini", 200))[0]).toBe(200);
      expect((await chatUntil(old, "gpt-4o-mini", 401))[0]).toBe(401);
    },
    prepareMsMax + 60_000,
  );

  test("reads a file alone, and says what is no YAML, no LiteLLM or not there", async () => {
    const alone = await gateway.run("import", "litellm", writeConfig(), "--dry-run");
    expect(alone.code).toBe(0);
    writeFileSync(join(folder, "bad.yaml"), "a: [1");
    writeFileSync(join(folder, "list.yaml"), "- 1");
    for (const [file, reason] of [
      ["bad.yaml", "is no YAML"],
      ["list.yaml", "model_list"],
      ["none.yaml", "cannot be read"],
    ] as const) {
      const { code, stderr } = await gateway.run("import", "litellm", join(folder, file), "--dry-run");
      expect([code, stderr]).toEqual([2, expect.stringContaining(reason)]);
    }
  });
});

describe("a model at an address of its own", () => {
  test("is sold as the one of the same name here, so that its price fits: vectors, sound and images too", () => {
    const priced = openai.models.filter(({ price }) => price !== undefined);
    expect(new Set(priced.map(({ capability }) => capability)).size).toBeGreaterThan(4);
    const models = priced.map((same) => ({ id: `theirs/${same.id}`, ...toPricedRow(undefined, same) }));
    const manifest = { baseUrl: "https://models.example.com/v1", dialect: "openai", models };
    // As it is written to its file.
    const read = readManifest(JSON.parse(JSON.stringify(manifest)), "theirs");
    const facts = ({ capability, premium, price }: Model) => ({ capability, premium, price });
    expect(read.models.map(facts)).toEqual(priced.map(facts));
  });
});

function readRows(query: string, ...values: string[]): Record<string, unknown>[] {
  const database = new Database(join(gateway.home, "modelgate.db"), { readonly: true });
  const rows = database.query(query).all(...values) as Record<string, unknown>[];
  database.close();
  return rows;
}

describe("import new-api", () => {
  let mariaDb: MariaDbServer | undefined;
  beforeAll(async () => {
    mariaDb = whyNoMariaDb === undefined ? await startMariaDb() : undefined;
  });
  afterAll(async () => {
    await mariaDb?.remove();
  });

  const rows = (prefix: string, channel: number, [quote, yes, no]: [string, string, string]) => {
    const key = (letter: string) => `${prefix}${letter}`.padEnd(48, letter);
    const insert = (table: string, values: Record<string, string | number>) => {
      const names = Object.keys(values).map((name) => `${quote}${name}${quote}`);
      return `insert into ${quote}${table}${quote} (${names.join(", ")}) values (${Object.values(values).join(", ")})`;
    };
    const flags = { model_limits_enabled: no, cross_group_retry: no };
    return {
      keys: { ben: `sk-${key("b")}`, bound: `sk-${key("c")}`, off: `sk-${key("d")}`, gone: `sk-${key("e")}` },
      statements: [
        insert("users", { id: 1, username: `'${prefix}root'`, password: "'x'", quota: 5_000_000, email: "''" }),
        insert("users", {
          id: 2,
          username: `'${prefix}ben'`,
          display_name: "'Ben'",
          password: "'x'",
          quota: 1_250_000,
          email: `'${prefix}ben@example.com'`,
        }),
        insert("tokens", { user_id: 2, key: `'${key("b")}'`, name: "'all'", unlimited_quota: yes, ...flags }),
        insert("tokens", {
          user_id: 2,
          key: `'${key("c")}'`,
          name: "'bound'",
          unlimited_quota: no,
          remain_quota: 500_000,
          ...flags,
          model_limits_enabled: yes,
          model_limits: "'gpt-4o-mini'",
          allow_ips: "'127.0.0.0/8\n'",
        }),
        insert("tokens", {
          user_id: 2,
          key: `'${key("d")}'`,
          name: "'off'",
          status: 2,
          unlimited_quota: yes,
          ...flags,
        }),
        insert("tokens", {
          user_id: 2,
          key: `'${key("e")}'`,
          name: "'gone'",
          unlimited_quota: yes,
          ...flags,
          deleted_at: "'2026-01-01 00:00:00'",
        }),
        insert("channels", {
          id: channel,
          type: 1,
          key: "'sk-own-one\nsk-own-two'",
          name: "'own'",
          models: `'${prefix}qwen'`,
          priority: 10,
          base_url: `'http://127.0.0.1:${provider.port}'`,
          model_mapping: `'{"${prefix}qwen":"qwen3"}'`,
        }),
        insert("channels", { id: 8, type: 17, key: "'k'", name: "'ali'", models: "'qwen-max'" }),
        insert("channels", { id: 9, type: 1, key: "'k'", name: "'off'", models: "'gpt-4o'", status: 2 }),
        insert("options", { key: "'ModelRatio'", value: `'{"${prefix}qwen": 0.5}'` }),
        insert("options", { key: "'CompletionRatio'", value: `'{"${prefix}qwen": 4}'` }),
        insert("options", { key: "'GroupRatio'", value: `'{"default": 1, "vip": 0.8}'` }),
      ],
    };
  };

  async function expectImport(database: string, prefix: string, { keys }: ReturnType<typeof rows>) {
    const before = await gateway.run("import", "new-api", "--database", database, "--dry-run");
    expect([before.code, before.stderr]).toEqual([0, ""]);
    for (const part of [
      "1 / 4",
      "Ben",
      `${prefix}ben@example.com`,
      "2.5",
      "1 USD in all",
      "is of a kind (17)",
      "vip pays 0.8 times",
      "The channel off is disabled",
    ]) {
      expect(before.stdout).toContain(part);
    }
    const done = await gateway.run("import", "new-api", "--database", database, "--free-tokens", "250000");
    expect(done.stdout).toContain("2 accounts, 3 keys, 12.5 USD of credit, 1 providers");
    expect(await chatUntil(keys.ben, "gpt-4o-mini", 200)).toEqual([200, expect.any(String)]);
    expect((await chatUntil(keys.bound, "gpt-4o-mini", 200))[0]).toBe(200);
    expect((await chat(keys.bound, "gpt-5.5"))[0]).toBe(403);
    expect(await chat(keys.off, "gpt-4o-mini")).toEqual([401, expect.stringContaining("was revoked")]);
    expect((await chat(keys.gone, "gpt-4o-mini"))[0]).toBe(401);
    const [status, text] = await chatUntil(keys.ben, `${prefix}qwen`, 200);
    expect([status, text]).toEqual([200, expect.stringMatching(/^qwen3 for Bearer sk-own-(one|two)$/)]);
  }

  test("takes over an SQLite file with its schema, and its tokens answer", async () => {
    const file = join(folder, "one-api.db");
    const own = rows("lite", 7, ["`", "1", "0"]);
    const schema = readFileSync(join(import.meta.dir, "../../fixtures/new-api/sqlite.sql"), "utf8");
    const { Database } = await import("bun:sqlite");
    const database = new Database(file);
    database.exec(schema);
    for (const statement of own.statements) database.exec(statement);
    database.close();
    await expectImport(file, "lite", own);
  });

  test.skipIf(whyNoPostgres !== undefined)("takes over a PostgreSQL database with its schema", async () => {
    const url = await newDatabase("newapi");
    const own = rows("pg", 17, ['"', "true", "false"]);
    await execute(url, [readFileSync(join(import.meta.dir, "../../fixtures/new-api/postgres.sql"), "utf8")]);
    await execute(url, own.statements);
    await expectImport(url, "pg", own);
  });

  test.skipIf(whyNoMariaDb !== undefined)("takes over a MariaDB or MySQL database with its schema", async () => {
    const own = rows("my", 27, ["`", "1", "0"]);
    const url = (database: string) => (mariaDb as MariaDbServer).url(database);
    await execute(url("mysql"), ["create database newapi character set utf8mb4"]);
    const schema = readFileSync(join(import.meta.dir, "../../fixtures/new-api/mysql.sql"), "utf8");
    await execute(
      url("newapi"),
      schema.split(";\n").filter((statement) => statement.trim() !== ""),
    );
    await execute(url("newapi"), own.statements);
    await expectImport(url("newapi"), "my", own);
  });

  test("says when a database is none of new-api's, or not there", async () => {
    const { Database } = await import("bun:sqlite");
    new Database(join(folder, "empty.db")).close();
    for (const [file, reason, exitCode] of [
      ["empty.db", "no tokens, users and channels", 2],
      ["missing.db", "cannot be opened", 5],
    ] as const) {
      const { code, stderr } = await gateway.run("import", "new-api", "--database", join(folder, file));
      expect([code, stderr]).toEqual([exitCode, expect.stringContaining(reason)]);
    }
  });
});

describe("import openrouter", () => {
  type Made = { account: string; keys: { name: string; key: string; id: string }[]; notes: string[] };

  /** By OpenRouter's reference of GET /keys. */
  const toRow = (name: string, fields: Record<string, unknown>) => {
    return {
      hash: sha256(name),
      name,
      label: "sk-or-v1-0e6...1c96",
      disabled: false,
      limit: null,
      usage: 0,
      ...fields,
    };
  };

  async function withRouter(
    answers: Record<string, Record<string, unknown>[]>,
    work: (url: string, bench: ReturnType<typeof makeBench>) => Promise<void>,
  ) {
    const router = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch({ url, headers }) {
        if (headers.get("authorization") !== "Bearer sk-or-management") return new Response("no", { status: 401 });
        const { pathname, searchParams } = new URL(url);
        const rows = answers[pathname.replace("/api/v1/", "")];
        const offset = Number(searchParams.get("offset"));
        return rows === undefined
          ? new Response("", { status: 404 })
          : Response.json({ data: rows.slice(offset, offset + 100) });
      },
    });
    const bench = makeBench({ stdin: async () => "sk-or-management\n" });
    try {
      await work(`http://127.0.0.1:${router.port}/api/v1`, bench);
    } finally {
      bench.remove();
      await router.stop(true);
    }
  }
  const unguarded = { "guardrails/assignments/keys": [], "guardrails/assignments/members": [] };

  test("makes a key for each in use, with its budget, once, and shows it once", async () => {
    const keys = [
      ...Array.from({ length: 100 }, (_, index) => toRow(`key ${index}`, { disabled: index > 0 })),
      toRow("prod", { limit: 100, limit_reset: "monthly", usage: 25.5, expires_at: null }),
      toRow("once", { limit: 40, limit_reset: null, usage: 15 }),
    ];
    await withRouter({ keys, ...unguarded }, async (url, bench) => {
      const command = ["import", "openrouter", "--url", url, "--credit", "3"];
      const dry = await bench.run(...command, "--dry-run");
      expect([dry.code, dry.stdout]).toEqual([
        0,
        expect.stringMatching(/prod +100 USD a month\s+once +25 USD in all[\s\S]*Nothing was changed/),
      ]);
      expect(dry.stdout).toContain("99 keys are left out, which are disabled there: key 1, key 2, key 3, …");
      const made = await bench.json<Made>(...command);
      expect(made.keys.map(({ name }) => name)).toEqual(["key 0", "prod", "once"]);
      expect(made.keys.every(({ key }) => key.startsWith("sk-mg-"))).toBe(true);
      const wallet = ["wallet", "show", made.account];
      expect(await bench.json(...wallet)).toMatchObject({ balance_usd: "3" });
      // No model that is free here goes past the budgets in dollars.
      expect(await bench.json("account", "show", made.account)).toMatchObject({ free_tokens_per_day: 0 });

      // Neither a second import nor one into another account makes a key twice, nor one that was revoked and deleted since.
      const prod = made.keys.find(({ name }) => name === "prod")?.id as string;
      await bench.run("key", "revoke", prod);
      const again = await bench.json<Made>(...command);
      expect([again.account, again.keys]).toEqual([made.account, []]);
      expect(again.notes).toContain(`Key prod was made at an earlier import: ${prod}, which stays as it is`);
      const { id } = await bench.json<{ id: string }>("account", "create", "--email", "ada@example.org");
      expect((await bench.json<Made>(...command, "--account", id)).keys).toEqual([]);
      expect((await bench.json<unknown[]>("key", "list")).length).toBe(3);
      expect(await bench.json(...wallet)).toMatchObject({ balance_usd: "3" });
    });
  });

  test("says which budget found no room", async () => {
    await withRouter({ keys: [toRow("once", { limit: 25 })], ...unguarded }, async (url, bench) => {
      const { id } = await bench.json<{ id: string }>("account", "create", "--email", "ada@example.org");
      const database = new Database(join(bench.home, "modelgate.db"));
      const fill = database.query(`insert into budgets
        (id, no, account_id, subject, name, budget_nanodollars, budget_period, created_at, counted_from)
        values (?, ?, ?, 'tag', ?, 1, 'day', 0, 0)`);
      for (let index = 1; index <= 1000; index++) fill.run(`bud_${index}`, index, id, `tag ${index}`);
      database.close();
      const full = await bench.run("import", "openrouter", "--url", url, "--account", id);
      expect(full.stdout).toContain(
        "The key once has no budget of 25 USD in all here: the account has 1000, its limit",
      );
    });
  });

  test("leaves out what it cannot restrict as it is there, until that is accepted", async () => {
    const keys = [
      toRow("free", {}),
      toRow("guarded", { creator_user_id: "user_1" }),
      toRow("of a guarded member", { creator_user_id: "user_2" }),
      toRow("news", { allowed_hours: "9-17" }),
      toRow("odd", { limit: "much", usage: 1 }),
      toRow("spent", { limit: 5, usage: 5 }),
      toRow("ended", { expires_at: "soon" }),
      toRow("hourly", { limit: 5, limit_reset: "hourly", usage: 1 }),
    ];
    const guardrails = {
      "guardrails/assignments/keys": [{ key_hash: sha256("guarded"), guardrail_id: "g" }],
      "guardrails/assignments/members": [{ user_id: "user_2", guardrail_id: "g" }],
    };
    const names = (made: Made) => made.keys.map(({ name }) => name).sort();
    await withRouter({ keys, ...guardrails }, async (url, bench) => {
      const command = ["import", "openrouter", "--url", url];
      const unknown = await bench.run(...command, "--accept", "keys.policies");
      expect([unknown.code, unknown.stderr]).toEqual([
        2,
        expect.stringContaining("expected some of: keys.allowed_hours, keys.guardrails"),
      ]);
      expect(await bench.json<unknown[]>("key", "list")).toEqual([]);
      const made = await bench.json<Made>(...command);
      expect(names(made)).toEqual(["free", "hourly"]);
      expect(made.notes).toEqual([
        "Key hourly has a limit with the unknown period hourly: here it never resets",
        "2 keys are left out, which may not spend anything any more: odd, spent",
        "1 keys are left out, which have expired: ended",
        expect.stringMatching(/^keys.guardrails of 2 \(Key guarded, Key of a guarded member\) restricts there/),
        expect.stringMatching(/^keys.allowed_hours of 1 \(Key news\) restricts there/),
      ]);
      expect(names(await bench.json(...command, "--accept", "keys.guardrails"))).toEqual([
        "guarded",
        "of a guarded member",
      ]);
      expect(names(await bench.json(...command, "--accept", "all"))).toEqual(["news"]);
    });
    // Guardrails that cannot be read may be of any key.
    await withRouter({ keys }, async (url, bench) => {
      const made = await bench.json<Made>("import", "openrouter", "--url", url);
      expect([made.keys, made.notes.some((note) => note.startsWith("keys.guardrails of 5 ("))]).toEqual([[], true]);
    });
  });

  test("says when OpenRouter refuses the key", async () => {
    await withRouter({ keys: [] }, async (url) => {
      const wrong = makeBench({ stdin: async () => "sk-or-wrong" });
      const command = ["import", "openrouter", "--url", url];
      expect(await wrong.run(...command)).toMatchObject({ code: 2, stderr: expect.stringContaining("answered 401") });
      wrong.remove();
    });
  });
});
