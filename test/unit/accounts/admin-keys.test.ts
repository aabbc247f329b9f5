import { describe, expect, test } from "bun:test";
import {
  AdminAuthenticator,
  commandLine,
  createAccounts,
  createAdminKey,
  hasScope,
  listAdminKeys,
  readAudit,
  revokeAdminKey,
} from "../../../src/accounts/index.ts";
import { writePassword } from "../../../src/accounts/users.ts";
import { GatewayError, parseAdminKey, parseApiKey } from "../../../src/contract/index.ts";
import type { Role } from "../../../src/db/index.ts";
import { temporaryStore } from "../../integration/db/temporary-store.ts";

const address = "192.0.2.7";

async function fixture() {
  const clock = { time: 1_000_000 };
  const store = await temporaryStore();
  const now = () => clock.time;
  const authenticator = new AdminAuthenticator(store, now);
  const accounts = createAccounts({
    store,
    defaults: { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 1 },
    now,
  });
  const person = async (role: Role) => {
    const { id } = await accounts.create({ email: `${crypto.randomUUID()}@example.org` });
    const write = { accountId: id, hash: "x", temporary: false, role };
    await store.db.transaction().execute((db) => writePassword(db, write, now()));
    return { accountId: id, role };
  };
  const create = (by: Parameters<typeof createAdminKey>[1], fields: Partial<Parameters<typeof createAdminKey>[2]>) =>
    createAdminKey(store, by, { name: "ci", scopes: ["usage:read"], ...fields }, now());
  const enter = (key: string, from = address) => authenticator.authenticate(key, from);
  return { clock, store, accounts, person, create, enter, now };
}

async function refusalOf(work: Promise<unknown>): Promise<GatewayError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(GatewayError);
  return error as GatewayError;
}

describe("an admin key", () => {
  test("is stored as a hash alone, has a prefix of its own, and is no API key", async () => {
    const { create, store, accounts } = await fixture();
    const { id, key } = await create(commandLine, { scopes: ["all"] });
    expect(key).toStartWith(`sk-mg-admin-${id}-`);
    expect(JSON.stringify(await store.db.selectFrom("admin_keys").selectAll().execute())).not.toContain(
      parseAdminKey(key)?.secret as string,
    );
    expect(parseApiKey(key)).toBeUndefined();
    const refusal = await refusalOf((async () => accounts.authenticate(key))());
    expect(refusal).toMatchObject({ code: "invalid_api_key" });
    expect(refusal.message).toContain("is an admin key, which makes no calls");
  });

  test("acts for who vouches for it, and the audit log names it", async () => {
    const { create, enter, store, clock } = await fixture();
    const { id, key } = await create(commandLine, { scopes: ["accounts:write", "usage:read"] });
    expect(await enter(key)).toMatchObject({ accountId: `admin-key:${id}`, role: "owner", vouchedBy: "cli" });
    clock.time += 5;
    await revokeAdminKey(store, await enter(key), id, clock.time);
    const { entries } = await readAudit(store);
    expect(entries).toMatchObject([
      { accountId: `admin-key:${id}`, action: "admin_key.revoke", subject: id, detail: { name: "ci" } },
      { accountId: "cli", action: "admin_key.create", detail: { scopes: "accounts:write usage:read" } },
    ]);
  });

  test("is refused when it is another kind of key, malformed, made up, wrong, revoked, expired or from elsewhere", async () => {
    const { create, enter, store, accounts, clock } = await fixture();
    const { id: accountId } = await accounts.create({ email: "ada@example.org" });
    const { key: apiKey } = await accounts.createKey({ accountId, name: "a key" });
    const { key } = await create(commandLine, {});
    const revoked = await create(commandLine, {});
    await revokeAdminKey(store, commandLine, revoked.id, clock.time);
    const expired = await create(commandLine, { expiresAt: clock.time + 1 });
    clock.time += 1;
    const bound = await create(commandLine, { allowedNetworks: ["10.0.0.0/8", "2001:db8::/32"] });
    const end = key.slice(-1) === "0" ? "1" : "0";
    for (const [token, says] of [
      ["", "No admin key was sent"],
      [apiKey, "This is no admin key, and API keys only make calls"],
      ["sk-mg-admin-x", "Incorrect admin key"],
      [`sk-mg-admin-${"a".repeat(18)}-${"b".repeat(48)}`, "Incorrect admin key"],
      [key.slice(0, -1) + end, "Incorrect admin key"],
      [revoked.key, "was revoked"],
      [expired.key, "expired at"],
      [bound.key, `is not allowed from the address ${address}`],
    ] as const) {
      const refusal = await refusalOf(enter(token));
      expect([token, refusal.code, refusal.message.includes(says)]).toEqual([token, "invalid_api_key", true]);
    }
    for (const from of ["10.1.2.3", "2001:db8::7"]) expect((await enter(bound.key, from)).key.id).toBe(bound.id);
    expect((await enter(key)).key.lastUsedAt).toBeUndefined();
    const used = (await listAdminKeys(store)).filter(({ lastUsedAt }) => lastUsedAt !== undefined);
    expect(used.map(({ id }) => id).sort()).toEqual([parseAdminKey(key)?.id as string, bound.id].sort());
  });

  test("that reaches money or roles is made by owners alone, and is worth nothing once they are none", async () => {
    const { create, enter, person, store } = await fixture();
    const [owner, admin, viewer] = [await person("owner"), await person("admin"), await person("viewer")];
    for (const scopes of [["all"], ["accounts:write"], ["keys:write", "usage:read"]]) {
      expect(await refusalOf(create(admin, { scopes }))).toMatchObject({ code: "forbidden" });
    }
    expect(await refusalOf(create(viewer, {}))).toMatchObject({ code: "forbidden" });
    const ofAdmin = await create(admin, { scopes: ["accounts:read", "providers:write", "audit:read"] });
    expect(await enter(ofAdmin.key)).toMatchObject({ role: "admin" });
    const ofOwner = await create(owner, { scopes: ["all"] });
    expect(await enter(ofOwner.key)).toMatchObject({ role: "owner" });
    const setRole = (accountId: string, role: Role) =>
      store.db.updateTable("users").set({ role }).where("account_id", "=", accountId).execute();
    await setRole(owner.accountId, "admin");
    expect(await refusalOf(enter(ofOwner.key))).toMatchObject({ code: "invalid_api_key" });
    await setRole(owner.accountId, "owner");
    await store.db.updateTable("accounts").set({ disabled_at: 1 }).where("id", "=", owner.accountId).execute();
    expect(await refusalOf(enter(ofOwner.key))).toMatchObject({ code: "invalid_api_key" });
    await setRole(admin.accountId, "member");
    expect(await refusalOf(enter(ofAdmin.key))).toMatchObject({ code: "invalid_api_key" });
  });

  test("makes none that can do more than itself, in scope, time or place", async () => {
    const { create, enter, clock } = await fixture();
    const expiresAt = clock.time + 1000;
    const allowedNetworks = ["192.0.2.0/24"];
    const parent = await create(commandLine, { scopes: ["accounts:write"], expiresAt, allowedNetworks });
    const by = await enter(parent.key);
    for (const fields of [
      { scopes: ["all"] },
      { scopes: ["accounts:read", "keys:read"] },
      { scopes: ["accounts:read"], expiresAt: expiresAt + 1 },
      { scopes: ["accounts:read"], allowedNetworks: ["0.0.0.0/0"] },
    ]) {
      expect(await refusalOf(create(by, fields))).toMatchObject({ code: "forbidden" });
    }
    const child = await create(by, { scopes: ["accounts:read", "accounts:write"] });
    const { key } = await enter(child.key);
    expect(key).toMatchObject({ expiresAt, allowedNetworks, createdBy: by.accountId });
  });

  test("needs known scopes, a name, a time to come and networks", async () => {
    const { create } = await fixture();
    for (const fields of [
      { scopes: [] },
      { scopes: ["keys"] },
      { scopes: ["usage:read", "everything:write"] },
      { name: " " },
      { expiresAt: 1 },
      { allowedNetworks: [] },
      { allowedNetworks: ["10.0.0.0/33"] },
      { allowedNetworks: ["example.org"] },
    ]) {
      expect(await refusalOf(create(commandLine, fields))).toMatchObject({ code: "invalid_request" });
    }
  });
});

test("to write includes to read, and all includes everything", () => {
  expect(hasScope(["keys:write"], "keys", "read")).toBe(true);
  expect(hasScope(["keys:read"], "keys", "write")).toBe(false);
  expect(hasScope(["keys:write"], "usage", "read")).toBe(false);
  expect(hasScope(["all"], "audit", "write")).toBe(true);
});
