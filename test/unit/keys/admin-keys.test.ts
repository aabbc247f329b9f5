import { describe, expect, test } from "bun:test";
import { commandLine, readAudit } from "../../../src/audit/index.ts";
import { GatewayError, parseAdminKey, parseApiKey } from "../../../src/contract/index.ts";
import type { Role } from "../../../src/db/index.ts";
import { writePassword } from "../../../src/identity/set-password.ts";
import {
  AdminAuthenticator,
  createAccounts,
  createAdminKey,
  listAdminKeys,
  revokeAdminKey,
} from "../../../src/keys/index.ts";
import { hasScope } from "../../../src/tenants/index.ts";
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
    expect(refusal.message).toContain("is an admin key, which cannot make calls");
  });

  test("acts for who vouches for it, and the audit log names it", async () => {
    const { create, enter, store, clock } = await fixture();
    const { id, key } = await create(commandLine, { scopes: ["accounts:write", "usage:read"] });
    expect(await enter(key)).toMatchObject({ accountId: `admin-key:${id}`, role: "owner", vouchedBy: "cli" });
    clock.time += 5;
    await revokeAdminKey(store, { by: await enter(key), id }, clock.time);
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
    await revokeAdminKey(store, { by: commandLine, id: revoked.id }, clock.time);
    const expired = await create(commandLine, { expiresAt: clock.time + 1 });
    clock.time += 1;
    const bound = await create(commandLine, { allowedNetworks: ["10.0.0.0/8", "2001:db8::/32"] });
    const end = key.slice(-1) === "0" ? "1" : "0";
    for (const [token, says] of [
      ["", "No admin key was sent"],
      [apiKey, "This is not an admin key, and API keys can only make calls"],
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
    const used = (await listAdminKeys(store, clock.time)).filter(({ lastUsedAt }) => lastUsedAt !== undefined);
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

describe("the line of an admin key", () => {
  /** A key of a command, the key that it made, and the one that this made. */
  async function line() {
    const parts = await fixture();
    const { create, enter } = parts;
    const first = await create(commandLine, { scopes: ["all"] });
    const child = await create(await enter(first.key), { scopes: ["all"] });
    const grandchild = await create(await enter(child.key), { scopes: ["accounts:write", "keys:write"] });
    const other = await create(commandLine, { scopes: ["all"] });
    const revoke = (id: string, fields = {}) =>
      revokeAdminKey(parts.store, { by: commandLine, id, ...fields }, parts.now());
    return { ...parts, first, child, grandchild, other, revoke };
  }

  test("ends with a key that is revoked, from there on, and the answer and the audit log say how many", async () => {
    const { first, child, grandchild, other, revoke, enter, store, now, clock } = await line();
    clock.time += 1;
    expect(await revoke(child.id)).toMatchObject({ adminKeys: 2, invitations: 0, apiKeys: [] });
    expect((await refusalOf(enter(child.key))).message).toContain(`The admin key ${child.id} was revoked`);
    const refusal = await refusalOf(enter(grandchild.key));
    expect(refusal).toMatchObject({ code: "invalid_api_key" });
    expect(refusal.message).toContain(`ended with the admin key ${child.id} that it descends from, which was revoked`);
    for (const { key } of [first, other]) expect((await enter(key)).role).toBe("owner");
    const ended = (await listAdminKeys(store, now())).filter(({ revokedAt }) => revokedAt !== undefined);
    expect(ended.map(({ id }) => id).sort()).toEqual([child.id, grandchild.id].sort());
    expect((await readAudit(store)).entries[0]).toMatchObject({
      action: "admin_key.revoke",
      detail: { admin_keys: 2 },
    });
    expect(await revoke(child.id)).toMatchObject({ adminKeys: 0 });
    expect(await revoke(first.id)).toMatchObject({ adminKeys: 1 });
  });

  test("ends with a key that expires, and where the row of a maker is missing", async () => {
    const { first, child, grandchild, enter, store, clock } = await line();
    const set = store.db.updateTable("admin_keys").set({ expires_at: clock.time + 10 });
    await set.where("id", "=", first.id).execute();
    expect((await enter(grandchild.key)).key.id).toBe(grandchild.id);
    clock.time += 10;
    for (const { key } of [first, child, grandchild]) {
      expect((await refusalOf(enter(key))).message).toContain("expired at");
    }
    await store.db.deleteFrom("admin_keys").where("id", "=", first.id).execute();
    for (const { key } of [child, grandchild]) {
      expect((await refusalOf(enter(key))).message).toContain("created by an admin key that no longer exists");
    }
  });

  test("keeps to the networks of every key in it", async () => {
    const { grandchild, first, enter, store } = await line();
    const allowed_networks = JSON.stringify(["10.0.0.0/8"]);
    await store.db.updateTable("admin_keys").set({ allowed_networks }).where("id", "=", first.id).execute();
    expect((await refusalOf(enter(grandchild.key))).message).toContain("is not allowed from the address");
    expect((await enter(grandchild.key, "10.1.2.3")).key.id).toBe(grandchild.id);
  });

  test("has no good key that was made at the moment at which its maker ended", async () => {
    const { first, create, enter, revoke } = await line();
    const by = await enter(first.key);
    await revoke(first.id);
    const late = await create(by, { scopes: ["all"] });
    expect(await refusalOf(enter(late.key))).toMatchObject({ code: "invalid_api_key" });
  });

  test("that has ended makes room for others", async () => {
    const { create, enter, revoke, now, store } = await fixture().then((parts) => ({
      ...parts,
      revoke: (id: string) => revokeAdminKey(parts.store, { by: commandLine, id }, parts.now()),
    }));
    const first = await create(commandLine, { scopes: ["all"] });
    const by = await enter(first.key);
    for (let made = 1; made < 200; made++) await create(by, {});
    expect(await refusalOf(create(commandLine, {}))).toMatchObject({ code: "conflict" });
    expect(await revoke(first.id)).toMatchObject({ adminKeys: 200 });
    await create(commandLine, {});
    expect((await listAdminKeys(store, now())).filter(({ revokedAt }) => revokedAt === undefined)).toHaveLength(1);
  });

  test("names the API keys whose secrets it was given, and ends them when that is asked for", async () => {
    const { first, grandchild, revoke, accounts } = await line();
    const { id: accountId } = await accounts.create({ email: "ada@example.org" });
    const made = (name: string, by: string) => accounts.createKey({ accountId, name, by });
    const rotated = await made("rotated", "cli");
    await accounts.rotateKey(rotated.id, 3600, `admin-key:${first.id}`);
    const [ofChild, ofOthers] = [await made("made", `admin-key:${grandchild.id}`), await made("other", "cli")];
    const ended = await made("ended", `admin-key:${first.id}`);
    await accounts.revokeKey(ended.id);
    const { apiKeys } = await revoke(first.id);
    expect(apiKeys.map(({ name }) => name).sort()).toEqual(["made", "rotated"]);
    expect((await accounts.authenticate(ofChild.key)).keyId).toBe(ofChild.id);
    expect((await revoke(first.id, { revokesApiKeys: true })).apiKeys).toHaveLength(2);
    const refusal = await refusalOf((async () => accounts.authenticate(ofChild.key))());
    expect(refusal.message).toContain("was revoked");
    expect((await accounts.authenticate(ofOthers.key)).keyId).toBe(ofOthers.id);
  });
});

test("to write includes to read, and all includes everything", () => {
  expect(hasScope(["keys:write"], "keys", "read")).toBe(true);
  expect(hasScope(["keys:read"], "keys", "write")).toBe(false);
  expect(hasScope(["keys:write"], "usage", "read")).toBe(false);
  expect(hasScope(["all"], "audit", "write")).toBe(true);
});
