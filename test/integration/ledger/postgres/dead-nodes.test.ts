import { expect } from "bun:test";
import { openStore, type Store, toPayerNumber } from "../../../../src/db/index.ts";
import { ProcessLedger, readWalletState, verifyLedger } from "../../../../src/ledger/index.ts";
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
    `insert into nodes values ('${id}', floor(extract(epoch from clock_timestamp()) * 1000))
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
    expect(ended).toEqual(["of gone"]);
    // It says nothing either, but its connection stands: it is busy, or cut off.
    expect(await recoverFor(2 * deadAfterMs, [ledgers[0]])).toEqual([]);
    expect(await known(url)).toEqual([keyLimits, living].sort());
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 100, heldNanodollars: 10 });
  },
);

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
