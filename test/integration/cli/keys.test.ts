import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type Bench, benchNow, makeBench } from "./fixture.ts";

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
    expect(await bench.json("admin-key", "revoke", made.key)).toEqual({ id: made.id, revoked: true });
    expect(await bench.json("admin-key", "list")).toMatchObject([{ id: made.id, state: "revoked" }]);
  });

  test.each([
    [["--name", "ci", "--scopes", "everything"], "There is no scope"],
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
    expect((await bench.run("key", "rotate", id, "--grace-seconds", "99999999")).stderr).toContain("grace_seconds");
  });
});
