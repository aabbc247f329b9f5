import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/contract/index.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { temporaryStore } from "../../integration/db/temporary-store.ts";

const defaults = { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 250_000 };

async function fixture(maxKeysPerAccount?: number) {
  const store = await temporaryStore();
  const clock = { time: 1000 };
  const given = { ...defaults, ...(maxKeysPerAccount !== undefined && { maxKeysPerAccount }) };
  return { store, clock, accounts: createAccounts({ store, defaults: given, now: () => clock.time }) };
}

async function refusalOf(promise: Promise<unknown>): Promise<[string, string]> {
  const error = await promise.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(GatewayError);
  return [(error as GatewayError).code, (error as GatewayError).message];
}

describe("accounts", () => {
  test("are created, found by id and by e-mail in any case, and listed", async () => {
    const { accounts } = await fixture();
    const ada = await accounts.create({ email: " Ada@Example.org ", name: "Ada" });
    expect(ada).toEqual({
      id: expect.stringMatching(/^acc_[0-9a-f]{18}$/),
      email: "ada@example.org",
      name: "Ada",
      freeTokensPerDay: undefined,
      requestsPerMinute: undefined,
      tokensPerMinute: undefined,
      concurrentCalls: undefined,
      allowedModels: undefined,
      budget: undefined,
      isBilledAfterwards: false,
      holder: "none",
      createdAt: 1000,
      disabledAt: undefined,
    });
    const ben = await accounts.create({ email: "ben@example.org" });
    expect(await accounts.find(ada.id)).toEqual(ada);
    expect(await accounts.find("ADA@example.org")).toEqual(ada);
    expect(await accounts.find("carl@example.org")).toBeUndefined();
    expect((await accounts.list()).map(({ id }) => id).sort()).toEqual([ada.id, ben.id].sort());
  });

  test("with the same e-mail are refused", async () => {
    const { accounts } = await fixture();
    await accounts.create({ email: "ada@example.org" });
    expect(await refusalOf(accounts.create({ email: "Ada@example.org" }))).toEqual([
      "conflict",
      "Account ada@example.org already exists",
    ]);
  });

  test.each(["", "ada", "@", "a b@c", "a@b@c", `${"a".repeat(251)}@b.c`])(
    "are refused for the e-mail “%s”",
    async (email) => {
      const { accounts } = await fixture();
      expect((await refusalOf(accounts.create({ email })))[0]).toBe("invalid_request");
      expect(await accounts.list()).toEqual([]);
    },
  );

  test("have their own quota from 0, or the configured one", async () => {
    const { accounts } = await fixture();
    const { id } = await accounts.create({ email: "ada@example.org" });
    for (const tokens of [0, 5, Number.MAX_SAFE_INTEGER, undefined]) {
      await accounts.setQuota(id, tokens);
      expect((await accounts.find(id))?.freeTokensPerDay).toBe(tokens);
    }
    for (const tokens of [-1, 0.5, Number.NaN, 2 ** 53]) {
      expect((await refusalOf(accounts.setQuota(id, tokens)))[0]).toBe("invalid_request");
    }
    expect((await refusalOf(accounts.setQuota("acc_x", 5)))[0]).toBe("not_found");
  });
});

describe("keys", () => {
  test("are limited per account, also when they are created at once; revoked and expired ones do not count", async () => {
    const { accounts, clock } = await fixture(3);
    const [ada, ben] = [
      await accounts.create({ email: "ada@example.org" }),
      await accounts.create({ email: "ben@example.org" }),
    ];
    const create = (name: string, expiresAt?: number) => accounts.createKey({ accountId: ada.id, name, expiresAt });
    const outcomes = await Promise.allSettled(["a", "b", "c", "d", "e"].map((name) => create(name, 2000)));
    const created = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    expect(created).toHaveLength(3);
    const full = ["conflict", "The account has 3 API keys, its limit; revoke one that is not in use"] as [
      string,
      string,
    ];
    expect(await refusalOf(create("f"))).toEqual(full);
    await accounts.createKey({ accountId: ben.id, name: "of another account" });
    const [first, second] = created as [{ id: string; key: string }, { id: string; key: string }];
    await accounts.changeKey(second.id, { expiresAt: 3000 });
    await accounts.revokeKey(first.id);
    const imported = `sk-mg-given123-${"g".repeat(32)}`;
    await accounts.createKey({ accountId: ada.id, name: "f", key: imported });
    await accounts.createKey({ accountId: ada.id, name: "f", key: imported });
    expect(await refusalOf(create("g"))).toEqual(full);
    clock.time = 2000;
    await create("h");
    // The expired key cannot come back while three others are usable.
    const expired = created[2] as { id: string };
    expect(await refusalOf(accounts.changeKey(expired.id, { expiresAt: 9000 }))).toEqual(full);
    await accounts.revokeKey(second.id);
    await accounts.changeKey(expired.id, { expiresAt: 9000 });
  });

  test("are shown once and stored as a hash", async () => {
    const { accounts, store } = await fixture();
    const account = await accounts.create({ email: "ada@example.org" });
    const { id, key } = await accounts.createKey({ accountId: account.id, name: "first" });
    expect(key).toMatch(/^sk-mg-[0-9A-Za-z]{18}-[0-9a-f]{48}$/);
    expect(key).toStartWith(`sk-mg-${id}-`);
    const row = await store.db.selectFrom("keys").selectAll().executeTakeFirstOrThrow();
    expect(row.secret_hash).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify(row)).not.toContain(key.split("-").at(-1) as string);
  });

  test("are listed without secrets, of one account or of all", async () => {
    const { accounts } = await fixture();
    const ada = await accounts.create({ email: "ada@example.org" });
    const ben = await accounts.create({ email: "ben@example.org" });
    const first = await accounts.createKey({ accountId: ada.id, name: "first", expiresAt: 2000, allowedModels: ["m"] });
    await accounts.createKey({ accountId: ben.id, name: "second" });
    await accounts.revokeKey(first.id);
    expect((await accounts.listKeys()).length).toBe(2);
    expect(await accounts.listKeys(ada.id)).toEqual([
      {
        id: first.id,
        accountId: ada.id,
        name: "first",
        allowedModels: ["m"],
        bounds: {},
        spentNanodollars: 0,
        createdAt: 1000,
        expiresAt: 2000,
        revokedAt: 1000,
        lastUsedAt: undefined,
        createdBy: undefined,
        allowedNetworks: undefined,
        cacheMarks: "auto",
        previousUntil: undefined,
        rotatedAt: undefined,
        serviceAccountId: undefined,
        tokenSubject: undefined,
        heldFor: undefined,
      },
    ]);
  });

  test("are imported once, and refused for another account or with another secret", async () => {
    const { accounts } = await fixture();
    const ada = await accounts.create({ email: "ada@example.org" });
    const ben = await accounts.create({ email: "ben@example.org" });
    const given = { accountId: ada.id, name: "given", key: `sk-mg-boot-${"x".repeat(16)}` };
    expect(await accounts.createKey(given)).toEqual({ id: "boot", key: given.key });
    expect(await accounts.createKey(given)).toEqual({ id: "boot", key: given.key });
    expect((await accounts.listKeys()).length).toBe(1);
    expect((await refusalOf(accounts.createKey({ ...given, accountId: ben.id })))[0]).toBe("conflict");
    expect((await refusalOf(accounts.createKey({ ...given, key: `${given.key}y` })))[0]).toBe("conflict");
  });

  test.each([
    ["an unknown account", { accountId: "acc_x" }, "not_found"],
    ["a malformed key", { key: "secret" }, "invalid_request"],
    ["no name", { name: " " }, "invalid_request"],
    ["a name too long", { name: "x".repeat(201) }, "invalid_request"],
    ["a time gone by", { expiresAt: 1000 }, "invalid_request"],
    ["no time", { expiresAt: Number.NaN }, "invalid_request"],
    ["no models", { allowedModels: [] }, "invalid_request"],
    ["a model without a name", { allowedModels: ["a", ""] }, "invalid_request"],
  ])("are refused for %s", async (_what, fields, code) => {
    const { accounts } = await fixture();
    const { id } = await accounts.create({ email: "ada@example.org" });
    expect((await refusalOf(accounts.createKey({ accountId: id, name: "n", ...fields })))[0]).toBe(code);
    expect(await accounts.listKeys()).toEqual([]);
  });

  test("are revoked once, and unknown ones are reported", async () => {
    let now = 1000;
    const accounts = createAccounts({ store: await temporaryStore(), defaults, now: () => now });
    const account = await accounts.create({ email: `${"a".repeat(250)}@b.c` });
    const { id } = await accounts.createKey({ accountId: account.id, name: "n" });
    for (now of [2000, 3000]) await accounts.revokeKey(id);
    expect((await accounts.listKeys())[0]?.revokedAt).toBe(2000);
    expect(await refusalOf(accounts.revokeKey("nobody"))).toEqual([
      "not_found",
      'No API key has the id "nobody"; the id is the part between sk-mg- and the secret',
    ]);
  });
});
