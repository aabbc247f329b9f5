import { afterAll, beforeAll, describe, expect } from "bun:test";
import { GatewayError } from "../../../../src/contract/index.ts";
import { OrderedConnection } from "../../../../src/db/postgres/ordered-connection.ts";
import { Primary } from "../../../../src/db/postgres/primary.ts";
import { ProcessLedger, readWalletState, verifyLedger } from "../../../../src/ledger/index.ts";
import { errorOf } from "../../../support/error-of.ts";
import { newDatabase, type PostgresServer, startPostgres, whyNoPostgres } from "../../../support/postgres.ts";
import { type SlowProxy, startSlowProxy } from "../../../support/slow-proxy.ts";
import { node, postgresTest, until } from "../../db/postgres/fixture.ts";
import { addAccount, createAdmission, createSettlement } from "../fixture.ts";

/** PostgreSQL behind a network that a test slows down. */
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
});

async function newUrl(): Promise<string> {
  return (await newDatabase(server)).replace(`:${server.port}/`, `:${proxy.port}/`);
}

async function fixture(timeoutMs: number) {
  const { store } = await node(await newUrl(), { timeoutMs });
  await addAccount(store, "acc_1", 1e9);
  const ledger = new ProcessLedger({ store });
  const first = createAdmission();
  await ledger.admit(first);
  await ledger.settle(createSettlement(first.callId));
  return { store, ledger, revision: store.revision };
}

/** What came of an admission. */
const outcomeOf = (admitting: Promise<unknown>): Promise<string> =>
  admitting.then(
    () => "admitted",
    (error) => {
      if (!(error instanceof GatewayError)) throw error;
      return `${error.code} ${error.status}`;
    },
  );

describe("PostgreSQL answers late", () => {
  postgresTest("but within the time that a call waits: nobody is refused, and the connection stays", async () => {
    const { store, ledger, revision } = await fixture(10_000);
    const calls = Array.from({ length: 20 }, () => createAdmission());
    proxy.delayMs = Number.POSITIVE_INFINITY;
    const outcomes = calls.map((admission) => outcomeOf(ledger.admit(admission)));
    await Bun.sleep(600);
    proxy.delayMs = 0;
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set(["admitted"]));
    proxy.delayMs = Number.POSITIVE_INFINITY;
    const settled = Promise.all(calls.map(({ callId }) => ledger.settle(createSettlement(callId))));
    await Bun.sleep(600);
    proxy.delayMs = 0;
    await settled;
    expect([store.revision, store.trouble?.(), ledger.trouble()]).toEqual([revision, undefined, undefined]);
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 1e9 - 210, heldNanodollars: 0 });
    expect(await verifyLedger(store)).toMatchObject({ differences: [], counts: { calls: 21, open: 0 } });
  });

  postgresTest(
    "after calls gave up: they are refused or charged all the same, and what comes late counts once, on the same connection",
    async () => {
      const { store, ledger, revision } = await fixture(3000);
      const running = createAdmission();
      await ledger.admit(running);
      proxy.delayMs = Number.POSITIVE_INFINITY;
      // The transaction with the charge and a hold is on its way; a second hold waits behind it.
      const settling = ledger.settle(createSettlement(running.callId));
      const sent = outcomeOf(ledger.admit(createAdmission({ holdNanodollars: 70 })));
      await Bun.sleep(50);
      const queued = outcomeOf(ledger.admit(createAdmission({ holdNanodollars: 500 })));
      // Its answer is given out: the charge is kept.
      await settling;
      expect(await Promise.all([sent, queued])).toEqual(["unavailable 503", "unavailable 503"]);
      expect(ledger.trouble()).toBe("PostgreSQL does not answer, so no call can be recorded");
      proxy.delayMs = 0;
      await until("all that was kept is written", async () => (await ledger.sync()) === 0);
      await until("it takes writes", () => ledger.trouble() === undefined);
      // A lost connection would have invalidated what was read.
      expect(store.revision).toBe(revision);
      expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 1e9 - 20, heldNanodollars: 0 });
      expect(await verifyLedger(store)).toMatchObject({
        differences: [],
        counts: { calls: 3, open: 0, abandoned: 0 },
      });
    },
  );

  postgresTest("to what waited too long: that is refused, and what came later waits on and is served", async () => {
    const { ledger, store } = await fixture(6000);
    proxy.delayMs = Number.POSITIVE_INFINITY;
    const early = [createAdmission(), createAdmission()].map((admission) => outcomeOf(ledger.admit(admission)));
    await Bun.sleep(3000);
    const late = createAdmission();
    const later = outcomeOf(ledger.admit(late));
    expect(await Promise.all(early)).toEqual(["unavailable 503", "unavailable 503"]);
    proxy.delayMs = 0;
    expect(await later).toBe("admitted");
    await ledger.settle(createSettlement(late.callId));
    await until("what was granted too late is taken back", async () => (await ledger.sync()) === 0);
    expect(await verifyLedger(store)).toMatchObject({ differences: [], counts: { calls: 4, open: 0 } });
  });

  postgresTest("never: the connection is lost after a longer silence, and a new one serves", async () => {
    const primary = new Primary(await newUrl(), () => undefined);
    const connection = new OrderedConnection({ primary, name: "modelgate test", timeoutMs: 500 });
    await connection.open();
    proxy.delayMs = Number.POSITIVE_INFINITY;
    const [first, second] = [connection.query({ text: "select 1" }), connection.query({ text: "select 2" })];
    const secondError = errorOf(second);
    expect(await errorOf(first)).toMatchObject({ message: "PostgreSQL is late", lostConnection: true });
    // The second was never sent.
    expect(await secondError).toMatchObject({ lostConnection: undefined });
    expect([connection.isOpen, String(connection.failure)]).toEqual([
      true,
      "Error: PostgreSQL did not answer within 500 ms",
    ]);
    await until("the connection is given up", () => !connection.isOpen);
    expect(String(connection.failure)).toBe("Error: PostgreSQL did not answer within 1500 ms");
    proxy.delayMs = 0;
    await until("there is another", () => connection.isOpen);
    expect((await connection.query<{ one: number }>({ text: "select 1 as one" })).rows).toEqual([{ one: 1 }]);
    expect([connection.generation, connection.failure]).toEqual([2, undefined]);
    await connection.close();
  });
});
