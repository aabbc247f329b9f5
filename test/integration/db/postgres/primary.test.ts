import { afterAll, beforeAll, describe, expect } from "bun:test";
import { sql } from "kysely";
import { openStore, type Store } from "../../../../src/db/index.ts";
import { OrderedConnection } from "../../../../src/db/postgres/ordered-connection.ts";
import { Primary } from "../../../../src/db/postgres/primary.ts";
import { ProcessLedger, readWalletState, verifyLedger } from "../../../../src/ledger/index.ts";
import { errorOf } from "../../../support/error-of.ts";
import {
  newDatabase,
  type PostgresServer,
  promote,
  queryPostgres,
  startPostgres,
  startStandby,
  whyNoPostgres,
} from "../../../support/postgres.ts";
import { type SlowProxy, startSlowProxy } from "../../../support/slow-proxy.ts";
import { addAccount, createAdmission, createSettlement } from "../../ledger/fixture.ts";
import { node, postgresTest, until } from "./fixture.ts";

/** Makes a call; returns whether it was recorded. */
async function call(ledger: ProcessLedger): Promise<boolean> {
  const admission = createAdmission({ callId: crypto.randomUUID() });
  try {
    await ledger.admit(admission);
  } catch {
    return false;
  }
  await ledger.settle(createSettlement(admission.callId));
  return true;
}

async function expectEachPaidOnce(store: Store, ledger: ProcessLedger, calls: number): Promise<void> {
  await until("all charges are written", async () => (await ledger.sync()) === 0);
  expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 1e9 - 10 * calls, heldNanodollars: 0 });
  expect(await verifyLedger(store)).toMatchObject({ differences: [], counts: { calls, open: 0 } });
}

/** Looks for changes as a gateway does, which writes its heartbeat. */
function keepAlive(store: Store): () => void {
  const timer = setInterval(() => store.pollExternalChange(), 50);
  return () => clearInterval(timer);
}

describe("a gateway whose connections came to another server than the one that takes writes", () => {
  let server: PostgresServer;
  let standby: PostgresServer;
  let proxy: SlowProxy;
  let url: string;
  let store: Store;
  let ledger: ProcessLedger;
  let stop: () => void;
  const events: string[] = [];
  beforeAll(async () => {
    if (whyNoPostgres !== undefined) return;
    server = await startPostgres();
    url = await newDatabase(server);
    standby = await startStandby(server);
    proxy = await startSlowProxy(server.port);
    const report = (event: string) => void events.push(event);
    store = await openStore({ url: url.replace(`:${server.port}/`, `:${proxy.port}/`), timeoutMs: 10_000, report });
    ledger = new ProcessLedger({ store });
    await addAccount(store, "acc_1", 1e9);
    stop = keepAlive(store);
  });
  afterAll(async () => {
    stop?.();
    await store?.close();
    await proxy?.stop();
    await standby?.remove();
    await server?.remove();
  });
  let calls = 0;

  postgresTest("a standby: it says so, and goes on by itself with the charges that waited", async () => {
    expect(await call(ledger)).toBe(true);
    const running = createAdmission({ callId: "while it lasts" });
    await ledger.admit(running);
    proxy.targetPort = standby.port;
    proxy.cut();
    const sentence = "PostgreSQL is a standby, which takes no writes, so no call can be recorded";
    await until("it says so", () => store.trouble?.() === sentence);
    await ledger.settle(createSettlement(running.callId));
    expect(await call(ledger)).toBe(false);
    expect(((await errorOf(store.db.selectFrom("calls").select("id").execute())) as Error).message).toBe(
      "PostgreSQL is a standby, which takes no writes",
    );
    proxy.targetPort = server.port;
    await until("calls are made", () => call(ledger));
    await until("it says nothing any more", () => store.trouble?.() === undefined);
    calls = 3;
    await expectEachPaidOnce(store, ledger, calls);
  });

  postgresTest(
    "one that was demoted to take no writes, over connections that stay: it goes to the new one",
    async () => {
      // Connections that look up keys and those for pages are at the old server too, and are asked nothing that writes.
      const oldPages = await sql<{ port: number }>`select inet_server_port() as port`.execute(store.db);
      expect(oldPages.rows).toEqual([{ port: server.port }]);
      const running = createAdmission({ callId: "over the failover" });
      await ledger.admit(running);
      await until("the standby has its hold", async () => {
        const copy = url.replace(`:${server.port}/`, `:${standby.port}/`);
        return (await queryPostgres(copy, "select 1 from open_calls where id = 'over the failover'")).length === 1;
      });
      await queryPostgres(url, "alter system set default_transaction_read_only = on");
      await queryPostgres(url, "select pg_reload_conf()");
      await until("no call is let in", async () => !(await call(ledger)) || ++calls < 0);
      await promote(standby);
      proxy.targetPort = standby.port;
      await ledger.settle(createSettlement(running.callId));
      calls += 1;
      await until("calls are made", () => call(ledger));
      calls += 1;
      // Each connection comes back by itself.
      await until("keys are looked up", () => store.trouble?.() === undefined);
      const ports = [
        (await sql<{ port: number }>`select inet_server_port() as port`.execute(store.db)).rows,
        await store.ask(sql<{ port: number }>`select inet_server_port() as port`.compile(store.db)),
      ];
      expect(ports).toEqual([[{ port: standby.port }], [{ port: standby.port }]]);
      expect(events).toContain("database_refuses_writes");
      expect(events).toContain("database_changed");
      await expectEachPaidOnce(store, ledger, calls);
    },
  );
});

describe("DATABASE_URL with several servers", () => {
  let server: PostgresServer;
  let standby: PostgresServer;
  let url: string;
  beforeAll(async () => {
    if (whyNoPostgres !== undefined) return;
    server = await startPostgres();
    url = await newDatabase(server);
    standby = await startStandby(server);
  });
  afterAll(async () => {
    await standby?.remove();
    await server?.remove();
  });
  const toHosts = (...ports: number[]) =>
    `${url.replace(`127.0.0.1:${server.port}`, ports.map((port) => `127.0.0.1:${port}`).join())}?target_session_attrs=read-write`;

  postgresTest("uses the one that takes writes, wherever it stands, and after a failover the other", async () => {
    const store = await openStore({ url: toHosts(1, standby.port, server.port), timeoutMs: 10_000 });
    const ledger = new ProcessLedger({ store });
    const stop = keepAlive(store);
    try {
      await addAccount(store, "acc_1", 1e9);
      expect(await call(ledger)).toBe(true);
      await until("the standby has it", async () => {
        const copy = url.replace(`:${server.port}/`, `:${standby.port}/`);
        return (await queryPostgres(copy, "select 1 from calls").catch(() => [])).length === 1;
      });
      await server.kill();
      await promote(standby);
      await until("calls are made", () => call(ledger));
      await expectEachPaidOnce(store, ledger, 2);
    } finally {
      stop();
      await store.close();
    }
  });

  postgresTest("is refused with the reason of each where none takes writes", async () => {
    const other = await startStandby(standby);
    try {
      const error = (await errorOf(openStore({ url: toHosts(1, other.port) }))) as Error;
      expect(error.message).toBe(
        `Cannot open the database ${toHosts(1, other.port).split("?")[0]}: connect ECONNREFUSED 127.0.0.1:1; PostgreSQL is a standby, which takes no writes; see that PostgreSQL runs there and that DATABASE_URL is right`,
      );
      const alone = (await errorOf(openStore({ url: toHosts(other.port) }))) as Error;
      expect(alone.message).toBe(
        `Cannot open the database ${toHosts(other.port).split("?")[0]}: PostgreSQL is a standby, which takes no writes; name the primary in DATABASE_URL, or all servers of the cluster, separated by commas`,
      );
    } finally {
      await other.remove();
    }
  });
});

const fail = (state: string) => `do $$ begin raise exception 'no' using errcode = '${state}'; end $$`;
const ends = [
  "25006",
  "57P01",
  "57P02",
  "57P03",
  "57P05",
  "53000",
  "53100",
  "53200",
  "53300",
  "08000",
  "08003",
  "08006",
];
const stays = ["23505", "40001", "40P01", "42P01", "57014", "55P03", "22012", "P0001", "MG001"];

postgresTest(
  "an error that says that the server cannot serve ends the connection, and no other error does",
  async () => {
    const { url } = await node();
    const changes: unknown[] = [];
    const primary = new Primary(url, (differences) => changes.push(differences));
    const connection = new OrderedConnection({ primary, name: "modelgate test", timeoutMs: 10_000 });
    await connection.open();
    const wrong: string[] = [];
    for (const [states, isEnd] of [
      [ends, true],
      [stays, false],
    ] as const) {
      for (const state of states) {
        const { generation } = connection;
        const error = (await errorOf(connection.query({ text: fail(state) }))) as { code?: string };
        expect(error.code).toBe(state);
        if (connection.isOpen === isEnd) wrong.push(state);
        await until("it is open", () => connection.isOpen);
        if (connection.generation > generation !== isEnd) wrong.push(state);
        expect((await connection.query<{ one: number }>({ text: "select 1 as one" })).rows).toEqual([{ one: 1 }]);
      }
    }
    expect([wrong, changes]).toEqual([[], []]);
    await connection.close();
  },
);

postgresTest("a connection for pages is not used again after such an error either", async () => {
  const { store } = await node();
  const pidOf = async () => (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(store.db)).rows[0]?.pid;
  const wrong: string[] = [];
  for (const [states, isEnd] of [
    [ends, true],
    [stays, false],
  ] as const) {
    for (const state of states) {
      const before = await pidOf();
      await errorOf(sql.raw(fail(state)).execute(store.db));
      await errorOf(store.db.transaction().execute((db) => sql.raw(fail(state)).execute(db)));
      if (((await pidOf()) !== before) !== isEnd) wrong.push(state);
    }
  }
  expect(wrong).toEqual([]);
});

postgresTest("without a connection for pages calls are recorded, and it says what is refused", async () => {
  const url = await newDatabase();
  const { pathname } = new URL(url);
  // Connections to look up keys, two kinds, to write, and to listen: those of calls.
  await queryPostgres(url, "drop role if exists few");
  await queryPostgres(url, "create role few login connection limit 5");
  await queryPostgres(url, `alter database ${pathname.slice(1)} owner to few`);
  await queryPostgres(url, "alter schema public owner to few");
  const store = await openStore({ url: url.replace("modelgate@", "few@"), timeoutMs: 10_000 });
  const ledger = new ProcessLedger({ store });
  try {
    await addAccount(store, "acc_1", 1e9);
    expect(store.degraded?.()).toEqual([]);
    await queryPostgres(url, "alter role few connection limit 4");
    await queryPostgres(
      url,
      "select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = 'few' and application_name = 'modelgate'",
    );
    const error = (await errorOf(store.db.selectFrom("calls").select("id").execute())) as Error;
    expect(error.message).toContain("too many connections");
    expect(await call(ledger)).toBe(true);
    expect([store.trouble?.(), ledger.trouble(), store.degraded?.()]).toEqual([
      undefined,
      undefined,
      ["PostgreSQL gives no more connections: pages, and requests with an Idempotency-Key, are refused"],
    ]);
    await queryPostgres(url, "alter role few connection limit -1");
    expect(await store.db.selectFrom("calls").select("id").execute()).toHaveLength(1);
    expect(store.degraded?.()).toEqual([]);
  } finally {
    await store.close();
  }
});

postgresTest("a statement that is meant for a connection does not run on the next one", async () => {
  const { url } = await node();
  const primary = new Primary(url, () => undefined);
  const connection = new OrderedConnection({ primary, name: "modelgate test", timeoutMs: 10_000 });
  await connection.open();
  const pinned = connection.pin();
  expect((await pinned.query<{ one: number }>({ text: "select 1 as one" })).rows).toEqual([{ one: 1 }]);
  await errorOf(connection.query({ text: fail("53100") }));
  await until("it is open", () => connection.isOpen);
  expect(((await errorOf(pinned.query({ text: "select 1" }))) as Error).message).toBe(
    "The connection to PostgreSQL is another one",
  );
  await connection.close();
});
