import { expect } from "bun:test";
import { createAccounts } from "../../../../src/keys/index.ts";
import { creditWallet } from "../../../../src/ledger/index.ts";
import { queryPostgres } from "../../../support/postgres.ts";
import { node, postgresTest, until } from "./fixture.ts";

const defaults = { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 250_000 };

type Accounts = ReturnType<typeof createAccounts>;

async function isTaken(accounts: Accounts, key: string): Promise<boolean> {
  return Promise.resolve()
    .then(() => accounts.authenticate(key))
    .then(
      () => true,
      () => false,
    );
}

postgresTest("a key revoked on one node is refused on the others soon, without their asking", async () => {
  const { store, url } = await node();
  const [here, there] = [store, (await node(url)).store].map((it) => createAccounts({ store: it, defaults }));
  if (here === undefined || there === undefined) throw new Error("Two nodes were made");
  const account = await here.create({ email: "ada@example.org" });
  const { id, key } = await here.createKey({ accountId: account.id, name: "first" });
  expect(await isTaken(there, key)).toBe(true);
  await here.revokeKey(id);
  await until("the key is refused", async () => !(await isTaken(there, key)));
});

postgresTest("a change whose notice was lost is found by the poll", async () => {
  const { store, url } = await node();
  const before = store.revision;
  await queryPostgres(url, "update revisions set revision = revision + 1");
  expect(store.revision).toBe(before);
  await until("the poll has found it", () => store.pollExternalChange());
  expect(store.revision).toBe(before + 1);
  expect(store.pollExternalChange()).toBe(false);
});

postgresTest("a node whose connection broke takes all copies for changed when it is back", async () => {
  const { store, url } = await node();
  const before = store.revision;
  await queryPostgres(
    url,
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'modelgate heartbeat%' and datname = current_database()",
  );
  await until("it has heard", () => store.pollExternalChange());
  expect(store.revision).toBeGreaterThan(before);
  expect(await store.readKey("none")).toBeUndefined();
});

postgresTest("own changes are counted at once and not heard of again; a change that fails is none", async () => {
  const { store, url } = await node();
  const other = (await node(url)).store;
  await store.db
    .insertInto("accounts")
    .values({
      id: "a",
      email: "a",
      name: null,
      free_tokens_per_day: null,
      requests_per_minute: null,
      tokens_per_minute: null,
      created_at: 0,
    })
    .execute();
  const before = store.revision;
  await creditWallet(store, { accountId: "a", nanodollars: 5, note: "n" });
  expect(store.revision).toBe(before + 1);
  await until("the other has heard", () => other.pollExternalChange());
  await creditWallet(store, { accountId: "nobody", nanodollars: 5, note: "n" }).catch(() => undefined);
  for (let polls = 0; polls < 5; polls++) {
    expect(store.pollExternalChange()).toBe(false);
    await store.readKey("none");
  }
  expect(store.revision).toBe(before + 1);
  expect(other.pollExternalChange()).toBe(false);
});

postgresTest("a change of one key leaves everything else cached, on the other nodes too", async () => {
  const { store, url } = await node();
  const other = (await node(url)).store;
  const [here, there] = [store, other].map((it) => createAccounts({ store: it, defaults })) as [Accounts, Accounts];
  const account = await here.create({ email: "ada@example.org" });
  const { id, key } = await here.createKey({ accountId: account.id, name: "first" });
  expect(await isTaken(there, key)).toBe(true);
  // What other changes left to be noticed.
  await until("the other is up to date", () => !other.pollExternalChange());
  const before = [store.revision, other.revision];
  for (let change = 1; change <= 20; change++) {
    await here.changeKey(id, { bounds: { requestsPerMinute: change } });
    other.pollExternalChange();
  }
  await here.revokeKey(id);
  await until("the key is refused", async () => !(await isTaken(there, key)));
  for (let polls = 0; polls < 5; polls++) {
    expect(other.pollExternalChange()).toBe(false);
    await other.readKey("none");
  }
  expect([store.revision, other.revision]).toEqual(before);
});

postgresTest("a call that is to be ended is told to all nodes", async () => {
  const { store, url } = await node();
  const other = (await node(url)).store;
  const ends: string[] = [];
  store.onEndCall?.((id) => ends.push(`here ${id}`));
  other.onEndCall?.((id) => ends.push(`there ${id}`));
  await store.endCall?.("call-1");
  await until("both were told", () => ends.length === 2);
  expect(ends.sort()).toEqual(["here call-1", "there call-1"]);
  expect(other.pollExternalChange()).toBe(false);
});
