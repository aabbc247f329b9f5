import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { TSchema } from "@sinclair/typebox";
import { getDatabaseFile } from "../../../src/config/index.ts";
import { namePattern } from "../../../src/contract/index.ts";
import { signUp } from "../../../src/identity/sign-up.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { enterAs, cheapPasswords as passwords } from "../../support/session-cookie.ts";
import { type Bench, makeBench } from "../cli/fixture.ts";

/** Moves the cursor, sets the title, starts a line that looks like another row, turns the direction. */
const hostile = "Ada\u001b[2J\u001b]0;title\u0007\u009b31m\r\nkey_0000  stolen\u202e\u2028";
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for
const obeyed = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

describe("a name that a terminal would obey", () => {
  let bench: Bench;
  beforeAll(() => {
    bench = makeBench();
  });
  afterAll(() => bench.remove());

  test("which is in the database is shown by every command that lists it in its own row, and obeyed by no terminal", async () => {
    const { id: accountId } = await bench.json<{ id: string }>("account", "create", "--email", "ada@example.org");
    await bench.run("account", "link", "ada@example.org");
    const { id: keyId } = await bench.json<{ id: string }>("key", "create", "--account", accountId, "--name", "app");
    await bench.run("admin-key", "create", "--name", "ci", "--scopes", "accounts:read");
    const database = new Database(getDatabaseFile({ home: bench.home }));
    for (const table of ["accounts", "keys", "admin_keys"]) {
      database.run(`update ${table} set name = ?`, [hostile]);
    }
    database.close();
    const shown = [
      ["account", "list"],
      ["account", "show", accountId],
      ["account", "set", accountId, "--email", "ada@example.com"],
      ["key", "list", "--account", accountId],
      ["admin-key", "list"],
    ];
    const wrong: string[] = [];
    for (const argv of shown) {
      const { code, stdout, stderr } = await bench.run(...argv);
      const text = stdout + stderr;
      if (code !== 0 || obeyed.test(text)) wrong.push(`${argv.join(" ")}: ${code} ${JSON.stringify(text)}`);
      if (!text.includes("\\u001b")) wrong.push(`${argv.join(" ")} does not show the name: ${text}`);
      if (/^key_0000/m.test(text)) wrong.push(`${argv.join(" ")} has a row that is none`);
      const json = await bench.run(...argv, "--json");
      if (obeyed.test(json.stdout) || !json.stdout.includes("\\u009b31m")) wrong.push(`${argv.join(" ")} --json`);
      if (JSON.stringify(JSON.parse(json.stdout)).includes("stolen") === false) wrong.push(`${argv.join(" ")} --json`);
    }
    expect(keyId).toBeString();
    expect(wrong).toEqual([]);
  });

  test("is not taken by commands either", async () => {
    const { id: accountId } = await bench.json<{ id: string }>("account", "create", "--email", "bob@example.org");
    const refused = [
      ["key", "create", "--account", accountId, "--name", hostile],
      ["account", "create", "--email", "cy@example.org", "--name", hostile],
      ["account", "set", accountId, "--name", hostile],
      ["admin-key", "create", "--name", hostile, "--scopes", "accounts:read"],
    ];
    const outcomes = await Promise.all(refused.map((argv) => bench.run(...argv)));
    expect(outcomes.map(({ code, stderr }) => [code, obeyed.test(stderr), stderr.includes("control char")])).toEqual(
      refused.map(() => [2, false, true]),
    );
  });
});

describe("over HTTP", () => {
  let gateway: InProcessGateway;
  let origin: string;
  let cookie: string;
  beforeAll(async () => {
    gateway = await startInProcess({ env: { SIGNUP: "open" } });
    ({ origin } = new URL(gateway.baseUrl));
    const { id: accountId } = await gateway.app.accounts.create({ email: "owner@example.org" });
    cookie = await enterAs(gateway.store, { accountId, role: "owner" }, Date.now());
  });
  afterAll(() => gateway.stop());

  /** Fields called `name` of the bodies of routes that are no name which somebody gives. */
  const others: Readonly<Record<string, string>> = {
    "POST /v1/organization/providers name": "the form of a plugin's name",
    "POST /v1/organization/provider_tests name": "the form of a plugin's name",
    "PUT /v1/organization/config providers[] name": "the form of a plugin's name",
    "POST /v1/organization/reroutes name": "a model or a provider, which is there",
    "PUT /v1/organization/config reroutes[] name": "a model or a provider",
    "POST /v1/organization/budgets name": "whom a budget counts, as calls name them",
    "POST /v1/organization/projects/:project_id/budgets name": "whom a budget counts, as calls name them",
    "PUT /v1/organization/config budgets[] name": "whom a budget counts, as calls name them",
  };

  test("every route that takes a name has the one schema of names", () => {
    const wrong: string[] = [];
    let count = 0;
    const walk = (schema: TSchema, path: string): void => {
      for (const [name, inner] of Object.entries((schema.properties ?? {}) as Record<string, TSchema>)) {
        const isText = (one: TSchema) => one.type === "string" && one.enum === undefined;
        const texts = [inner, ...((inner.anyOf as TSchema[] | undefined) ?? [])].filter(isText);
        if (name === "name" && texts.length > 0) {
          count += 1;
          const isOne = texts.every(({ pattern }) => pattern === namePattern);
          // An exception that is none any more fails too.
          if (isOne !== (others[`${path} name`] === undefined)) wrong.push(`${path} name`);
        }
        walk(inner, `${path} ${name}`);
      }
      for (const inner of [schema.anyOf ?? [], schema.allOf ?? []].flat()) walk(inner, path);
      if (schema.items) walk(schema.items, `${path}[]`);
    };
    for (const { method, path, body } of gateway.app.http.declared) {
      if (!/^\/(v1\/organization|dashboard\/api)\//.test(path)) continue;
      if (body) walk(body, `${method} ${path}`);
    }
    expect(wrong).toEqual([]);
    expect(count).toBeGreaterThan(8);
  });

  test("a name with control characters is a 400 that says so, and nothing is made", async () => {
    const { id: project } = await gateway.app.accounts.create({ email: "project@example.org" });
    const writes: [string, object][] = [
      ["/projects", { name: hostile }],
      [`/projects/${project}/api_keys`, { name: hostile }],
      [`/projects/${project}/service_accounts`, { name: hostile }],
      ["/admin_api_keys", { name: hostile, scopes: ["accounts:read"] }],
    ];
    const count = async () =>
      (
        await Promise.all(
          (["accounts", "keys", "service_accounts", "admin_keys"] as const).map((table) =>
            gateway.store.db.selectFrom(table).select("id").execute(),
          ),
        )
      ).flat().length;
    const before = await count();
    const answers = await Promise.all(
      writes.map(async ([path, body]) => {
        const response = await fetch(`${origin}/v1/organization${path}`, {
          method: "POST",
          headers: { cookie, origin, "content-type": "application/json" },
          body: JSON.stringify(body),
        });
        const { error } = (await response.json()) as { error?: { param: string; message: string } };
        return [path, response.status, error?.param, error?.message.includes("control characters")];
      }),
    );
    expect(answers).toEqual(writes.map(([path]) => [path, 400, "name", true]));
    expect(await count()).toBe(before);
  });

  test("a stranger signs up under no such name", async () => {
    const { store } = gateway;
    const fields = { email: "stranger@example.org", password: "a password of a stranger", name: hostile };
    const attempt = signUp({ store, signUp: "open", now: Date.now, passwords }, fields);
    expect(await attempt.then(String, ({ code, param }) => [code, param])).toEqual(["invalid_request", "name"]);
  });
});
