import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readAudit } from "../../../src/audit/index.ts";
import { bootstrap } from "../../../src/cli/bootstrap.ts";
import { withStore } from "../../../src/cli/lib/with-store.ts";
import { readConfig } from "../../../src/config/index.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { temporaryStore } from "../db/temporary-store.ts";
import { type Bench, makeBench } from "./fixture.ts";

const email = "ada@example.org";

let bench: Bench;
beforeEach(async () => {
  bench = makeBench();
  await bench.run("account", "create", "--email", email);
});
afterEach(() => bench.remove());

describe("account", () => {
  test("invite prints a link and its expiry", async () => {
    expect(await bench.json("account", "invite", email)).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:3000\/#invitation=[\w-]{32}$/),
      token: expect.any(String),
      expires_at: "2026-11-23T10:00:00.000Z",
    });
  });

  test("password prints a new one each time", async () => {
    const made = () => bench.json<{ email: string; password: string }>("account", "password", email);
    const [first, second] = [await made(), await made()];
    expect(first).toEqual({ email, password: expect.stringMatching(/^([2-9a-z]{5}-){3}[2-9a-z]{5}$/) });
    expect(second.password).not.toBe(first.password);
  });

  test("disable refuses its keys until enable, and the audit log names both", async () => {
    const { key } = await bench.json<{ key: string }>("key", "create", "--account", email, "--name", "laptop");
    const config = readConfig({ MODELGATE_HOME: bench.home });
    const outcome = () =>
      withStore(config, async ({ accounts }) => {
        try {
          await accounts.authenticate(key);
          return "accepted";
        } catch (error) {
          return (error as Error).message;
        }
      });
    expect(await outcome()).toBe("accepted");
    expect(await bench.json("account", "disable", email)).toMatchObject({ email, disabled_at: expect.any(String) });
    expect(await outcome()).toStartWith("The account of this API key is disabled");
    expect((await bench.run("account", "list")).stdout).toContain("disabled");
    expect(await bench.json("account", "enable", email)).toMatchObject({ email, disabled_at: null });
    expect(await outcome()).toBe("accepted");
    const { entries } = await withStore(config, ({ store }) => readAudit(store));
    expect(entries.filter(({ action }) => action === "account.disabled")).toHaveLength(2);
  });

  test("show lists the teams of its person, and disable names those that lose their only admin", async () => {
    const team = (name: string) => bench.json<{ id: string }>("team", "create", "--name", name, "--person", email);
    await bench.run("account", "password", email);
    const search = await team("Search");
    const shared = await team("Shared");
    await bench.run("account", "create", "--email", "ben@example.org");
    await bench.run("account", "password", "ben@example.org");
    const config = readConfig({ MODELGATE_HOME: bench.home });
    await withStore(config, async ({ store: { db } }) => {
      const ben = db.selectFrom("users").innerJoin("accounts", "accounts.id", "users.account_id").select("users.id");
      const { id: userId } = await ben.where("accounts.email", "=", "ben@example.org").executeTakeFirstOrThrow();
      const joined = { account_id: shared.id, user_id: userId, role: "admin" as const, joined_at: 0 };
      await db.insertInto("memberships").values(joined).execute();
    });
    const teams = [
      { id: search.id, name: "Search", team_role: "admin", only_admin: true, joined_at: expect.any(String) },
      { id: shared.id, name: "Shared", team_role: "admin", only_admin: false, joined_at: expect.any(String) },
    ];
    // Both joined at the one time of this clock, so they come in any order.
    const listed = (await bench.json<{ teams: object[] }>("account", "show", email)).teams;
    expect(listed).toHaveLength(teams.length);
    expect(listed).toEqual(expect.arrayContaining(teams));
    const { stdout } = await bench.run("account", "show", email);
    const ofTeam = (await bench.run("team", "show", "Search")).stdout;
    expect(ofTeam).toMatch(/^email +none$/m);
    expect(ofTeam).toMatch(/^role +none$/m);
    expect(stdout).toMatch(/^team +role +status$/m);
    expect(stdout).toMatch(/^Search +admin +the only admin$/m);
    expect(stdout).toMatch(/^Shared +admin *$/m);
    const disabled = await bench.run("account", "disable", email);
    expect(disabled.stdout).toContain(
      `\nSearch: No admin can sign in; make another member admin with modelgate team set ${search.id} --person P --role admin\n`,
    );
    expect(disabled.stdout).not.toContain("Shared");
    expect(await bench.json("account", "disable", email)).toMatchObject({
      teams_without_admin: [{ id: search.id, name: "Search" }],
    });
  });

  test.each(["invite", "password", "disable", "enable"])(
    "%s of an unknown account is refused, naming a similar one",
    async (command) => {
      const refused = await bench.run("account", command, "adda@example.org");
      expect(refused).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining(email) });
    },
  );
});

test("lists have headings, and creating an account says how somebody signs in to it", async () => {
  const run = async (...words: string[]) => (await bench.run(...words)).stdout.trim().split("\n");
  await run("key", "create", "--account", email, "--name", "laptop");
  await run("voucher", "create", "--usd", "5");
  const heading = async (...words: string[]) => (await run(...words))[0]?.split(/ {2,}/);
  expect(await heading("account", "list")).toEqual(["id", "e-mail", "role", "name"]);
  expect(await heading("key", "list")).toEqual(["id", "account", "name", "state", "models", "budget", "last use"]);
  expect(await heading("voucher", "list")).toEqual(["id", "usd", "status"]);
  expect((await run("account", "create", "--email", "ben@example.com")).at(-1)).toContain(
    "modelgate account invite ben@example.com",
  );
  expect((await run("account", "invite", email)).at(-1)).toContain("PUBLIC_URL is not set");
});

describe("voucher", () => {
  test("create, list and void work on one voucher, and only create shows its code", async () => {
    const { id, code } = await bench.json<{ id: string; code: string }>(
      "voucher",
      "create",
      "--usd",
      "5",
      "--expires",
      "30d",
    );
    const listed = {
      id,
      object: "organization.voucher",
      usd: "5",
      created_at: Date.UTC(2026, 10, 21, 10) / 1000,
      expires_at: Date.UTC(2026, 11, 21, 10) / 1000,
      voided_at: null,
      redeemed_at: null,
      redeemed_by: null,
      redeemed_by_email: null,
    };
    expect(await bench.json("voucher", "list")).toEqual([{ ...listed, status: "unused" }]);
    const voided = { ...listed, status: "void", voided_at: listed.created_at };
    expect(await bench.json("voucher", "void", code)).toEqual(voided);
    expect(await bench.json("voucher", "list")).toEqual([voided]);
    expect(await bench.json("voucher", "show", id)).toEqual(voided);
    expect((await bench.run("voucher", "list")).stdout).not.toContain(code);
  });

  test.each([
    [["voucher", "create", "--usd", "-5"], 2],
    [["voucher", "create", "--usd", "0"], 2],
    [["voucher", "create"], 2],
    [["voucher", "void", "none"], 3],
  ])("%j is refused with exit code %i, and nothing is made", async (words, code) => {
    expect(await bench.run(...words)).toMatchObject({ code, stdout: "" });
    expect(await bench.json("voucher", "list")).toEqual([]);
  });
});

test("the first start creates a key and an owner, and later starts create none", async () => {
  const store = await temporaryStore();
  const defaults = { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 250_000 };
  const accounts = createAccounts({ store, defaults });
  const start = (now: number) => bootstrap(store, accounts, { bootstrapKey: undefined, now });
  expect(await start(1000)).toEqual({
    key: { key: expect.stringMatching(/^sk-mg-/), given: false },
    owner: { email: "owner@localhost", password: expect.any(String) },
  });
  expect(await start(2000)).toEqual({ key: undefined, owner: undefined });
  const people = await store.db.selectFrom("users").select(["role", "password_is_temporary"]).execute();
  expect(people.map((row) => ({ ...row }))).toEqual([{ role: "owner", password_is_temporary: 1 }]);
});

describe("account set", () => {
  test("changes role, e-mail and name and shows them", async () => {
    const set = await bench.json(
      "account",
      "set",
      email,
      "--role",
      "viewer",
      "--email",
      "ada@example.com",
      "--name",
      "Ada",
    );
    expect(set).toMatchObject({ email: "ada@example.com", name: "Ada", role: "viewer" });
    expect(await bench.json("account", "show", "ada@example.com")).toMatchObject({ role: "viewer", name: "Ada" });
    expect(await bench.json("account", "set", "ada@example.com", "--name", "none")).toMatchObject({ name: null });
    expect(await bench.json("account", "list")).toMatchObject([{ email: "ada@example.com", role: "viewer" }]);
  });

  test("limits the account to models, and lifts the limit", async () => {
    const set = (models: string) => bench.json("account", "set", email, "--models", models);
    mkdirSync(join(bench.home, "catalogue"));
    writeFileSync(join(bench.home, "catalogue/virtual.json"), '[{ "id": "fast", "models": ["acme-1"] }]');
    expect(await set("gpt-4o-mini, fast")).toMatchObject({ allowed_models: ["gpt-4o-mini", "fast"] });
    const again = await bench.run("account", "set", email, "--models", "gpt-4o-mini,fast");
    expect(again).toMatchObject({
      stdout: `${email}  no sign-in yet  models: gpt-4o-mini, fast\n`,
      stderr: "Warning: there is no model gpt-4o-mini, see modelgate models\n",
    });
    expect((await bench.run("account", "show", email)).stdout).toMatch(/allowed_models +gpt-4o-mini, fast\n/);
    expect(await set("none")).toMatchObject({ allowed_models: null });
    expect((await bench.run("account", "show", email)).stdout).toMatch(/allowed_models +all\n/);
  });

  test.each([
    [["--role", "root"], "expected one of owner, admin, viewer, member"],
    [[], "Nothing to change, expected one of --role, --email, --name, --models"],
    [["--email", "ada"], "is not a valid address"],
  ])("with %j is refused", async (words, sentence) => {
    const refused = await bench.run("account", "set", email, ...words);
    expect(refused).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(sentence) });
  });
});

describe("account content", () => {
  test("switches the content log of an account or of one key, with an audit entry", async () => {
    const selected = makeBench({ env: { CONTENT_LOG: "selected" } });
    await selected.run("account", "create", "--email", email);
    const { id: key } = await selected.json<{ id: string }>("key", "create", "--account", email, "--name", "laptop");
    const content = (...words: string[]) => selected.json("account", "content", email, ...words);
    expect(await content()).toMatchObject({ email, content_log: "selected", account: false, keys: [] });
    expect(await content("--keep", "on", "--key", key)).toMatchObject({ account: false, keys: [key] });
    expect(await content("--keep", "on")).toMatchObject({ account: true, keys: [key] });
    // Nothing is different afterwards, so there is no entry.
    await content("--keep", "on");
    expect(await content("--keep", "off")).toMatchObject({ account: false, keys: [key] });
    const entries = await withStore(
      readConfig({ MODELGATE_HOME: selected.home }),
      async ({ store }) => (await readAudit(store)).entries,
    );
    const switches = entries.filter(({ action }) => action === "content.switch");
    expect(switches.map(({ accountId, detail }) => `${accountId} ${JSON.stringify(detail)}`).sort()).toEqual([
      'cli {"on":false}',
      `cli {"on":true,"key":"${key}","name":"laptop"}`,
      'cli {"on":true}',
    ]);
    for (const [words, sentence, code] of [
      [["--keep", "yes"], "expected on or off", 2],
      [["--key", key], "needs --keep", 2],
      [["--keep", "on", "--key", "unknown"], "no such account or API key", 3],
    ] as const) {
      const refused = await selected.run("account", "content", email, ...words);
      expect(refused).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(sentence) });
    }
    selected.remove();
  });

  test("is refused where CONTENT_LOG is not selected", async () => {
    const refused = await bench.run("account", "content", email, "--keep", "on");
    expect(refused).toMatchObject({ stdout: "", stderr: expect.stringContaining("CONTENT_LOG is off") });
    expect((await bench.run("account", "content", email)).stdout).toContain("no API key; CONTENT_LOG is off");
  });
});
