import { afterAll, beforeAll, describe, expect } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { GatewayError } from "../../../../src/contract/index.ts";
import { openStore, type Store } from "../../../../src/db/index.ts";
import { creditWallet, ProcessLedger, readWalletState, verifyLedger } from "../../../../src/ledger/index.ts";
import { errorOf } from "../../../support/error-of.ts";
import { addPayers } from "../../../support/payers.ts";
import {
  backUp,
  cutOff,
  newDatabase,
  type PostgresServer,
  promote,
  queryPostgres,
  restore,
  restoreInPlace,
  startPostgres,
  startStandby,
  whyNoPostgres,
} from "../../../support/postgres.ts";
import { type SlowProxy, startSlowProxy } from "../../../support/slow-proxy.ts";
import { node, postgresTest, until } from "../../db/postgres/fixture.ts";
import { addAccount, createAdmission, createSettlement } from "../fixture.ts";

/** More than the numbers that PostgreSQL keeps ahead of a sequence in its log. */
const count = 40;
const [before, after] = ["before", "after"].map((when) =>
  Array.from({ length: count }, (_, i) => `acc_${when}_${i}`),
) as [string[], string[]];
const keyOf = (accountId: string) => `key of ${accountId}`;

interface Gateway {
  readonly store: Store;
  readonly ledger: ProcessLedger;
  readonly events: string[];
}

const opened: Gateway[] = [];
afterAll(async () => {
  for (const { store } of opened) await store.close();
});

async function open(url: string): Promise<Gateway> {
  const events: string[] = [];
  const report = (event: string, { reason }: Record<string, unknown>) => void events.push(`${event} ${reason}`);
  const store = await openStore({ url, timeoutMs: 10_000, report });
  const gateway = { store, ledger: new ProcessLedger({ store }), events };
  opened.push(gateway);
  return gateway;
}

/** Makes a call from its hold to its charge; returns the code of the refusal. */
async function call({ ledger }: Gateway, accountId: string, premium: boolean): Promise<string> {
  const admission = createAdmission({ callId: crypto.randomUUID(), accountId, keyId: keyOf(accountId), premium });
  try {
    await ledger.admit(admission);
  } catch (error) {
    return (error as GatewayError).code;
  }
  await ledger.settle(createSettlement(admission.callId));
  return "settled";
}

/**
 * Accounts that made their first calls shortly before the database went back in time, and have no money. Others, whose first
 * entries are made after it, have some.
 */
async function expectOwnWallets(quiet: Gateway, url: string, goBack: () => Promise<void>): Promise<void> {
  const { store } = quiet;
  for (const id of [...before, ...after, "acc_1"]) await addPayers(store, { [id]: [keyOf(id)] });
  await addAccount(store, "acc_1", 1e9);
  expect(await call(quiet, "acc_1", false)).toBe("settled");
  await goBack();
  await until("it is connected to the database", async () => store.trouble?.() === undefined);
  const other = await open(url);
  for (const id of after) {
    await creditWallet(other.store, { accountId: id, nanodollars: 100, note: "top-up" });
  }
  const outcomes = new Set<string>();
  for (const id of before) outcomes.add(await call(quiet, id, true));
  expect(outcomes).toEqual(new Set(["insufficient_balance"]));
  for (const id of after) {
    expect(await readWalletState(other.store, id)).toEqual({ balanceNanodollars: 100, heldNanodollars: 0 });
  }
  for (const id of [...before, ...after]) expect(await call(quiet, id, false)).toBe("settled");
  const rows = await other.store.db.selectFrom("calls").select(["account_id", "key_id", "model"]).execute();
  const strays = rows.filter((row) => row.key_id !== keyOf(row.account_id) || row.model !== "model-1");
  expect(strays).toEqual([]);
  const { differences } = await verifyLedger(other.store);
  expect(differences).toEqual([]);
}

describe("a gateway that made no call while its database went back in time charges nobody for another", () => {
  const folder = mkdtempSync(join(tmpdir(), "modelgate-backup-"));
  let server: PostgresServer;
  let proxy: SlowProxy;
  beforeAll(async () => {
    if (whyNoPostgres !== undefined) return;
    server = await startPostgres();
    proxy = await startSlowProxy(server.port);
  });
  afterAll(async () => {
    await proxy?.stop();
    await server?.remove();
    rmSync(folder, { recursive: true });
  });

  postgresTest("a backup was restored while it stayed up", async () => {
    const url = await newDatabase(server);
    const quiet = await open(url);
    await expectOwnWallets(quiet, url, async () => {
      await backUp(url, join(folder, "backup"));
      for (const id of before) expect(await call(quiet, id, false)).toBe("settled");
      await restore(url, join(folder, "backup"));
    });
    const changes = quiet.events.filter((event) => event.startsWith("database_changed"));
    expect(changes.length).toBeGreaterThan(0);
    expect(changes[0]).toMatch(/^database_changed its oid of the database is \d+, it was \d+/);
  });

  postgresTest("a standby was promoted that had not received the last calls", async () => {
    const url = await newDatabase(server);
    const standby = await startStandby(server);
    try {
      const behindProxy = url.replace(`:${server.port}/`, `:${proxy.port}/`);
      const quiet = await open(behindProxy);
      await expectOwnWallets(quiet, behindProxy, async () => {
        const isThere = async () => {
          const [row] = await queryPostgres<{ count: number }>(
            url.replace(`:${server.port}/`, `:${standby.port}/`),
            "select count(*)::int from calls",
          ).catch(() => []);
          return row !== undefined && row.count > 0;
        };
        await until("the standby has the first call", isThere);
        await cutOff(standby);
        for (const id of before) expect(await call(quiet, id, false)).toBe("settled");
        await server.kill();
        await promote(standby);
        proxy.targetPort = standby.port;
        proxy.cut();
      });
      expect(quiet.events.find((event) => event.startsWith("database_changed"))).toMatch(
        /^database_changed its timeline is 2, it was 1/,
      );
    } finally {
      for (const { store } of opened.splice(0)) await store.close();
      await standby.remove();
      await server.start();
    }
  });
});

postgresTest(
  "rows of payers that went while the connection lives are made anew, and who pays is the same",
  async () => {
    const { store, url } = await node();
    await addAccount(store, "acc_1", 1000);
    await addAccount(store, "acc_2", 1000);
    const ledger = new ProcessLedger({ store });
    const [running, next, free] = [createAdmission(), createAdmission(), createAdmission({ premium: false })];
    await ledger.admit(running);
    const lose = () => queryPostgres(url, "delete from payers");
    await lose();
    await ledger.settle(createSettlement(running.callId));
    await lose();
    await ledger.admit(next);
    await lose();
    await ledger.settle(createSettlement(next.callId));
    await lose();
    await ledger.admit(free);
    await ledger.settle(createSettlement(free.callId));
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 980, heldNanodollars: 0 });
    // The other account has made no call since, so that nobody has written its row.
    await creditWallet(store, { accountId: "acc_2", nanodollars: 1, note: "again" });
    expect(await verifyLedger(store)).toMatchObject({ differences: [], counts: { calls: 3, open: 0 } });
  },
);

postgresTest("a hold for a key that the database lost is refused, and keys are looked up anew", async () => {
  const { store, url } = await node();
  await addAccount(store, "acc_1", 1000);
  const ledger = new ProcessLedger({ store });
  await queryPostgres(url, "delete from keys");
  const { revision } = store;
  const refusal = (await errorOf(ledger.admit(createAdmission()))) as GatewayError;
  expect([refusal.code, store.revision > revision]).toEqual(["unavailable", true]);
  expect(await store.db.selectFrom("open_calls").select("id").execute()).toEqual([]);
});

postgresTest("a hold whose payer is written down as another account's is refused alone", async () => {
  const { store, url } = await node();
  for (const id of ["acc_1", "acc_2"]) await addPayers(store, { [id]: [keyOf(id)] });
  const ledger = new ProcessLedger({ store });
  const admit = (accountId: string) =>
    ledger.admit(createAdmission({ callId: crypto.randomUUID(), accountId, keyId: keyOf(accountId), premium: false }));
  await admit("acc_1");
  await admit("acc_2");
  await queryPostgres(
    url,
    "update payers set account_no = (select no from payers where id = 'acc_2') where id = 'key of acc_1'",
  );
  const [wrong, right] = await Promise.allSettled([admit("acc_1"), admit("acc_2")]);
  expect([wrong.status, right.status, ledger.trouble()]).toEqual(["rejected", "fulfilled", undefined]);
  expect((wrong as PromiseRejectedResult).reason).toMatchObject({ code: "unavailable" });
});

postgresTest("the end of a call whose account the database lost is written, pays nobody, and is reported", async () => {
  const { store, url } = await node();
  await addAccount(store, "acc_1", 1000);
  await addAccount(store, "acc_2", 1000);
  const ledger = new ProcessLedger({ store });
  const admission = createAdmission({ callId: "lost" });
  await ledger.admit(admission);
  for (const table of ["transactions", "wallet_rows", "payers", "open_call_rows", "keys", "accounts"]) {
    const owner = table === "accounts" ? "id = 'acc_1'" : table === "payers" ? "true" : "account_id::text = 'acc_1'";
    await queryPostgres(url, `delete from ${table} where ${owner}`);
  }
  await ledger.settle(createSettlement("lost"));
  expect((await readWalletState(store, "acc_2")).balanceNanodollars).toBe(0);
  const { differences } = await verifyLedger(store);
  expect(differences).toContain("Calls of account acc_1: there is no such account (calls lost)");
});

postgresTest("numbers of models are those of the connection by which they were learned", async () => {
  const { store, url } = await node();
  await addAccount(store, "acc_1", 1000);
  const ledger = new ProcessLedger({ store });
  const first = createAdmission();
  await ledger.admit(first);
  await ledger.settle(createSettlement(first.callId));
  // As after a failover: the name went with the last commits, and its number to another.
  await queryPostgres(url, "update names set name = 'another' where name = 'model-1'");
  await queryPostgres(
    url,
    "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name like 'modelgate writes%' and datname = current_database()",
  );
  await until("it is connected again", () => store.trouble?.() === undefined);
  const second = createAdmission();
  await ledger.admit(second);
  await ledger.settle(createSettlement(second.callId));
  const rows = await store.db.selectFrom("calls").select("model").where("id", "=", second.callId).execute();
  expect(rows).toEqual([{ model: "model-1" }]);
});

postgresTest(
  "a database whose restore left out a constraint gets no writes and no gateway starts on it, until it has it",
  async () => {
    const { store, url } = await node();
    await addAccount(store, "acc_1", 1000);
    const folder = mkdtempSync(join(tmpdir(), "modelgate-backup-"));
    try {
      await queryPostgres(url, "alter table names drop constraint names_name_key");
      await backUp(url, join(folder, "incomplete"));
      await until("the backup is restored", () =>
        restoreInPlace(url, join(folder, "incomplete")).then(
          () => true,
          () => false,
        ),
      );
      const timer = setInterval(() => store.pollExternalChange(), 50);
      const words = "The database is being restored, or its restore did not come to its end";
      await until("it is not ready", () => store.trouble?.()?.startsWith(words) === true);
      const refusal = (await errorOf(openStore({ url, timeoutMs: 10_000 }))) as Error;
      expect(refusal.message).toStartWith("The database lacks names_name_key: a restore is under way");
      const nameless = await errorOf(queryPostgres(url, "select add_names('{another}')"));
      expect((nameless as Error).message).toContain("no unique or exclusion constraint");
      await queryPostgres(url, "alter table names add constraint names_name_key unique (name)");
      await until("it is ready", () => store.trouble?.() === undefined);
      clearInterval(timer);
      const ledger = new ProcessLedger({ store });
      const admission = createAdmission();
      await ledger.admit(admission);
      await ledger.settle(createSettlement(admission.callId));
      expect((await verifyLedger(store)).differences).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

postgresTest("no query of a gateway is compiled, whichever connection runs it", async () => {
  const { store, url } = await node();
  await addAccount(store, "acc_1", 1000);
  // Those who write say how they are set; the others are made by the same step.
  await queryPostgres(
    url,
    `create table seen (what text, jit text);
      create function see() returns trigger language plpgsql as $$
        begin insert into seen values (tg_table_name, current_setting('jit')); return null; end $$;
      create trigger see after insert or update on nodes execute function see();
      create trigger see after insert on open_call_rows execute function see();
      create trigger see after insert on transactions execute function see()`,
  );
  await new ProcessLedger({ store }).admit(createAdmission());
  await creditWallet(store, { accountId: "acc_1", nanodollars: 1, note: "pool" });
  const seen = () =>
    queryPostgres<{ what: string; jit: string }>(url, "select distinct what, jit from seen order by what");
  await until("a heartbeat was written", async () => {
    await store.pollExternalChange();
    return (await seen()).length === 3;
  });
  expect(await seen()).toEqual(["nodes", "open_call_rows", "transactions"].map((what) => ({ what, jit: "off" })));
});

/** As after a restore: all names are gone, and their numbers are those of others. */
const giveNumbersAway = `delete from names where id >= 100; alter sequence names_id_seq restart 100;
  select add_names(array(select 'another ' || n from generate_series(1, 100) as n))`;

postgresTest("numbers of names that went to others while the connection lives are looked up anew", async () => {
  const { store, url } = await node();
  await addAccount(store, "acc_1", 1000);
  const ledger = new ProcessLedger({ store });
  const [first, ended, held, free] = [
    createAdmission(),
    createAdmission(),
    createAdmission(),
    createAdmission({ premium: false }),
  ];
  await ledger.admit(first);
  await ledger.settle(createSettlement(first.callId));
  // The gateway knows every name of an end now.
  await ledger.admit(ended);
  await queryPostgres(url, giveNumbersAway);
  await ledger.settle(createSettlement(ended.callId));
  await ledger.admit(held);
  await queryPostgres(url, giveNumbersAway);
  await ledger.extend({ ...held, holdNanodollars: held.holdNanodollars + 1 });
  await queryPostgres(url, giveNumbersAway);
  await ledger.admit(free);
  const read = (from: "calls" | "open_calls") =>
    store.db.selectFrom(from).select(["id", "model", "capability", "node_id"]).orderBy("id");
  const callOf = ({ callId: id }: { callId: string }) => ({
    id,
    model: "model-1",
    capability: "chat" as const,
    node_id: store.nodeId as string,
  });
  expect(await read("calls").where("id", "=", ended.callId).execute()).toEqual([callOf(ended)]);
  expect(await read("open_calls").where("id", "=", free.callId).execute()).toEqual([callOf(free)]);
});

postgresTest("a batch is written though names, lease and payers have all gone at once", async () => {
  const { store, url } = await node();
  await addAccount(store, "acc_1", 1000);
  const ledger = new ProcessLedger({ store });
  const [first, running] = [createAdmission(), createAdmission()];
  await ledger.admit(first);
  await ledger.settle(createSettlement(first.callId));
  await ledger.admit(running);
  await queryPostgres(url, `${giveNumbersAway}; delete from nodes; delete from payers`);
  const next = createAdmission({ premium: false });
  await Promise.all([ledger.settle(createSettlement(running.callId)), ledger.admit(next)]);
  const calls = await store.db
    .selectFrom("calls")
    .select(["model", "account_id"])
    .where("id", "=", running.callId)
    .execute();
  const open = await store.db.selectFrom("open_calls").select(["model", "account_id"]).execute();
  expect([...calls, ...open]).toEqual(Array(2).fill({ model: "model-1", account_id: "acc_1" }));
});

postgresTest("names are committed in the order of their numbers", async () => {
  const { url } = await node();
  const [one, other] = [new pg.Client({ connectionString: url }), new pg.Client({ connectionString: url })];
  await Promise.all([one.connect(), other.connect()]);
  try {
    await one.query("begin");
    await one.query("select add_names('{first}')");
    const later = other.query("select add_names('{second, first}')");
    const isWaiting = async () => {
      const [row] = await queryPostgres<{ count: number }>(url, "select count(*)::int from pg_locks where not granted");
      return row !== undefined && row.count > 0;
    };
    await until("the other waits", isWaiting);
    await one.query("commit");
    await later;
    const rows = await queryPostgres<{ name: string }>(
      url,
      "select name from names where name in ('first', 'second') order by id",
    );
    expect(rows.map(({ name }) => name)).toEqual(["first", "second"]);
  } finally {
    await Promise.all([one.end(), other.end()]);
  }
});

postgresTest.each(["writes", "reads", "unproven", "heartbeat"])(
  "what was read is read anew when the connection for %s was lost, also when nothing was asked of it meanwhile",
  async (purpose) => {
    const { store, url } = await node();
    const { revision } = store;
    await queryPostgres(
      url,
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name like 'modelgate ${purpose} %' and datname = current_database()`,
    );
    await until("it has connected again", () => store.revision > revision);
  },
);

postgresTest("a user without rights beyond the database's sees that it is another one", async () => {
  const server = await startPostgres();
  const folder = mkdtempSync(join(tmpdir(), "modelgate-backup-"));
  try {
    const url = await newDatabase(server);
    await queryPostgres(url, "create role plain login");
    const { pathname } = new URL(url);
    await queryPostgres(url, `alter database ${pathname.slice(1)} owner to plain`);
    await queryPostgres(url, "alter schema public owner to plain");
    const { store, events } = await open(url.replace("modelgate@", "plain@"));
    await queryPostgres(url, "select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = 'plain'");
    await until("it is connected again", () => store.trouble?.() === undefined);
    expect(events).toEqual([]);
    await backUp(url, join(folder, "backup"));
    await restore(url, join(folder, "backup"));
    await until("it has seen the other database", () => events.some((event) => event.startsWith("database_changed")));
    await store.close();
  } finally {
    opened.splice(0);
    rmSync(folder, { recursive: true });
    await server.remove();
  }
});

postgresTest(
  "a database that lacks a secret of the gateway gets it back, and the gateway is not ready on one with another",
  async () => {
    const server = await startPostgres();
    const folder = mkdtempSync(join(tmpdir(), "modelgate-backup-"));
    try {
      const url = await newDatabase(server);
      const { store, events } = await open(url);
      await backUp(url, join(folder, "older"));
      await store.setting("secret", () => "first");
      await restore(url, join(folder, "older"));
      const stored = async () => (await queryPostgres(url, "select value from settings where name = 'secret'"))[0];
      const timer = setInterval(() => store.pollExternalChange(), 50);
      await until("it has the secret back", async () => (await stored().catch(() => undefined)) !== undefined);
      expect(await stored()).toEqual({ value: "first" });
      await queryPostgres(url, "update settings set value = 'of another gateway' where name = 'secret'");
      await backUp(url, join(folder, "foreign"));
      await queryPostgres(url, "update settings set value = 'first' where name = 'secret'");
      await restore(url, join(folder, "foreign"));
      await until("it is not ready", () => store.trouble?.()?.startsWith("The database is not the one") === true);
      expect(events.filter((event) => event.startsWith("database_foreign"))).toHaveLength(1);
      clearInterval(timer);
      await store.close();
    } finally {
      opened.splice(0);
      rmSync(folder, { recursive: true });
      await server.remove();
    }
  },
);
