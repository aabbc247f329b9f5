import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { GatewayError } from "../../../src/contract/index.ts";
import { NotSyncedError } from "../../../src/db/errors.ts";
import { openStore, type Store } from "../../../src/db/index.ts";
import { ProcessLedger, verifyLedger } from "../../../src/ledger/index.ts";
import { deleteChannel } from "../../../src/modules/alerts/channels.ts";
import { gatewayOwner } from "../../../src/modules/alerts/rule-settings.ts";
import {
  newDatabase,
  type PostgresServer,
  queryPostgres,
  startPostgres,
  startStandby,
  whyNoPostgres,
} from "../../support/postgres.ts";
import { type SlowProxy, startSlowProxy } from "../../support/slow-proxy.ts";
import { until } from "../db/postgres/fixture.ts";
import { temporaryFile } from "../db/temporary-store.ts";
import { addAccount, createAdmission, createSettlement } from "../ledger/fixture.ts";
import { fixture, minute } from "./fixture.ts";

/** A store with what stands around it, and how it is struck. */
interface Struck {
  readonly store: Store;
  readonly url: string;
}

interface Fault {
  readonly what: string;
  /** The sentence of `/readyz`, which the alert repeats. */
  readonly trouble: string;
  strike(struck: Struck): unknown;
  mend(struck: Struck): unknown;
  /** The request that is refused; a call by default. */
  readonly ask?: (struck: Struck, ledger: ProcessLedger) => Promise<unknown>;
}

/** Makes a call, and returns its refusal. */
async function call(ledger: ProcessLedger): Promise<GatewayError | undefined> {
  const admission = createAdmission({ callId: crypto.randomUUID() });
  try {
    await ledger.admit(admission);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  await ledger.settle(createSettlement(admission.callId));
  return undefined;
}

/**
 * While the fault lasts calls get 503, `/readyz` is not 200 and an alert is sent; when it is over all three end without a call that
 * has to be tried for it.
 */
async function expectNoticed(store: Store, url: string, fault: Fault): Promise<void> {
  const ledger = new ProcessLedger({ store });
  const readTrouble = () => store.trouble?.() ?? ledger.trouble();
  const timer = setInterval(() => store.pollExternalChange(), 50);
  const { clock, alerts, channel, webhook, deps } = await fixture({ store, trouble: readTrouble });
  let channelId = "";
  const watch = async (ms: number) => {
    clock.now += ms;
    const before = webhook.requests.length;
    await alerts.watch();
    return webhook.requests.slice(before).map(({ body }) => (JSON.parse(body) as { text: string }).text);
  };
  try {
    channelId = (await channel()).id;
    await alerts.prepare();
    await until("a call goes through", async () => (await call(ledger)) === undefined);
    await until("there is no trouble", () => readTrouble() === undefined);
    const struck = { store, url };
    const { ask = () => call(ledger) } = fault;
    await fault.strike(struck);
    try {
      await until("it refuses", async () => (await ask(struck, ledger).catch((error) => error)) !== undefined);
      await until(`it says: ${fault.trouble}`, () => readTrouble() === fault.trouble);
      expect(await watch(0)).toEqual([]);
      await until("there is trouble for a while", async () => {
        const texts = await watch(minute);
        if (texts.length > 0) expect(texts).toEqual([`modelgate: The gateway gate-1 refuses calls. ${fault.trouble}`]);
        return texts.length > 0;
      });
    } finally {
      await fault.mend(struck);
    }
    await until("there is no trouble any more", () => readTrouble() === undefined);
    // What a busy machine lets be late once is told by the next look.
    await until("it says that it is over", async () =>
      (await watch(0)).some((text) => text.includes("Resolved: The gateway")),
    );
    await until("a call goes through", async () => (await call(ledger)) === undefined);
    await until("all charges are written", async () => (await ledger.sync()) === 0);
    expect((await verifyLedger(store)).differences).toEqual([]);
  } finally {
    clearInterval(timer);
    await deleteChannel(deps.store, gatewayOwner, channelId);
    await ledger.close();
  }
}

const silent = "PostgreSQL does not answer, so no call can be recorded";

describe.skipIf(whyNoPostgres !== undefined)("PostgreSQL", () => {
  let server: PostgresServer;
  let standby: PostgresServer;
  let proxy: SlowProxy;
  let url: string;
  let store: Store;
  beforeAll(async () => {
    server = await startPostgres();
    url = await newDatabase(server);
    standby = await startStandby(server);
    proxy = await startSlowProxy(server.port);
    store = await openStore({ url: url.replace(`:${server.port}/`, `:${proxy.port}/`), timeoutMs: 1000 });
    await addAccount(store, "acc_1", 1e9);
  });
  afterAll(async () => {
    await store?.close();
    await proxy?.stop();
    await standby?.remove();
    await server?.remove();
  });

  const goTo = (to: () => PostgresServer) => () => {
    proxy.targetPort = to().port;
    proxy.cut();
  };
  const delay = (ms: number) => () => {
    proxy.delayMs = ms;
  };
  const setReadOnly = (setting: "on" | "off") => async () => {
    await queryPostgres(url, `alter system set default_transaction_read_only = ${setting}`);
    await queryPostgres(url, "select pg_reload_conf()");
  };
  /** Another session has the table for itself. */
  const lock = (table: string) => {
    let release = () => {};
    return {
      strike: async () => {
        const held = Promise.withResolvers<void>();
        const isLocked = Promise.withResolvers<void>();
        release = held.resolve;
        const other = await openStore({ url, timeoutMs: 10_000 });
        void other.db
          .transaction()
          .execute(async (db) => {
            await sql`lock table ${sql.table(table)} in access exclusive mode`.execute(db);
            isLocked.resolve();
            await held.promise;
          })
          .finally(() => other.close());
        await isLocked.promise;
      },
      mend: () => release(),
    };
  };
  /** The disk has no room for more of a table: the next row of it fails, and others do not. */
  const fill = (table: string) => ({
    strike: async () => {
      await queryPostgres(
        url,
        `create function no_room() returns trigger language plpgsql as $$
          begin raise exception using errcode = '53100', message = 'could not extend file'; end $$`,
      );
      await queryPostgres(
        url,
        `create trigger no_room before insert on ${table} for each row execute function no_room()`,
      );
    },
    mend: () => queryPostgres(url, "drop function no_room cascade"),
  });
  const readNewKey = async ({ store: struck }: Struck) => {
    await struck.readKey(crypto.randomUUID());
  };

  const faults: Fault[] = [
    { what: "killed", trouble: silent, strike: () => server.kill(), mend: () => server.start() },
    { what: "stopped", trouble: silent, strike: () => server.freeze(true), mend: () => server.freeze(false) },
    { what: "silent", trouble: silent, strike: delay(Number.POSITIVE_INFINITY), mend: delay(0) },
    { what: "too slow", trouble: silent, strike: delay(1500), mend: delay(0) },
    {
      what: "a standby, to which the address leads",
      trouble: "PostgreSQL is a standby, which takes no writes, so no call can be recorded",
      strike: goTo(() => standby),
      mend: goTo(() => server),
    },
    {
      what: "read-only",
      trouble: "PostgreSQL is read-only, so no call can be recorded",
      strike: setReadOnly("on"),
      mend: setReadOnly("off"),
    },
    {
      what: "full for calls that begin",
      trouble: "The disk of PostgreSQL is full, so no call can be recorded",
      ...fill("open_call_rows"),
    },
    {
      what: "full for calls that end",
      trouble: "The disk of PostgreSQL is full, so no call can be recorded",
      ...fill("call_rows"),
    },
    { what: "locked for calls that begin", trouble: silent, ...lock("open_call_rows") },
    { what: "locked for calls that end", trouble: silent, ...lock("call_rows") },
    {
      what: "locked for keys",
      trouble: "PostgreSQL does not answer, so no API key can be checked",
      ask: readNewKey,
      ...lock("keys"),
    },
  ];
  for (const fault of faults) {
    test(`${fault.what}: calls get 503, the gateway is not ready, and an alert is sent without it; all of that ends by itself`, () =>
      expectNoticed(store, url, fault));
  }
});

describe("the embedded store", () => {
  let file: string;
  let store: Store;
  /** Whether the disk refuses to sync, as it does with EIO. */
  let refusesSync = false;
  beforeAll(async () => {
    file = temporaryFile();
    const opened = await openStore({ file });
    await addAccount(opened, "acc_1", 1e9);
    const sync = () => {
      if (refusesSync) throw new NotSyncedError(new Error("EIO"));
    };
    const writeLedger: Store["writeLedger"] = async (batch, onCommitted) => {
      await opened.writeLedger(batch, onCommitted);
      if (batch.some(({ kind }) => kind === "end")) sync();
      return undefined;
    };
    const tryWrite = async () => {
      await opened.tryWrite();
      sync();
    };
    store = Object.create(opened, { writeLedger: { value: writeLedger }, tryWrite: { value: tryWrite } }) as Store;
  });
  afterAll(() => store?.close());

  const pragma = (text: string) => async () => void (await sql.raw(`pragma ${text}`).execute(store.db));
  let other: DatabaseSync | undefined;
  const faults: Fault[] = [
    {
      what: "its disk full",
      trouble: "The disk of the database is full, so no call can be recorded",
      // It has no more pages than it has; the next rows fill them.
      strike: pragma("max_page_count = 1"),
      mend: pragma("max_page_count = 1000000"),
      ask: async (_, ledger) => (await Promise.all(Array.from({ length: 50 }, () => call(ledger)))).find(Boolean),
    },
    {
      what: "a disk that refuses to sync",
      trouble: "The disk of the database fails, so no call can be recorded",
      strike: () => {
        refusesSync = true;
      },
      mend: () => {
        refusesSync = false;
      },
    },
    {
      what: "read-only",
      trouble: "The database is read-only, so no call can be recorded",
      strike: pragma("query_only = 1"),
      mend: pragma("query_only = 0"),
    },
    {
      what: "locked by another process",
      trouble: "Another process holds the lock of the database, so no call can be recorded",
      strike: () => {
        other = new DatabaseSync(file);
        other.exec("begin immediate");
      },
      mend: () => other?.close(),
    },
  ];
  for (const fault of faults) {
    test(`${fault.what}: calls get 503, the gateway is not ready, and an alert is sent without it; all of that ends by itself`, () =>
      expectNoticed(store, file, fault));
  }
});
