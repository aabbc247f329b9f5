import { expect } from "bun:test";
import { sql } from "kysely";
import { openStore, type Store, toPayerNumber } from "../../../../src/db/index.ts";
import { ProcessLedger, readWalletState, verifyLedger } from "../../../../src/ledger/index.ts";
import { errorOf } from "../../../support/error-of.ts";
import { rounds } from "../../../support/long.ts";
import { newDatabase, queryPostgres, startPostgres } from "../../../support/postgres.ts";
import { node, postgresTest, until } from "../../db/postgres/fixture.ts";
import { addAccount, createAdmission, createSettlement } from "../fixture.ts";

/** The silence after which a node is dead; the long form has that of a gateway. */
const deadAfterMs = rounds(1000, 30_000);

/** Says so often that a node lives as a gateway does, by this scale. */
function keepAlive(store: Store): () => void {
  const timer = setInterval(() => store.pollExternalChange(), 50);
  return () => clearInterval(timer);
}

/** Looks for dead nodes again and again, and returns the ids of the calls that were ended. */
async function recoverFor(ms: number, ledgers: ProcessLedger[]): Promise<string[]> {
  const ended: string[] = [];
  for (const end = Date.now() + ms; Date.now() < end; await Bun.sleep(50)) {
    for (const ledger of ledgers) {
      const recovery = await ledger.recover().catch(() => undefined);
      if (recovery !== undefined) ended.push(...recovery.callIds);
    }
  }
  return ended;
}

const known = async (url: string) =>
  (await queryPostgres<{ id: string }>(url, "select id from nodes order by id")).map(({ id }) => id);

/** Says of a node without a connection that it lives, as it does itself. */
const say = (url: string, id: string) =>
  queryPostgres(
    url,
    `insert into nodes values ('${id}', floor(extract(epoch from clock_timestamp()) * 1000), 1)
     on conflict (id) do update set seen_at = excluded.seen_at`,
  );

/** A call of a node that is none of this process. */
async function openCall(url: string, node: string, holdNanodollars: number): Promise<void> {
  const names = ["model-1", "chat", node].map((name) => `('${name}')`).join(", ");
  await queryPostgres(url, `insert into names (name) values ${names} on conflict (name) do nothing`);
  const numberOf = (name: string) => `(select id from names where name = '${name}')`;
  await queryPostgres(
    url,
    `insert into open_call_rows (id, account_id, key_id, model, capability, premium, opened_at, hold_nanodollars, hold_tokens, node_id)
     values (convert_to('of ${node}', 'UTF8'), ${toPayerNumber("acc_1")}, ${toPayerNumber("key_1")}, ${numberOf("model-1")}, ${numberOf("chat")},
       1, 0, ${holdNanodollars}, 0, ${numberOf(node)})`,
  );
}

postgresTest(
  "a node is dead when it says nothing while another looks on, whatever the database's clock says, and none before",
  async () => {
    const { store, url } = await node(undefined, { deadAfterMs });
    const { store: silent } = await node(url);
    const ledgers = [store, silent].map((it) => new ProcessLedger({ store: it })) as [ProcessLedger, ProcessLedger];
    await addAccount(store, "acc_1", 100);
    await ledgers[1].admit(createAdmission({ callId: "of the silent" }));
    await say(url, "gone");
    await queryPostgres(url, "update nodes set seen_at = seen_at - 3600000");
    await openCall(url, "gone", 60);
    const [keyLimits, living] = [store.nodeId, silent.nodeId] as [string, string];
    // The first look begins to count; its answer takes a moment to come on a busy machine.
    expect(await recoverFor(deadAfterMs / 4, ledgers)).toEqual([]);
    expect(await known(url)).toEqual([keyLimits, living, "gone"].sort());
    const ended: string[] = [];
    const isForgotten = async () => {
      ended.push(...(await ledgers[0].recover()).callIds);
      return !(await known(url)).includes("gone");
    };
    await until("the one without a connection is forgotten", isForgotten, 20 * deadAfterMs);
    // The other says nothing either. Its connection stands, as that of a process that was stopped does.
    const isSilentForgotten = async () => {
      ended.push(...(await ledgers[0].recover()).callIds);
      return !(await known(url)).includes(living);
    };
    await until("the one that is silent on its connection is forgotten", isSilentForgotten, 20 * deadAfterMs);
    expect(ended.sort()).toEqual(["of gone", "of the silent"]);
    expect(await known(url)).toEqual([keyLimits]);
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 100, heldNanodollars: 0 });
  },
);

/** A node whose lease has run out while one of its calls runs, and another node that has released what that held. */
async function takenForDead(streams: number) {
  const events: string[] = [];
  const { store, url } = await node(undefined, { deadAfterMs });
  const { store: stopped } = await node(url, { report: (event) => void events.push(event) });
  const [here, there] = [new ProcessLedger({ store }), new ProcessLedger({ store: stopped })];
  await addAccount(store, "acc_1", 100);
  const running = Array.from({ length: streams }, () => createAdmission({ holdNanodollars: 10 }));
  for (const admission of running) await there.admit(admission);
  const { callId } = running[0] as (typeof running)[0];
  const keyed = { id: "keyed", accountId: "acc_1", callId, bodyHash: "body" };
  await stopped.idempotencyKeys.claim(keyed);
  const ended: string[] = [];
  await until(
    "its holds are released",
    async () => {
      ended.push(...(await here.recover()).callIds);
      return ended.length === streams;
    },
    20 * deadAfterMs,
  );
  const extend = (at: number, holdNanodollars: number) =>
    there.extend({ ...(running[at] as (typeof running)[number]), holdNanodollars, minNanodollars: holdNanodollars });
  return { store, stopped, here, there, running, extend, events, keyed };
}

postgresTest(
  "a node that was taken for dead goes on with its streams: what they need beyond what was released is held anew, and all that they used is charged once",
  async () => {
    const { store, stopped, here, there, running, extend, events } = await takenForDead(2);
    const [first, second] = running as [(typeof running)[0], (typeof running)[0]];
    expect(await extend(0, 30)).toEqual({ heldNanodollars: 30, heldTokens: 0 });
    expect(events).toEqual(["lease_lost"]);
    // It has a lease again, so that the others leave its call alone as long as it says that it lives.
    const stop = keepAlive(stopped);
    expect(await recoverFor(3 * deadAfterMs, [here, there])).toEqual([]);
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 100, heldNanodollars: 30 });
    await there.settle(createSettlement(first.callId, { costNanodollars: 25 }));
    await there.settle(createSettlement(second.callId, { costNanodollars: 5 }));
    stop();
    expect(events).toEqual(["lease_lost"]);
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 70, heldNanodollars: 0 });
    expect(await verifyLedger(store)).toMatchObject({ ok: true, counts: { calls: 2, open: 0, abandoned: 0 } });
  },
);

postgresTest(
  "money that was released with a lease is used by others: its stream may not go beyond what it held, and pays for what it used",
  async () => {
    const { store, here, there, running, extend } = await takenForDead(1);
    const [stream] = running as [(typeof running)[0]];
    const other = createAdmission({ holdNanodollars: 95, minNanodollars: 95 });
    await here.admit(other);
    expect((await errorOf<{ code: string }>(extend(0, 20))).code).toBe("insufficient_balance");
    await there.settle(createSettlement(stream.callId, { costNanodollars: 10 }));
    await here.settle(createSettlement(other.callId, { costNanodollars: 95 }));
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: -5, heldNanodollars: 0 });
    expect(await verifyLedger(store)).toMatchObject({ ok: true, counts: { open: 0, abandoned: 0 } });
  },
);

postgresTest("a node without a lease takes no hold before it has the next one, which the others see", async () => {
  const { stopped, here, there, events } = await takenForDead(1);
  const next = createAdmission({ holdNanodollars: 10 });
  await there.admit(next);
  expect(events).toEqual(["lease_lost"]);
  const rows = await stopped.db.selectFrom("nodes").select("lease").where("id", "=", stopped.nodeId).execute();
  expect(rows).toEqual([{ lease: 2 }]);
  expect((await here.recover()).callIds).toEqual([]);
  await there.settle(createSettlement(next.callId));
});

postgresTest(
  "a request whose node has lost its lease may be repeated with its Idempotency-Key at another node",
  async () => {
    const { store, keyed } = await takenForDead(1);
    expect(await store.idempotencyKeys.claim({ ...keyed, callId: "repeated" })).toEqual({ state: "claimed" });
    expect(await store.idempotencyKeys.claim({ ...keyed, callId: "once more" })).toEqual({ state: "running" });
  },
);

postgresTest("a node ends open calls of its own that it does not run, and none that it runs", async () => {
  const { store, url } = await node();
  const ledger = new ProcessLedger({ store });
  await addAccount(store, "acc_1", 100);
  const running = createAdmission({ holdNanodollars: 10 });
  await ledger.admit(running);
  // As where a failover has lost the end of a call, whose beginning it had.
  await openCall(url, store.nodeId as string, 60);
  const stray = `of ${store.nodeId}`;
  expect((await ledger.recover()).callIds).toEqual([]);
  expect((await ledger.recover()).callIds).toEqual([stray]);
  expect((await ledger.recover()).callIds).toEqual([]);
  expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 100, heldNanodollars: 10 });
  await ledger.settle(createSettlement(running.callId));
  expect(await verifyLedger(store)).toMatchObject({ ok: true, counts: { calls: 2, open: 0, abandoned: 1 } });
});

postgresTest("every connection tells PostgreSQL to find out within half a minute that its node is gone", async () => {
  const { store } = await node();
  const settings = ["tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout"];
  const query = sql<{ name: string; setting: string }>`select name, setting from pg_settings
    where name in (${sql.join(settings)}) order by name`.compile(store.db);
  const expected = [
    { name: "tcp_keepalives_count", setting: "3" },
    { name: "tcp_keepalives_idle", setting: "10" },
    { name: "tcp_keepalives_interval", setting: "5" },
    { name: "tcp_user_timeout", setting: "25000" },
  ];
  expect((await store.db.executeQuery(query)).rows).toEqual(expected);
  expect(await store.ask(query)).toEqual(expected);
});

postgresTest(
  "after PostgreSQL was away a node has as long to come back as any that falls silent, and is dead only then",
  async () => {
    const server = await startPostgres();
    const url = await newDatabase(server);
    const store = await openStore({ url, deadAfterMs });
    const ledger = new ProcessLedger({ store });
    try {
      await addAccount(store, "acc_1", 100);
      await say(url, "other");
      await openCall(url, "other", 90);
      expect(await recoverFor(deadAfterMs / 2, [ledger])).toEqual([]);
      await server.kill();
      expect(await recoverFor(2 * deadAfterMs, [ledger])).toEqual([]);
      await server.start();
      expect(await recoverFor(deadAfterMs / 2, [ledger])).toEqual([]);
      for (let times = 0; times < 8; times++) {
        await say(url, "other");
        expect(await recoverFor(deadAfterMs / 4, [ledger])).toEqual([]);
      }
      expect((await readWalletState(store, "acc_1")).heldNanodollars).toBe(90);
      expect(await recoverFor(3 * deadAfterMs, [ledger])).toEqual(["of other"]);
      expect((await readWalletState(store, "acc_1")).heldNanodollars).toBe(0);
    } finally {
      await store.close();
      await server.remove();
    }
  },
);

postgresTest(
  "nodes that all lost PostgreSQL for longer than a dead one is silent end no call of each other, and hold no money twice",
  async () => {
    const server = await startPostgres();
    const url = await newDatabase(server);
    const stores = [await openStore({ url, deadAfterMs }), await openStore({ url, deadAfterMs })] as [Store, Store];
    const ledgers = stores.map((store) => new ProcessLedger({ store })) as [ProcessLedger, ProcessLedger];
    const stops = stores.map(keepAlive);
    try {
      const [here, there] = ledgers;
      await addAccount(stores[0], "acc_1", 1e9);
      const [running, second] = [createAdmission({ holdNanodollars: 9e8 }), createAdmission({ holdNanodollars: 9e8 })];
      await until("a first hold is written", async () =>
        there.admit(running).then(
          () => true,
          () => false,
        ),
      );
      expect(await recoverFor(deadAfterMs / 2, ledgers)).toEqual([]);
      await server.kill();
      expect(await recoverFor(2 * deadAfterMs, ledgers)).toEqual([]);
      await server.start();
      expect(await recoverFor(3 * deadAfterMs, ledgers)).toEqual([]);
      // What is left is lent to one call; the whole is not.
      const { heldNanodollars } = await here.admit(second);
      expect(heldNanodollars).toBe(1e8);
      const third = await here.admit(createAdmission({ holdNanodollars: 9e8 })).catch((error) => error.code);
      expect(third).toBe("insufficient_balance");
      await there.settle(createSettlement(running.callId, { costNanodollars: 9e8 }));
      await here.settle(createSettlement(second.callId, { costNanodollars: 1e8 }));
      expect(await readWalletState(stores[0], "acc_1")).toEqual({ balanceNanodollars: 0, heldNanodollars: 0 });
      expect(await verifyLedger(stores[0])).toMatchObject({ ok: true, counts: { abandoned: 0 } });
    } finally {
      for (const stop of stops) stop();
      for (const store of stores) await store.close();
      await server.remove();
    }
  },
);
