import { afterAll, beforeAll, describe, expect } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import pg from "pg";
import { GatewayError, type WalletState } from "../../../../src/contract/index.ts";
import { openStore, type Store } from "../../../../src/db/index.ts";
import { ProcessLedger, readWalletState, verifyLedger } from "../../../../src/ledger/index.ts";
import {
  backUp,
  newDatabase,
  type PostgresServer,
  queryPostgres,
  restoreInPlace,
  startPostgres,
  whyNoPostgres,
} from "../../../support/postgres.ts";
import { postgresTest, until } from "../../db/postgres/fixture.ts";
import { addAccount, createAdmission, createSettlement } from "../fixture.ts";

/** Who hangs does so for as long as the fault lasts. A busy machine may be late by seconds. */
const hangMsMax = 10_000;

let server: PostgresServer;
beforeAll(async () => {
  if (whyNoPostgres === undefined) server = await startPostgres();
});
afterAll(() => server?.remove());

interface BillingFixture {
  url: string;
  store: Store;
  ledger: ProcessLedger;
}

async function fixture(): Promise<BillingFixture> {
  const url = await newDatabase(server);
  const store = await openStore({ url, timeoutMs: 200 });
  await addAccount(store, "acc_1", 1e9);
  const ledger = new ProcessLedger({ store });
  // Connections and plans are made once; this is not what is asked here.
  await until("a first call goes through", async () => (await attempt(ledger)) === "settled");
  return { url, store, ledger };
}

/** One call from its hold to its charge; "refused" when it was not let in, "kept" when its charge is written later. */
async function attempt(ledger: ProcessLedger): Promise<"settled" | "refused" | "kept"> {
  const admission = createAdmission();
  const admitted = await ledger.admit(admission).catch(expectUnavailable);
  if (admitted === undefined) return "refused";
  const settled = await ledger.settle(createSettlement(admission.callId)).then(() => true, expectUnavailable);
  return settled === undefined ? "kept" : "settled";
}

function expectUnavailable(error: unknown): undefined {
  if (!(error instanceof GatewayError)) throw error;
  expect([error.code, error.status, error.retryAfterMs]).toEqual(["unavailable", 503, 1000]);
}

/** Sees that calls are refused, and do not hang, while something is wrong. */
async function expectRefusals(ledger: ProcessLedger): Promise<void> {
  for (let wave = 0; wave < 4; wave++) {
    const start = performance.now();
    const outcomes = await Promise.all(Array.from({ length: 16 }, () => attempt(ledger)));
    expect(performance.now() - start).toBeLessThan(hangMsMax);
    expect(new Set(outcomes)).toEqual(new Set(["refused"]));
  }
}

/** Sees that calls go through again, nothing is held, and every charge stands once. */
async function expectWhole({ store, ledger }: BillingFixture): Promise<void> {
  await until("calls go through again", async () => (await attempt(ledger)) === "settled");
  await until("all that was kept is written", async () => (await ledger.sync()) === 0);
  const verification = await verifyLedger(store);
  expect(verification.differences).toEqual([]);
  expect(verification.counts.open).toBe(0);
  const { count } = await store.db
    .selectFrom("calls")
    .select((select) => select.fn.countAll<number>().as("count"))
    .where("state", "=", "settled")
    .executeTakeFirstOrThrow();
  expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 1e9 - 10 * count, heldNanodollars: 0 });
  // A busy machine may not answer in the time that a call may wait.
  let wallet: WalletState | undefined;
  await until("the wallet can be read", async () => {
    wallet = await ledger.readWalletState("acc_1").catch(() => undefined);
    return wallet !== undefined;
  });
  expect(wallet).toEqual({ balanceNanodollars: 1e9 - 10 * count, heldNanodollars: 0 });
  await ledger.close();
  await store.close();
}

/** Makes calls, some at once, until told to stop. */
function underLoad(ledger: ProcessLedger): () => Promise<void> {
  let isOver = false;
  const clients = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const outcome = await attempt(ledger);
      if (outcome !== "settled") await Bun.sleep(5);
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(clients);
  };
}

describe("PostgreSQL", () => {
  postgresTest(
    "frozen: calls are refused once they have waited as long as they may, and the ledger balances when it goes on",
    async () => {
      const parts = await fixture();
      const stop = underLoad(parts.ledger);
      await Bun.sleep(50);
      server.freeze(true);
      await stop();
      await expectRefusals(parts.ledger);
      server.freeze(false);
      await expectWhole(parts);
    },
  );

  postgresTest(
    "killed under load, and started again: nothing is let in meanwhile, and every charge stands once",
    async () => {
      const parts = await fixture();
      for (let round = 0; round < 3; round++) {
        const stop = underLoad(parts.ledger);
        await Bun.sleep(30 + 40 * round);
        await server.kill();
        await stop();
        await expectRefusals(parts.ledger);
        await server.start();
        await until("calls go through again", async () => (await attempt(parts.ledger)) === "settled");
      }
      await expectWhole(parts);
    },
  );

  postgresTest(
    "read-only: calls are refused, a running one's charge is kept, and written when it takes writes again",
    async () => {
      const parts = await fixture();
      const { ledger, url } = parts;
      const running = createAdmission();
      await ledger.admit(running);
      await readOnly(url, true);
      expect(await ledger.settle(createSettlement(running.callId)).catch(expectUnavailable)).toBeUndefined();
      await expectRefusals(ledger);
      // Its hold stands until the charge does.
      const ofAll = "select sum(hold_nanodollars)::int as held from open_calls";
      expect(await queryPostgres(url, ofAll)).toEqual([{ held: 10 }]);
      await readOnly(url, false);
      await expectWhole(parts);
    },
  );

  postgresTest("out of connections: those that there are go on, and commands say so in one sentence", async () => {
    const parts = await fixture();
    await queryPostgres(parts.url, "alter role modelgate connection limit 1");
    await queryPostgres(parts.url, "create role guest login");
    expect(await attempt(parts.ledger)).toBe("settled");
    const guest = parts.url.replace("modelgate@", "guest@");
    const error = (await openStore({ url: guest }).catch((thrown: Error) => thrown)) as Error;
    expect(error.message).toStartWith(`Cannot open the database ${guest}: permission denied for`);
    await queryPostgres(parts.url, "alter role modelgate connection limit -1");
    await expectWhole(parts);
  });

  postgresTest(
    "locked by another for longer than a call waits: it is refused, and its hold does not stay",
    async () => {
      const parts = await fixture();
      const { store, ledger } = parts;
      await store.db.transaction().execute(async (db) => {
        await sql`lock table open_calls in access exclusive mode`.execute(db);
        await expectRefusals(ledger);
      });
      await expectWhole(parts);
    },
  );

  postgresTest.each(["statement_timeout", "lock_timeout"])(
    "a %s of its own, which ends what a call waits for: it is refused, and its hold does not stay",
    async (name) => {
      const parts = await fixture();
      const { url, ledger } = parts;
      await setForAll(url, `set ${name} = '50ms'`);
      await until("calls go through", async () => (await attempt(ledger)) === "settled");
      const other = new pg.Client({ connectionString: url });
      await other.connect();
      await other.query("set statement_timeout = 0; set lock_timeout = 0");
      await other.query("begin; lock table open_calls in access exclusive mode");
      await expectRefusals(ledger);
      await other.end();
      await setForAll(url, `reset ${name}`);
      await expectWhole(parts);
    },
  );

  postgresTest("ends two connections at random, again and again: every charge stands once", async () => {
    const parts = await fixture();
    const stop = underLoad(parts.ledger);
    for (let round = 0; round < 15; round++) {
      await endSessions(parts.url, 2);
      await Bun.sleep(20);
    }
    await stop();
    await expectWhole(parts);
  });

  postgresTest("backed up by pg_dump under load: what is restored is true, and calls go through on it", async () => {
    const parts = await fixture();
    const stop = underLoad(parts.ledger);
    const folder = mkdtempSync(join(tmpdir(), "modelgate-test-"));
    await backUp(parts.url, join(folder, "backup"));
    await stop();
    const restoredUrl = await newDatabase(server);
    await restoreInPlace(restoredUrl, join(folder, "backup"));
    rmSync(folder, { recursive: true });
    await expectWhole(parts);
    const store = await openStore({ url: restoredUrl, timeoutMs: 200 });
    const { differences, counts } = await verifyLedger(store);
    expect([differences, counts.calls]).toEqual([[], expect.any(Number)]);
    expect(counts.calls).not.toBe(0);
    const ledger = new ProcessLedger({ store });
    await until("a call goes through on it", async () => (await attempt(ledger)) === "settled");
    await ledger.close();
    await store.close();
  });
});

/** Ends so many sessions of gateways, or all. */
async function endSessions(url: string, count: number | "all"): Promise<void> {
  await queryPostgres(
    server.url("postgres"),
    `select pg_terminate_backend(pid, 5000) from (select pid from pg_stat_activity
      where datname = '${nameOf(url)}' and application_name like 'modelgate%' order by random() limit ${count}) as sessions`,
  );
}

const nameOf = (url: string) => new URL(url).pathname.slice(1);

/** Changes a setting of the database for the sessions that come, and ends those that there are. */
async function setForAll(url: string, change: string): Promise<void> {
  await queryPostgres(server.url("postgres"), `alter database ${nameOf(url)} ${change}`);
  await endSessions(url, "all");
}

/** For the sessions that are and those that come. */
async function readOnly(url: string, isOn: boolean): Promise<void> {
  const setting = isOn ? "on" : "off";
  await queryPostgres(url, `alter system set default_transaction_read_only = ${setting}`);
  await queryPostgres(url, "select pg_reload_conf()");
  await until("the setting is in force", async () => {
    const [row] = await queryPostgres<{ default_transaction_read_only: string }>(
      url,
      "show default_transaction_read_only",
    );
    return row?.default_transaction_read_only === setting;
  });
}
