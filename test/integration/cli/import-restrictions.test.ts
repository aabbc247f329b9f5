import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gateway, startGateway } from "../../support/gateway.ts";

/**
 * Nothing that another gateway refuses is answered here after an import: each key that is refused there, for each reason that there
 * is, is imported and then called. A key beside it, that nothing restricts, is answered.
 */

type Row = Record<string, unknown>;

const folder = mkdtempSync(join(tmpdir(), "modelgate-import-"));
let gateway: Gateway;
let provider: ReturnType<typeof Bun.serve>;

beforeAll(async () => {
  provider = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { model } = (await request.json()) as { model: string };
      const message = { role: "assistant", content: "Hello" };
      return Response.json({
        ...{
          id: "c",
          object: "chat.completion",
          created: 1,
          model,
          choices: [{ index: 0, message, finish_reason: "stop" }],
        },
        usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
      });
    },
  });
  const OPENAI_BASE_URL = `http://127.0.0.1:${provider.port}/v1`;
  gateway = await startGateway({ env: { SANDBOX: "off", OPENAI_API_KEY: "sk-own", OPENAI_BASE_URL } });
});
afterAll(async () => {
  await gateway?.stop();
  await provider?.stop(true);
  rmSync(folder, { recursive: true, force: true });
});

/** A database with tables that have the columns of their rows. */
function writeDatabase(name: string, tables: Record<string, Row[]>): string {
  const file = join(folder, name);
  const database = new Database(file);
  for (const [table, rows] of Object.entries(tables)) {
    const columns = [...new Set(rows.flatMap(Object.keys))];
    database.exec(`create table "${table}" (${columns.map((column) => `"${column}"`).join(", ")})`);
    const insert = database.query(`insert into "${table}" values (${columns.map(() => "?").join(", ")})`);
    for (const row of rows) {
      const values = columns.map((column) => row[column] ?? null);
      insert.run(
        ...values.map(
          (value) => (typeof value === "object" && value !== null ? JSON.stringify(value) : value) as never,
        ),
      );
    }
  }
  database.close();
  return file;
}

const [allowed, other] = ["gpt-4o-mini", "gpt-4.1-mini"];

async function ask(key: string, model: string): Promise<[number, string]> {
  const body = { model, messages: [{ role: "user", content: "Hi" }], max_tokens: 20 };
  const response = await gateway.post("/chat/completions", body, { authorization: `Bearer ${key}` });
  return [response.status, await response.text()];
}

async function call(key: string, model: string): Promise<string> {
  return String((await ask(key, model))[0]);
}

/** Waits until the gateway has read what was imported, and answers so. */
async function waitFor(key: string, [status, part]: readonly [number, string] = [200, "Hello"]): Promise<void> {
  for (let tries = 0; ; tries++) {
    const answer = await ask(key, allowed);
    if (answer[0] === status && answer[1].includes(part)) return;
    if (tries === 50) expect(answer).toEqual([status, part]);
    await Bun.sleep(100);
  }
}

const free = ["--free-tokens", "1000000"];

describe("from LiteLLM", () => {
  const keyOf = (name: string) => `sk-litellm-${name.replaceAll(/\W/g, "-")}`;
  const token = (name: string, fields: Row) => {
    const own = { token: createHash("sha256").update(keyOf(name)).digest("hex"), key_alias: name };
    return { ...{ models: [], metadata: {}, blocked: null }, ...own, ...fields };
  };
  const writeConfig = (name: string, more = "") => {
    const file = join(folder, name);
    const models = [allowed, other].map(
      (one) => `  - { model_name: ${one}, litellm_params: { model: openai/${one} } }`,
    );
    writeFileSync(file, `model_list:\n${models.join("\n")}\n${more}`);
    return file;
  };
  const spent = { max_budget: 5, spend: 5 };

  /** What each key gets for a model that it may use there, and for another. */
  const cases: Record<string, readonly [allowed: string, other: string, row: Row]> = {
    "nothing restricts it": ["200", "200", { team_id: "plain" }],
    "a member's budget is spent": ["401", "401", { user_id: "spent", team_id: "plain" }],
    "a member may use one model": ["200", "403", { user_id: "picky", team_id: "plain" }],
    "members of the team may use one model": ["200", "403", { user_id: "any", team_id: "members" }],
    "its project is blocked": ["401", "401", { team_id: "plain", project_id: "blocked" }],
    "its project has one model": ["200", "403", { team_id: "plain", project_id: "one-model" }],
    "its project's budget is spent": ["401", "401", { team_id: "plain", project_id: "spent" }],
    "its organization has one model": ["200", "403", { team_id: "of-organization" }],
    "a budget window of nothing": [
      "401",
      "401",
      { team_id: "plain", budget_limits: [{ max_budget: 0, budget_duration: "1d" }] },
    ],
    "its team has a budget window of nothing": ["401", "401", { team_id: "window" }],
    "its shared budget has one model": ["200", "403", { team_id: "plain", budget_id: "one-model" }],
    "its user has a limit of nothing": ["401", "401", { team_id: "plain", user_id: "no-requests" }],
    "its user is here and has one model": ["200", "403", { user_id: "here" }],
    "its user is here and has spent all": ["401", "401", { user_id: "here-spent" }],
    "its user has the e-mail of another, and spent all": ["401", "401", { user_id: "twin-2" }],
    "it is the first of two users with an e-mail": ["200", "200", { user_id: "twin-1" }],
    "tokens a day of its team": ["401", "401", { team_id: "tpd" }],
    "it manages the gateway": ["401", "401", { team_id: "plain", key_type: "management" }],
    "it may call no route of models": ["401", "401", { team_id: "plain", allowed_routes: ["management_routes"] }],
    "it may call one route": ["401", "401", { team_id: "plain", allowed_routes: ["/v1/embeddings"] }],
    "it has policies": ["401", "401", { team_id: "plain", policies: ["no-secrets"] }],
    "it is blocked": ["401", "401", { team_id: "plain", blocked: 1 }],
    "it has spent all": ["401", "401", { team_id: "plain", ...spent }],
    "it had an end": ["401", "401", { team_id: "plain", expires: "2020-01-01 00:00:00" }],
    "its end cannot be read": ["401", "401", { team_id: "plain", expires: "soon" }],
    "its budget cannot be read": ["401", "401", { team_id: "plain", max_budget: "much" }],
    "a column that nobody knows": ["401", "401", { team_id: "plain", nightly_limit: 0 }],
  };
  const tables = (): Record<string, Row[]> => ({
    LiteLLM_VerificationToken: Object.entries(cases).map(([name, [, , row]]) => token(name, row)),
    LiteLLM_TeamTable: [
      { team_id: "plain", team_alias: "Plain", models: [], metadata: {} },
      { team_id: "members", team_alias: "Members", metadata: { team_member_budget_id: "one-model" } },
      { team_id: "window", team_alias: "Window", budget_limits: [{ max_budget: 0, budget_duration: "1d" }] },
      { team_id: "of-organization", team_alias: "Of an organization", organization_id: "one-model" },
      { team_id: "tpd", team_alias: "Tokens a day", tpd_limit: 1000 },
    ],
    LiteLLM_UserTable: [
      { user_id: "here", user_email: "here@example.com", models: [allowed] },
      { user_id: "here-spent", user_email: "here-spent@example.com", ...spent },
      { user_id: "twin-1", user_email: "twin@example.com" },
      { user_id: "twin-2", user_email: "twin@example.com", ...spent },
      { user_id: "no-requests", rpm_limit: 0 },
    ],
    LiteLLM_BudgetTable: [
      { budget_id: "one-model", allowed_models: [allowed] },
      { budget_id: "five", max_budget: 5 },
    ],
    LiteLLM_TeamMembership: [
      { user_id: "spent", team_id: "plain", spend: 5, budget_id: "five" },
      { user_id: "picky", team_id: "plain", spend: 0, budget_id: "one-model" },
    ],
    LiteLLM_ProjectTable: [
      { project_id: "blocked", team_id: "plain", blocked: 1 },
      { project_id: "one-model", team_id: "plain", models: [allowed] },
      { project_id: "spent", team_id: "plain", spend: 5, budget_id: "five" },
    ],
    LiteLLM_OrganizationTable: [{ organization_id: "one-model", organization_alias: "One", models: [allowed] }],
  });

  test("a key that is refused there is refused here, and --accept says otherwise", async () => {
    for (const email of ["here@example.com", "here-spent@example.com"]) {
      await gateway.cli("account", "create", "--email", email);
    }
    const [config, database] = [writeConfig("config.yaml"), writeDatabase("litellm.db", tables())];
    const command = ["import", "litellm", config, "--database", database, ...free];
    const first = await gateway.run(...command);
    expect([first.code, first.stderr]).toEqual([0, ""]);
    for (const note of [
      "keys.policies of 1 (Key it has policies) restricts there and cannot be carried over: the keys that it concerns are revoked here; --accept keys.policies",
      "teams.tpd_limit of 1 (Team Tokens a day) restricts there",
      "keys.allowed_routes of 1 (Key it may call one route) restricts there",
      "keys.nightly_limit of 1 (Key a column that nobody knows) restricts there",
      "Key it manages the gateway makes no calls there (management), and is revoked here",
      "The account of here@example.com is here@example.com, which is here already: it gets 1 keys; what restricts it there is shared out among them",
    ]) {
      expect(first.stdout).toContain(note);
    }
    await waitFor(keyOf("nothing restricts it"));
    const seen: Record<string, readonly string[]> = {};
    for (const name of Object.keys(cases))
      seen[name] = [await call(keyOf(name), allowed), await call(keyOf(name), other)];
    expect(seen).toEqual(Object.fromEntries(Object.entries(cases).map(([name, [one, two]]) => [name, [one, two]])));

    // Again makes nothing twice. What was held back for one thing is released when that is accepted, unless it was revoked since.
    const again = await gateway.run(...command);
    expect(again.stdout).toContain("Imported: 0 accounts, 0 keys, 0 USD of credit");
    const policies = keyOf("it has policies");
    const wrong = await gateway.run(...command, "--accept", "keys.colour");
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("expected some of: keys.allowed_routes,")]);
    const released = await gateway.run(...command, "--accept", "keys.policies");
    expect(released.stdout).toContain("0 keys, 1 keys that were held back");
    expect(released.stdout).toContain(
      "keys.policies of 1 (Key it has policies) restricts there and not here, as accepted",
    );
    await waitFor(policies);
    const keys = await gateway.cli<{ id: string; name: string; state: string; held_for: string[] | null }[]>(
      "key",
      "list",
    );
    const find = (name: string) => keys.find((key) => key.name === name);
    expect(find("a column that nobody knows")).toMatchObject({ state: "revoked", held_for: ["keys.nightly_limit"] });
    expect(find("it has policies")).toMatchObject({ state: "active", held_for: null });
    const text = await gateway.run("key", "list");
    expect(text.stdout).toMatch(/a column that nobody knows .*revoked by its import, for keys.nightly_limit/);
    await gateway.cli("key", "revoke", find("a column that nobody knows")?.id as string);
    const all = await gateway.run(...command, "--accept", "all");
    // Both of them, and not the one that was revoked here, nor those that nothing but a restriction ended.
    expect(all.stdout).toContain("2 keys that were held back");
    await waitFor(keyOf("it may call one route"));
    for (const name of ["a column that nobody knows", "it is blocked", "it has spent all", "its project is blocked"]) {
      expect([name, await call(keyOf(name), allowed)]).toEqual([name, "401"]);
    }
  });

  test.each([
    ["litellm_settings: { max_budget: 100 }", "was revoked"],
    ["general_settings: { allowed_ips: [10.0.0.1] }", "127.0.0.1"],
  ])("what the file says about all keys: %s", async (setting, reason) => {
    const name = `of ${setting}`;
    const database = writeDatabase(`${Bun.hash(setting)}.db`, {
      LiteLLM_VerificationToken: [token(name, { user_id: "someone" })],
    });
    const config = writeConfig(`${Bun.hash(setting)}.yaml`, `${setting}\n`);
    const { stdout } = await gateway.run("import", "litellm", config, "--database", database, ...free);
    expect(stdout).toContain("1 keys, 0 USD");
    await waitFor(keyOf(name), [401, reason]);
  });

  test("what restricts one deployment leaves it out, also another team's", async () => {
    const file = join(folder, "deployments.yaml");
    writeFileSync(
      file,
      `model_list:
  - { model_name: theirs, litellm_params: { model: openai/${allowed} }, model_info: { team_id: t1 } }
  - { model_name: bounded, litellm_params: { model: openai/${allowed}, max_budget: 3 } }
  - { model_name: plain, litellm_params: { model: openai/${allowed} } }
`,
    );
    const { models } = await gateway.cli<{ models: { name: string }[] }>("import", "litellm", file, "--dry-run");
    expect(models.map(({ name }) => name)).toEqual(["plain"]);
  });
});

describe("from new-api", () => {
  const keyOf = (name: string) => name.replaceAll(/\W/g, "").padEnd(48, "x");
  const unlimited = { unlimited_quota: 1, remain_quota: 0, expired_time: -1, status: 1 };
  const cases: Record<string, readonly [allowed: string, other: string, row: Row]> = {
    "nothing restricts it": ["200", "200", { user_id: 2 }],
    "an empty list of models": ["401", "401", { user_id: 2, model_limits_enabled: 1, model_limits: "" }],
    "a list of one model": ["200", "403", { user_id: 2, model_limits_enabled: 1, model_limits: allowed }],
    "its user is banned and here": ["401", "401", { user_id: 3 }],
    "its user is banned and shares an e-mail": ["401", "401", { user_id: 5 }],
    "its group has one model": ["200", "403", { user_id: 1 }],
    "it is of a group that its user may not use": ["401", "401", { user_id: 1, group: "vip" }],
    "its quota is used up": ["401", "401", { user_id: 2, unlimited_quota: 0, remain_quota: 0 }],
    "an end of 0": ["401", "401", { user_id: 2, expired_time: 0 }],
    "it is off": ["401", "401", { user_id: 2, status: 2 }],
    "networks that are none": ["401", "401", { user_id: 2, allow_ips: "home" }],
    "other networks": ["401", "401", { user_id: 2, allow_ips: "10.0.0.1" }],
    "a column that nobody knows": ["401", "401", { user_id: 2, blocked_models: "x" }],
  };

  test("a token that is refused there is refused here", async () => {
    await gateway.cli("account", "create", "--email", "banned@example.com");
    const database = writeDatabase("newapi.db", {
      channels: [
        { id: 1, type: 1, status: 1, key: "k", name: "all", models: allowed, group: "default,vip" },
        { id: 2, type: 1, status: 1, key: "k", name: "vip", models: other, group: "vip" },
      ],
      users: [
        { id: 1, username: "usual", status: 1, group: "default" },
        { id: 2, username: "vip", status: 1, group: "vip" },
        { id: 3, username: "banned", status: 2, group: "vip", email: "banned@example.com" },
        { id: 4, username: "first", status: 1, group: "vip", email: "shared@example.com" },
        { id: 5, username: "second", status: 2, group: "vip", email: "shared@example.com" },
      ],
      tokens: Object.entries(cases).map(([name, [, , row]], id) => ({
        id,
        name,
        key: keyOf(name),
        ...unlimited,
        ...row,
      })),
      options: [{ key: "UserUsableGroups", value: '{"default":""}' }],
    });
    const command = ["import", "new-api", "--database", database, ...free];
    const first = await gateway.run(...command);
    expect([first.code, first.stderr]).toEqual([0, ""]);
    for (const note of [
      "Token an empty list of models may use no model there, and is revoked here",
      "The group default of the user usual has 1 of the models",
      "tokens.blocked_models of 1",
      "Token it is of a group that its user may not use is of the group vip, which its user may not use",
    ]) {
      expect(first.stdout).toContain(note);
    }
    const key = (name: string) => `sk-${keyOf(name)}`;
    await waitFor(key("nothing restricts it"));
    const seen: Record<string, readonly string[]> = {};
    for (const name of Object.keys(cases)) seen[name] = [await call(key(name), allowed), await call(key(name), other)];
    expect(seen).toEqual(Object.fromEntries(Object.entries(cases).map(([name, [one, two]]) => [name, [one, two]])));
    expect((await gateway.run(...command)).stdout).toContain("Imported: 0 accounts, 0 keys, 0 USD of credit");
  });

  test("no budget and no wallet pays for models that are free here, so there is no free quota unless it is asked for", async () => {
    const database = writeDatabase("free.db", {
      channels: [{ id: 1, type: 1, status: 1, key: "k", name: "all", models: allowed, group: "default" }],
      users: [{ id: 1, username: "poor", status: 1, group: "default", quota: 0 }],
      tokens: [{ id: 1, user_id: 1, name: "poor", key: keyOf("poor"), ...unlimited }],
    });
    const { stdout } = await gateway.run("import", "new-api", "--database", database);
    expect(stdout).toContain(`${allowed} draw on the free quota here, which is 0 for accounts that are created`);
    await waitFor(`sk-${keyOf("poor")}`, [403, "0 free tokens a day"]);
  });
});
