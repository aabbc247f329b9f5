import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { bootstrap } from "../../../src/cli/bootstrap.ts";
import { importForeignKeys } from "../../../src/keys/index.ts";
import { dashboardHttp } from "../../unit/http/dashboard-http.ts";
import { fixture } from "../tenants/member.ts";

const dayMs = 86_400_000;
const api = "/dashboard/api";
const jsonOf = async (response: Response | Promise<Response>) => (await response).json();

describe("API keys that have ended", () => {
  test("are deleted a day later when they made no call, and otherwise when their calls are", async () => {
    const { accounts, store, clock } = await fixture();
    const { id: accountId } = await accounts.create({ email: "ada@example.org" });
    const create = async (name: string, fields = {}) =>
      (await accounts.createKey({ accountId, name, by: accountId, ...fields })).id;
    const use = (id: string) =>
      store.db.updateTable("keys").set({ last_used_at: clock.time }).where("id", "=", id).execute();
    const ends = { expiresAt: clock.time + 1000 };
    const [kept, revoked, expired] = [await create("kept"), await create("revoked"), await create("expired", ends)];
    const [usedRevoked, usedExpired] = [await create("used and revoked"), await create("used and expired", ends)];
    for (const id of [usedRevoked, usedExpired]) await use(id);
    for (const id of [revoked, usedRevoked]) await accounts.revokeKey(id);
    await store.db
      .insertInto("content_switches")
      .values({ subject: revoked, account_id: accountId, set_by: "x", set_at: 1 })
      .execute();
    const left = async (ms: number) => {
      clock.time += ms;
      const pruned = await accounts.pruneKeys(90);
      return [pruned, (await accounts.listKeys()).map(({ id }) => id).sort()];
    };
    const all = [kept, revoked, expired, usedRevoked, usedExpired].sort();
    expect(await left(dayMs - 1000)).toEqual([0, all]);
    expect(await left(2000)).toEqual([2, [kept, usedRevoked, usedExpired].sort()]);
    expect(await store.db.selectFrom("content_switches").selectAll().execute()).toEqual([]);
    // Statistics of whole days show their names until the last of these days is deleted.
    expect(await left(89 * dayMs)).toEqual([0, [kept, usedRevoked, usedExpired].sort()]);
    expect(await left(2 * dayMs)).toEqual([2, [kept]]);
    expect(await left(1000 * dayMs)).toEqual([0, [kept]]);
  });

  test("stay where a start made or imported them, which would otherwise bring back one that was revoked", async () => {
    const { accounts, store, clock } = await fixture();
    const bootstrapKey = `sk-mg-boot-${"x".repeat(16)}`;
    const start = () => bootstrap(store, accounts, { bootstrapKey, now: clock.time });
    await start();
    await accounts.revokeKey("boot");
    clock.time += 1000 * dayMs;
    await accounts.pruneKeys(90);
    await start();
    const refused = await Promise.resolve()
      .then(() => accounts.authenticate(bootstrapKey))
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "invalid_api_key", message: expect.stringContaining("was revoked") });
  });

  test("stay where they were imported, so that another import brings none back that was revoked", async () => {
    const { accounts, store, clock } = await fixture();
    const { id: accountId } = await accounts.create({ email: "ada@example.org" });
    const text = "sk-of-another-gateway-0123456789";
    const sha256 = createHash("sha256").update(text).digest("hex");
    const bring = () =>
      importForeignKeys(store, [{ accountId, name: "theirs", sha256, isRevoked: false }], {
        ...{ now: clock.time, by: "cli" },
      });
    const { ids } = await bring();
    const id = ids.get(sha256) as string;
    expect((await accounts.authenticate(text)).keyId).toBe(id);
    // After two rotations nothing but its id tells that it was imported.
    for (let times = 0; times < 2; times++) await accounts.rotateKey(id, 0, "cli");
    await accounts.revokeKey(id, "cli");
    clock.time += 1000 * dayMs;
    await accounts.pruneKeys(90);
    expect((await bring()).added).toBe(0);
    const refused = await Promise.resolve()
      .then(() => accounts.authenticate(text))
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "invalid_api_key" });
  });

  test("are listed with the usable ones as far as they were used last, so that an answer is bounded", async () => {
    const { enter, accounts, store } = await dashboardHttp();
    const [ada, admin] = [await enter("ada@example.org"), await enter("admin@example.org", "admin")];
    const { id: accountId } = ada.account;
    const { id: usable } = await accounts.createKey({ accountId, name: "usable" });
    const { id: used } = await accounts.createKey({ accountId, name: "used lately" });
    const row = await store.db.selectFrom("keys").selectAll().where("id", "=", used).executeTakeFirstOrThrow();
    const past = Array.from({ length: 300 }, (_, index) => {
      return { ...row, id: `old${index}`, name: `old ${index}`, created_at: index, revoked_at: index };
    });
    await store.db.insertInto("keys").values(past).execute();
    await store.db
      .updateTable("keys")
      .set({ revoked_at: 1, created_at: 1, last_used_at: 1e15 })
      .where("id", "=", used)
      .execute();
    for (const path of [`${api}/keys`, `${api}/admin/accounts/${accountId}/keys`]) {
      const who = path.includes("admin") ? admin : ada;
      const { data, has_more } = (await jsonOf(who.get(path))) as { data: { id: string }[]; has_more: boolean };
      const ids = data.map(({ id }) => id);
      expect([ids.length, has_more, ids.includes(usable), ids.includes(used)]).toEqual([201, true, true, true]);
      expect([ids.includes("old299"), ids.includes("old0")]).toEqual([true, false]);
    }
    // Another account's is not found, though it exists.
    const ben = await enter("ben@example.org");
    expect((await ben.remove(`${api}/keys/${usable}`)).status).toBe(404);
    expect((await ada.remove(`${api}/keys/${usable}`)).status).toBe(200);
  });

  test("count towards how many one person makes in an account within a day, which commands may exceed", async () => {
    const { accounts, clock } = await fixture();
    const { id: accountId } = await accounts.create({ email: "ada@example.org" });
    const make = async (by: string) => {
      const { id } = await accounts.createKey({ accountId, name: "k", by });
      await accounts.revokeKey(id);
    };
    for (let count = 0; count < 300; count++) await make("ada");
    const refused = await make("ada").catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "rate_limit_exceeded", retryAfterMs: dayMs });
    await make("ben");
    await make("cli");
    clock.time += dayMs;
    await make("ada");
  });
});
