import { describe, expect, test } from "bun:test";
import { type Caller, GatewayError } from "../../../src/contract/index.ts";
import type { Store } from "../../../src/db/index.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { engine, temporaryFile, temporaryStore, untilHeard } from "../../integration/db/temporary-store.ts";
import { errorOf } from "../../support/error-of.ts";
import { until } from "../../support/until.ts";

const defaults = { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 250_000 };

async function fixture(file?: string) {
  const clock = { time: 1_000_000 };
  const store = await temporaryStore(file);
  const accounts = createAccounts({ store, defaults, now: () => clock.time });
  return { store, accounts, clock };
}

async function holder() {
  const parts = await fixture();
  const account = await parts.accounts.create({ email: "ada@example.org" });
  const made = await parts.accounts.createKey({ accountId: account.id, name: "first" });
  return { ...parts, account, ...made };
}

async function refusalOf(work: () => Caller | Promise<Caller>): Promise<GatewayError> {
  try {
    await work();
  } catch (error) {
    expect(error).toBeInstanceOf(GatewayError);
    return error as GatewayError;
  }
  throw new Error("The key was taken, and a refusal was expected");
}

describe("authenticate", () => {
  test("returns the caller of a key with the limits that apply", async () => {
    const { accounts, account, id, key } = await holder();
    const { requestsPerMinute, tokensPerMinute, freeTokensPerDay } = defaults;
    const caller = {
      accountId: account.id,
      keyId: id,
      limits: { requestsPerMinute, tokensPerMinute },
      freeTokensPerDay,
    };
    expect(await accounts.authenticate(key)).toEqual(caller);
    expect(await accounts.authenticate(key)).toEqual(caller);
  });

  test("returns a key's own limits beside those of its account", async () => {
    const { accounts, account, store, id, key } = await holder();
    await store.db
      .updateTable("accounts")
      .set({ requests_per_minute: 100, concurrent_calls: 3 })
      .where("id", "=", account.id)
      .execute();
    await store.db
      .updateTable("keys")
      .set({ requests_per_minute: 500, tokens_per_minute: 7 })
      .where("id", "=", id)
      .execute();
    store.bumpRevision();
    const { limits, keyLimits } = await accounts.authenticate(key);
    expect(limits).toEqual({
      requestsPerMinute: 100,
      tokensPerMinute: defaults.tokensPerMinute,
      concurrentCalls: 3,
    });
    expect(keyLimits).toEqual({ requestsPerMinute: 500, tokensPerMinute: 7 });
  });

  test("returns the allowed models of a key, or none for all", async () => {
    const { accounts, account, key } = await holder();
    expect((await accounts.authenticate(key)).allowedModels).toBeUndefined();
    const narrow = await accounts.createKey({ accountId: account.id, name: "n", allowedModels: ["a", "b"] });
    expect((await accounts.authenticate(narrow.key)).allowedModels).toEqual(new Set(["a", "b"]));
  });

  test.each([
    ["nothing", "", /^Missing API key: /],
    ["a word", "hello", /^Incorrect API key provided: hel\*\*\* is malformed; expected sk-mg-<id>-<secret>/],
    [
      "a key of another service",
      "sk-proj-abcdefghijklmnop",
      /^Incorrect API key provided: sk-proj-\*\*\*mnop is malformed/,
    ],
    ["a short secret", "sk-mg-abcd1234-short", /^Incorrect API key provided: sk-mg-ab\*\*\*hort is malformed/],
    [
      "a line break",
      `sk-mg-abcd1234-${"a".repeat(48)}\n`,
      /^Incorrect API key provided: sk-mg-ab\*\*\*aaa\? is malformed/,
    ],
    [
      "a key that nobody has",
      `sk-mg-abcd1234-${"a".repeat(48)}`,
      /^Incorrect API key provided: sk-mg-ab\*\*\*aaaa does not exist; /,
    ],
  ])("refuses %s with 401", async (_what, token, message) => {
    const { accounts } = await fixture();
    for (const _twice of [1, 2]) {
      const refusal = await refusalOf(() => accounts.authenticate(token));
      expect([refusal.code, refusal.status]).toEqual(["invalid_api_key", 401]);
      expect(refusal.message).toMatch(message);
    }
  });

  test("refuses the keys of a disabled account until it is enabled again", async () => {
    const { accounts, account, key } = await holder();
    await accounts.authenticate(key);
    await accounts.setDisabled(account.id, true);
    expect((await refusalOf(() => accounts.authenticate(key))).message).toMatch(/account of this API key is disabled/);
    await accounts.setDisabled(account.id, false);
    expect(await accounts.authenticate(key)).toMatchObject({ accountId: account.id });
  });

  test("answers a wrong secret like an unknown id, and reports revoked and expired only with the right secret", async () => {
    const { accounts, account, id, key, clock } = await holder();
    const wrong = `sk-mg-${id}-${"0".repeat(48)}`;
    // The id is as long as the real one and begins like it, so that what is shown of both is the same.
    const unknown = await refusalOf(() => accounts.authenticate(`sk-mg-${id.slice(0, -4)}zzzz-${"0".repeat(48)}`));
    expect((await refusalOf(() => accounts.authenticate(wrong))).message).toBe(unknown.message);
    await accounts.revokeKey(id);
    expect((await refusalOf(() => accounts.authenticate(wrong))).message).toBe(unknown.message);
    expect((await refusalOf(() => accounts.authenticate(key))).message).toBe(
      `Incorrect API key provided: ${id} was revoked; use another key`,
    );
    const short = await accounts.createKey({ accountId: account.id, name: "s", expiresAt: clock.time + 1000 });
    clock.time += 999;
    expect((await accounts.authenticate(short.key)).keyId).toBe(short.id);
    clock.time += 1;
    expect((await refusalOf(() => accounts.authenticate(short.key))).message).toBe(
      `Incorrect API key provided: ${short.id} expired at 1970-01-01T00:16:41.000Z; use another key`,
    );
  });

  test("sees a new quota, a new key and a revocation of its own process at once", async () => {
    const { accounts, account, id, key } = await holder();
    await accounts.authenticate(key);
    await accounts.setQuota(account.id, 7);
    expect((await accounts.authenticate(key)).freeTokensPerDay).toBe(7);
    await accounts.setQuota(account.id, undefined);
    expect((await accounts.authenticate(key)).freeTokensPerDay).toBe(250_000);
    const given = `sk-mg-given123-${"g".repeat(32)}`;
    await refusalOf(() => accounts.authenticate(given));
    await accounts.createKey({ accountId: account.id, name: "given", key: given });
    expect((await accounts.authenticate(given)).keyId).toBe("given123");
    await accounts.revokeKey(id);
    await refusalOf(() => accounts.authenticate(key));
  });

  test("saves last-used times in batches without clearing the cache of keys", async () => {
    const { accounts, account, store, clock, key, id } = await holder();
    const others = 501;
    const keys = [key];
    for (let made = 0; made < others; made++) {
      keys.push((await accounts.createKey({ accountId: account.id, name: `key ${made}` })).key);
    }
    const { id: idle } = await accounts.createKey({ accountId: account.id, name: "idle" });
    const { revision } = store;
    for (const used of keys) await accounts.authenticate(used);
    await refusalOf(() => accounts.authenticate(`sk-mg-${idle}-${"0".repeat(48)}`));
    await accounts.saveLastUsed();
    const times = new Map((await accounts.listKeys()).map((known) => [known.id, known.lastUsedAt]));
    expect(times.get(idle)).toBeUndefined();
    expect([...times.values()].filter((at) => at === clock.time)).toHaveLength(others + 1);
    expect(store.revision).toBe(revision);
    const before = clock.time;
    clock.time += 1000;
    await accounts.saveLastUsed();
    expect((await accounts.listKeys()).find((known) => known.id === id)?.lastUsedAt).toBe(before);
  });

  test("retries last-used times that could not be saved, and never moves one back", async () => {
    const { store, account, accounts: making } = await holder();
    const { key, id } = await making.createKey({ accountId: account.id, name: "second" });
    let broken = true;
    const shaky: Store = Object.create(store, {
      db: {
        get() {
          if (broken) throw new Error("disk I/O error");
          return store.db;
        },
      },
    });
    let time = 5000;
    const accounts = createAccounts({ store: shaky, defaults, now: () => time });
    await accounts.authenticate(key);
    expect((await errorOf(accounts.saveLastUsed())).message).toContain("disk I/O error");
    broken = false;
    const lastUse = async () => (await making.listKeys()).find((known) => known.id === id)?.lastUsedAt;
    await accounts.saveLastUsed();
    expect(await lastUse()).toBe(5000);
    time = 4000;
    await accounts.authenticate(key);
    await accounts.saveLastUsed();
    expect(await lastUse()).toBe(5000);
  });

  test("sees a revocation by another process after sync", async () => {
    const file = temporaryFile();
    const mine = await fixture(file);
    const outside = await fixture(file);
    const account = await mine.accounts.create({ email: "ada@example.org" });
    const { id, key } = await mine.accounts.createKey({ accountId: account.id, name: "first" });
    await mine.accounts.authenticate(key);
    await outside.accounts.revokeKey(id);
    if (engine === "sqlite") {
      await mine.accounts.authenticate(key);
      await untilHeard(mine.store);
      mine.accounts.sync();
    } else {
      const isRefused = () =>
        Promise.resolve(mine.accounts.authenticate(key)).then(
          () => false,
          () => true,
        );
      await until(isRefused);
    }
    await refusalOf(() => mine.accounts.authenticate(key));
  });

  test("reads only the changed key again after a change of one key", async () => {
    const { store, accounts: making, account, id, key } = await holder();
    const others = await Promise.all(["b", "c"].map((name) => making.createKey({ accountId: account.id, name })));
    const read: string[] = [];
    const counting: Store = Object.create(store, {
      readKey: {
        value: (keyId: string, isUnproven?: boolean) => {
          read.push(keyId);
          return store.readKey(keyId, isUnproven);
        },
      },
    });
    const accounts = createAccounts({ store: counting, defaults, now: () => 1_000_000 });
    const authenticateAll = async () => {
      for (const each of [key, ...others.map((other) => other.key)]) await accounts.authenticate(each);
    };
    await authenticateAll();
    await authenticateAll();
    expect(read).toHaveLength(3);
    const { revision } = store;
    await making.changeKey(id, { bounds: { requestsPerMinute: 5 } });
    await making.createKey({ accountId: account.id, name: "d" });
    await authenticateAll();
    expect(read.slice(3)).toEqual([id]);
    expect((await accounts.authenticate(key)).keyLimits?.requestsPerMinute).toBe(5);
    expect(store.revision).toBe(revision);
    await making.setQuota(account.id, 7);
    await authenticateAll();
    expect(read.slice(4).sort()).toEqual([id, ...others.map((other) => other.id)].sort());
  });

  test("does not cache a key that was read before a change of it", async () => {
    const { store, accounts: making, id, key } = await holder();
    const answers: (() => void)[] = [];
    const slow: Store = Object.create(store, {
      readKey: {
        value: async (keyId: string) => {
          const record = await store.readKey(keyId);
          await new Promise<void>((resolve) => answers.push(resolve));
          return record;
        },
      },
    });
    const accounts = createAccounts({ store: slow, defaults, now: () => 1_000_000 });
    const first = Promise.resolve(accounts.authenticate(key));
    await until(() => answers.length === 1);
    await making.revokeKey(id);
    answers[0]?.();
    expect((await first).keyId).toBe(id);
    const second = refusalOf(() => accounts.authenticate(key));
    await until(() => answers.length === 2);
    answers[1]?.();
    expect((await second).message).toContain("was revoked");
  });

  test("returns 503 and caches nothing while the store cannot be read", async () => {
    const file = temporaryFile();
    const { accounts: making } = await fixture(file);
    const account = await making.create({ email: "ada@example.org" });
    const { key } = await making.createKey({ accountId: account.id, name: "first" });
    const store = await temporaryStore(file);
    let broken = true;
    const shaky: Store = Object.create(store, {
      readKey: {
        value: (id: string) => {
          if (broken) throw new Error("disk I/O error");
          return store.readKey(id);
        },
      },
    });
    const accounts = createAccounts({ store: shaky, defaults });
    const refusal = await refusalOf(() => accounts.authenticate(key));
    expect([refusal.code, refusal.status, refusal.retryAfterMs]).toEqual(["unavailable", 503, 1000]);
    broken = false;
    expect((await accounts.authenticate(key)).accountId).toBe(account.id);
  });
});

describe("a rotated key", () => {
  const secretOf = (key: string) => key.split("-").at(-1);

  test("works with both secrets until the grace ends, and with the new one after it", async () => {
    const { accounts, account, clock } = await holder();
    const { id, key } = await accounts.createKey({ accountId: account.id, name: "a key", by: "cli" });
    expect(await accounts.authenticate(key)).toMatchObject({ keyId: id });
    const rotated = await accounts.rotateKey(id, 60, "cli");
    expect(rotated).toMatchObject({ id, previousUntil: clock.time + 60_000 });
    expect(secretOf(rotated.key)).not.toBe(secretOf(key));
    clock.time += 59_999;
    for (const secret of [key, rotated.key, key]) {
      expect(await accounts.authenticate(secret)).toMatchObject({ keyId: id });
    }
    clock.time += 1;
    const refusal = await refusalOf(() => accounts.authenticate(key));
    expect(refusal.message).toContain(`${id} was rotated, and its old secret ended at`);
    expect(await accounts.authenticate(rotated.key)).toMatchObject({ keyId: id });
  });

  test("loses the old secret at once without a grace, and the oldest one with the next rotation", async () => {
    const { accounts, account } = await holder();
    const { id, key } = await accounts.createKey({ accountId: account.id, name: "a key", by: "cli" });
    await accounts.authenticate(key);
    const second = await accounts.rotateKey(id, 0, "cli");
    expect(await refusalOf(() => accounts.authenticate(key))).toMatchObject({ code: "invalid_api_key" });
    const third = await accounts.rotateKey(id, 600, "cli");
    expect((await refusalOf(() => accounts.authenticate(key))).message).toContain("does not exist");
    for (const { key: secret } of [second, third]) {
      expect(await accounts.authenticate(secret)).toMatchObject({ keyId: id });
    }
  });

  test("is heard of by every process that shares the database, also when its grace ends", async () => {
    const file = temporaryFile();
    const [one, other] = [await fixture(file), await fixture(file)];
    const account = await one.accounts.create({ email: "ada@example.org" });
    const { id, key } = await one.accounts.createKey({ accountId: account.id, name: "a key", by: "cli" });
    expect(await other.accounts.authenticate(key)).toMatchObject({ keyId: id });
    const rotated = await one.accounts.rotateKey(id, 60, "cli");
    if (engine === "sqlite") {
      await untilHeard(other.store);
      other.accounts.sync();
    } else {
      const isHeard = async () =>
        (await refusalOf(() => other.accounts.authenticate(rotated.key)).catch(() => undefined)) === undefined;
      await until(isHeard);
    }
    expect(await other.accounts.authenticate(rotated.key)).toMatchObject({ keyId: id });
    expect(await other.accounts.authenticate(key)).toMatchObject({ keyId: id });
    other.clock.time += 60_000;
    expect(await refusalOf(() => other.accounts.authenticate(key))).toMatchObject({ code: "invalid_api_key" });
    expect(await other.accounts.authenticate(rotated.key)).toMatchObject({ keyId: id });
  });

  test("must not have ended, nor be one that the environment would bring back", async () => {
    const { accounts, account, id: ofStart } = await holder();
    const { id } = await accounts.createKey({ accountId: account.id, name: "a key", by: "cli" });
    await accounts.revokeKey(id);
    const wrong = async (work: Promise<unknown>) => (await refusalOf(async () => (await work) as Caller)).code;
    expect(await wrong(accounts.rotateKey(id, 60))).toBe("conflict");
    expect(await wrong(accounts.rotateKey(ofStart, 60))).toBe("conflict");
    expect(await wrong(accounts.rotateKey("unknown", 60))).toBe("not_found");
    expect(await wrong(accounts.rotateKey(id, -1))).toBe("invalid_request");
  });
});
