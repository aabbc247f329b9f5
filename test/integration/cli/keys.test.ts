import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import { getDatabaseFile } from "../../../src/config/index.ts";
import { openStore } from "../../../src/db/index.ts";
import { AdminAuthenticator, createAdminKey } from "../../../src/keys/index.ts";
import { createProject } from "../../../src/tenants/index.ts";
import { type Bench, benchNow, makeBench, makePlugin, makeRow } from "./fixture.ts";

let bench: Bench;
beforeEach(async () => {
  bench = makeBench();
  await bench.run("account", "create", "--email", "ada@example.org");
});
afterEach(() => bench.remove());

describe("admin-key", () => {
  test("create prints the key once, list shows what it is for without it, and revoke ends it by id or key", async () => {
    const flags = [
      "--name",
      "ci",
      "--scopes",
      "accounts:write, usage:read",
      "--expires",
      "30d",
      "--networks",
      "10.0.0.0/8",
    ];
    const made = await bench.json<{ id: string; key: string }>("admin-key", "create", ...flags);
    expect(made.key).toStartWith(`sk-mg-admin-${made.id}-`);
    const listed = await bench.run("admin-key", "list", "--json");
    expect(JSON.parse(listed.stdout)).toMatchObject([
      {
        id: made.id,
        name: "ci",
        state: "active",
        scopes: ["accounts:write", "usage:read"],
        allowed_networks: ["10.0.0.0/8"],
        created_by: "cli",
        last_used_at: null,
        expires_at: new Date(benchNow + 30 * 86_400_000).toISOString(),
      },
    ]);
    expect(listed.stdout).not.toContain(made.key.split("-").at(-1));
    expect(await bench.json("admin-key", "revoke", made.key)).toEqual({
      ...{ id: made.id, revoked: true, admin_keys: 1, invitations: 0 },
      ...{ api_keys: [], api_keys_revoked: false },
    });
    expect(await bench.json("admin-key", "list")).toMatchObject([{ id: made.id, state: "revoked" }]);
  });

  test("revoke ends the keys that it made too, and names the API keys whose secrets it was given", async () => {
    const admin = await bench.json<{ id: string; key: string }>(
      "admin-key",
      "create",
      "--name",
      "ci",
      "--scopes",
      "all",
    );
    const store = await openStore({ file: getDatabaseFile({ home: bench.home }) });
    const by = await new AdminAuthenticator(store, () => benchNow).authenticate(admin.key, "127.0.0.1");
    const child = await createAdminKey(store, by, { name: "child", scopes: ["all"] }, benchNow);
    const apiKey = await bench.json<{ id: string }>(
      "key",
      "create",
      "--account",
      "ada@example.org",
      "--name",
      "theirs",
    );
    const created_by = `admin-key:${child.id}`;
    await store.db.updateTable("keys").set({ created_by }).where("id", "=", apiKey.id).execute();
    await store.close();
    const kept = await bench.run("admin-key", "revoke", admin.id);
    expect(kept.stdout).toContain(`Revoked ${admin.id}, and 1 admin key that it made`);
    expect(kept.stdout).toMatch(new RegExp(`Still active: 1 API key .*\n  ${apiKey.id}  theirs`));
    const list = await bench.json<{ id: string; state: string }[]>("admin-key", "list");
    expect(list.filter(({ id }) => id === child.id)).toMatchObject([{ state: "revoked" }]);
    expect(await bench.json("admin-key", "revoke", admin.id, "--keys", "revoke")).toMatchObject({
      admin_keys: 0,
      api_keys: [{ id: apiKey.id }],
      api_keys_revoked: true,
    });
    expect(await bench.json("admin-key", "revoke", child.id)).toMatchObject({ api_keys: [] });
    expect((await bench.run("admin-key", "revoke", admin.id, "--keys", "all")).code).toBe(2);
  });

  test.each([
    [["--name", "ci", "--scopes", "everything"], "Unknown scope"],
    [["--name", "ci", "--scopes", "all", "--networks", "home"], "is not an address or a CIDR range"],
    [["--name", "ci"], "--scopes"],
  ])("create %j is refused with a sentence", async (flags, says) => {
    const refused = await bench.run("admin-key", "create", ...flags);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain(says);
    expect(await bench.json("admin-key", "list")).toEqual([]);
  });
});

describe("key", () => {
  test("rotate prints another secret and until when the old one works; networks are set and removed", async () => {
    const flags = ["--account", "ada@example.org", "--name", "laptop", "--networks", "10.0.0.0/8,::1"];
    const { id, key } = await bench.json<{ id: string; key: string }>("key", "create", ...flags);
    const rotated = await bench.json<{ id: string; key: string; previous_until: string }>(
      "key",
      "rotate",
      key,
      "--grace-seconds",
      "60",
    );
    expect(rotated).toEqual({
      id,
      key: expect.stringContaining(`sk-mg-${id}-`),
      previous_until: new Date(benchNow + 60_000).toISOString(),
    });
    expect(rotated.key).not.toBe(key);
    expect(await bench.json("key", "list")).toMatchObject([{ id, allowed_networks: ["10.0.0.0/8", "::1"] }]);
    expect(await bench.json("key", "set", id, "--networks", "none")).toMatchObject({ allowed_networks: null });
    expect(await bench.json("key", "set", id, "--cache-marks", "off")).toMatchObject({ cache_marks: "off" });
    expect(await bench.json("key", "list")).toMatchObject([{ id, cache_marks: "off" }]);
    expect((await bench.run("key", "set", id, "--cache-marks", "some")).stderr).toContain("auto or off");
    expect((await bench.run("key", "rotate", id, "--grace-seconds", "99999999")).stderr).toContain("grace_seconds");
  });
});

describe("role", () => {
  test("set changes the limits that are named, none gives the configured one back, and list shows every role", async () => {
    const limitsOf = (role: string) => ({
      id: role,
      object: "organization.role_limit",
      role,
      requests_per_minute: null,
      tokens_per_minute: null,
      concurrent_calls: null,
      free_tokens_per_day: null,
    });
    const set = (...flags: string[]) => bench.json("role", "set", "member", ...flags);
    await set("--requests-per-minute", "60", "--concurrent-calls", "4");
    const changed = { ...limitsOf("member"), concurrent_calls: 4, free_tokens_per_day: 0 };
    expect(await set("--requests-per-minute", "none", "--free-tokens-per-day", "0")).toEqual(changed);
    expect(await bench.json("role", "list")).toEqual([
      limitsOf("owner"),
      limitsOf("admin"),
      limitsOf("viewer"),
      changed,
      limitsOf("none"),
    ]);
    expect(await bench.json("role", "show", "member")).toEqual(changed);
    expect((await bench.run("role", "list")).stdout).toMatch(/^member +4 +0$/m);
  });

  test.each([
    [["member"], "Nothing to change"],
    [["guest", "--concurrent-calls", "1"], "There is no role guest, expected one of owner,"],
    [["member", "--concurrent-calls", "0"], "a whole number of 1 to"],
  ])("set with %p is refused", async (words, message) => {
    const { code, stderr } = await bench.run("role", "set", ...words);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe("limit", () => {
  test("set, list, show, change and remove work on the limits of a model for each account, for one and for a key", async () => {
    const { id: keyId } = await bench.json<{ id: string }>(
      ...["key", "create", "--account", "ada@example.org", "--name", "laptop"],
    );
    const set = (...flags: string[]) => bench.json<{ id: string; model: string }>("limit", "set", "gpt-4.1", ...flags);
    const each = await set("--requests-per-minute", "60", "--tokens-per-minute", "9000");
    await set("--account", "ada@example.org", "--requests-per-minute", "600");
    await set("--key", keyId, "--concurrent-calls", "2");
    const none = {
      account: null,
      api_key_id: null,
      requests_per_minute: null,
      tokens_per_minute: null,
      concurrent_calls: null,
    };
    const account = "ada@example.org";
    expect(await bench.json("limit", "list")).toMatchObject([
      { ...none, id: each.id, model: each.model, requests_per_minute: 60, tokens_per_minute: 9000 },
      { ...none, account, requests_per_minute: 600 },
      { ...none, account, api_key_id: keyId, concurrent_calls: 2 },
    ]);
    expect((await bench.run("limit", "list")).stdout).toMatch(/^each +rl_/m);
    const changed = await bench.json(
      "limit",
      "change",
      each.id,
      "--tokens-per-minute",
      "none",
      "--concurrent-calls",
      "3",
    );
    expect(changed).toMatchObject({ requests_per_minute: 60, tokens_per_minute: null, concurrent_calls: 3 });
    expect(await bench.json("limit", "show", each.id)).toEqual(changed);
    expect(await set("--requests-per-minute", "30")).toEqual(each);
    expect(await bench.json("limit", "remove", each.id)).toEqual({ id: each.id, deleted: true });
    expect(await bench.json<object[]>("limit", "list", "--account", account)).toHaveLength(2);
    expect((await bench.run("limit", "remove", each.id)).code).toBe(3);
  });

  test("of a team are listed and found by its name, and those of a model by what its provider calls it", async () => {
    const row = makeRow({ upstreamId: "acme-one", aliases: ["acme-one"] });
    const named = makeBench({ plugins: [makePlugin("acme", [row])] });
    const createTeam = async () => {
      const store = await openStore({ file: getDatabaseFile(named) });
      try {
        return await createProject(store, { by: commandLine, name: "Search", changes: {} }, Date.now);
      } finally {
        await store.close();
      }
    };
    try {
      const team = await createTeam();
      await named.json("limit", "set", "acme-one", "--account", "Search", "--requests-per-minute", "5");
      const shown = { model: "acme-one", account: "Search", requests_per_minute: 5 };
      for (const account of ["Search", team]) {
        expect(await named.json("limit", "list", "--account", account)).toMatchObject([shown]);
      }
      expect((await named.run("limit", "list", "--account", "Serch")).stderr).toContain("did you mean Search?");
      await createTeam();
      expect((await named.run("limit", "list", "--account", "Search")).stderr).toContain("2 teams have the name");
    } finally {
      named.remove();
    }
  });

  test.each([
    [[], "No limit is set", 2],
    [["--requests-per-minute", "0"], "expected a whole number from 1", 2],
    [["--requests-per-minute", "1", "--key", "key_x"], "There is no API key key_x", 3],
    [["--requests-per-minute", "1", "--key", "key_x", "--account", "a"], "exclude each other", 2],
  ])("set with %p is refused", async (flags, message, exitCode) => {
    const { code, stderr } = await bench.run("limit", "set", "gpt-4.1", ...flags);
    expect([code, stderr]).toEqual([exitCode, expect.stringContaining(message)]);
  });

  test("set warns of a model that the catalogue does not have", async () => {
    const { code, stderr } = await bench.run("limit", "set", "gpt-4.11", "--requests-per-minute", "1");
    expect([code, stderr]).toEqual([0, expect.stringContaining("there is no model gpt-4.11")]);
  });
});
