import { describe, expect, test } from "bun:test";
import { commandLine, readAudit } from "../../../src/audit/index.ts";
import { createAudited } from "../../../src/audit/record-audit.ts";
import type { GatewayError } from "../../../src/contract/index.ts";
import type { Role } from "../../../src/db/index.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { accountActions } from "../../../src/tenants/account-actions.ts";
import { changeProject, changeRoleLimits, listRoleLimits, readRoleLimits } from "../../../src/tenants/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { temporaryStore } from "../db/temporary-store.ts";

const now = Date.UTC(2030, 0, 2);
const defaults = { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 250_000 };
const configured = {
  requests_per_minute: 600,
  tokens_per_minute: 1_000_000,
  concurrent_calls: undefined,
  free_tokens_per_day: 250_000,
};
const none = {
  requests_per_minute: null,
  tokens_per_minute: null,
  concurrent_calls: null,
  free_tokens_per_day: null,
};

/** A store with an account of each role and one that nobody signs in to, each with a key. */
async function setUp() {
  const store = await temporaryStore();
  const accounts = createAccounts({ store, defaults });
  const keys = new Map<Role | "none", { key: string; accountId: string }>();
  for (const role of ["owner", "admin", "viewer", "member", "none"] as const) {
    const { id: accountId } = await accounts.create({ email: `${role}@example.org` });
    const { key } = await accounts.createKey({ accountId, name: "test" });
    keys.set(role, { key, accountId });
    if (role === "none") continue;
    const at = new Date(now).toISOString();
    const person = { id: role, account_id: accountId, email: `${role}@example.org`, name: role, role };
    const rest = { password_is_temporary: 0, email_verified: 1, image: null, created_at: at, updated_at: at };
    await store.db
      .insertInto("users")
      .values({ ...person, ...rest })
      .execute();
  }
  const of = (role: Role | "none") => keys.get(role) as { key: string; accountId: string };
  /** All limits of the next call with the key of this role. */
  const limitsOf = async (role: Role | "none") => {
    const { limits, freeTokensPerDay } = await accounts.authenticate(of(role).key);
    return {
      requests_per_minute: limits.requestsPerMinute,
      tokens_per_minute: limits.tokensPerMinute,
      concurrent_calls: limits.concurrentCalls,
      free_tokens_per_day: freeTokensPerDay,
    };
  };
  return { store, of, limitsOf };
}

describe("limits of a role", () => {
  test("are in force with the next call of its accounts alone, until they are given back", async () => {
    const { store, of, limitsOf } = await setUp();
    expect(await limitsOf("member")).toEqual(configured);
    const limits = { requests_per_minute: 5, tokens_per_minute: 900, concurrent_calls: 2, free_tokens_per_day: 0 };
    await changeRoleLimits(store, { by: commandLine, role: "member", changes: limits }, now);
    expect(await limitsOf("member")).toEqual(limits);
    for (const role of ["owner", "admin", "viewer", "none"] as const) expect(await limitsOf(role)).toEqual(configured);
    expect(await readRoleLimits(store, of("member").accountId)).toMatchObject(limits);
    expect(await readRoleLimits(store, of("none").accountId)).toEqual(none);

    const some = { requests_per_minute: null, concurrent_calls: 3 };
    await changeRoleLimits(store, { by: commandLine, role: "member", changes: some }, now + 1);
    expect(await limitsOf("member")).toEqual({ ...limits, requests_per_minute: 600, concurrent_calls: 3 });
    expect((await listRoleLimits(store)).at(3)).toEqual({
      id: "member",
      role: "member",
      ...limits,
      requests_per_minute: null,
      concurrent_calls: 3,
    });
    const { entries } = await readAudit(store, { subject: "member" });
    expect(entries.map(({ action, detail }) => [action, detail])).toEqual([
      ["role_limit.set", { requests_per_minute: null, concurrent_calls: 3 }],
      [
        "role_limit.set",
        { requests_per_minute: 5, tokens_per_minute: 900, concurrent_calls: 2, free_tokens_per_day: 0 },
      ],
    ]);
  });

  test("of accounts that nobody signs in to are those of teams and programs", async () => {
    const { store, limitsOf } = await setUp();
    await changeRoleLimits(store, { by: commandLine, role: "none", changes: { requests_per_minute: 7 } }, now);
    expect([(await limitsOf("none")).requests_per_minute, (await limitsOf("member")).requests_per_minute]).toEqual([
      7, 600,
    ]);
  });

  test("give way to those that an account has of its own, one by one", async () => {
    const { store, of, limitsOf } = await setUp();
    const { accountId } = of("viewer");
    const changes = { requests_per_minute: 5, tokens_per_minute: 900, free_tokens_per_day: 10 };
    await changeRoleLimits(store, { by: commandLine, role: "viewer", changes }, now);
    const own = { requests_per_minute: 50, free_tokens_per_day: 0 };
    await changeProject(
      store,
      { by: commandLine, accountId, changes: { requestsPerMinute: 50, freeTokensPerDay: 0 } },
      () => now,
    );
    expect(await limitsOf("viewer")).toEqual({ ...configured, tokens_per_minute: 900, ...own });
    const back = { requestsPerMinute: null, freeTokensPerDay: null };
    await changeProject(store, { by: commandLine, accountId, changes: back }, () => now);
    expect(await limitsOf("viewer")).toEqual({ ...configured, ...changes });
  });

  test("follow the role that somebody is given", async () => {
    const { store, of, limitsOf } = await setUp();
    await changeRoleLimits(store, { by: commandLine, role: "viewer", changes: { concurrent_calls: 4 } }, now);
    const actions = accountActions(
      createAudited(store, () => now),
      () => now,
    );
    expect((await limitsOf("member")).concurrent_calls).toBeUndefined();
    await actions.changeAccount(commandLine, of("member").accountId, { role: "viewer" });
    expect((await limitsOf("member")).concurrent_calls).toBe(4);
  });

  test("give no free quota to an e-mail that nobody has verified, which strangers may have opened", async () => {
    const { store, of, limitsOf } = await setUp();
    const changes = { free_tokens_per_day: 1_000_000, requests_per_minute: 9 };
    await changeRoleLimits(store, { by: commandLine, role: "member", changes }, now);
    const claim = store.db.updateTable("users").set({ email_verified: 0 });
    await claim.where("account_id", "=", of("member").accountId).execute();
    store.bumpRevision();
    expect(await limitsOf("member")).toMatchObject({ free_tokens_per_day: 0, requests_per_minute: 9 });
  });

  test("of owners are changed by owners alone, and are whole numbers", async () => {
    const { store, of, limitsOf } = await setUp();
    const admin = { accountId: of("admin").accountId, role: "admin" } as const;
    const change = (role: Role, changes: object) =>
      errorOf(changeRoleLimits(store, { by: admin, role, changes }, now)) as Promise<GatewayError>;
    expect((await change("owner", { requests_per_minute: 1 })).code).toBe("forbidden");
    for (const [changes, param] of [
      [{ requests_per_minute: 0 }, "requests_per_minute"],
      [{ concurrent_calls: 1.5 }, "concurrent_calls"],
      [{ free_tokens_per_day: -1 }, "free_tokens_per_day"],
    ] as const) {
      expect(await change("member", changes)).toMatchObject({ code: "invalid_request", param });
    }
    expect(await limitsOf("owner")).toEqual(configured);
    expect(await limitsOf("member")).toEqual(configured);
  });
});
