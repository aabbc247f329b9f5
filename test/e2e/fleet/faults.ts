import pg from "pg";
import {
  cutOff,
  type PostgresServer,
  promote,
  queryPostgres,
  restore,
  restoreInPlace,
} from "../../support/postgres.ts";
import { launchRedis } from "../../support/redis-server.ts";
import type { SlowProxy } from "../../support/slow-proxy.ts";
import type { Fleet } from "./fleet.ts";
import type { ProviderManner } from "./numbers.ts";

/** Something that fails, or that an operator does, while the gateways serve. */
export interface Fault {
  /** How `--faults` names it. */
  readonly name: string;
  /** How it is made. */
  readonly made: string;
  /** How it is mended. */
  readonly mended: string;
  /** What may be lost by it. Money is charged twice or to another by none of them. */
  readonly mayLose: string;
  /** What these losses allow: {@link Allowance}. */
  readonly allows?: Allowance;
  /** How long it lasts at least and at most, in milliseconds. */
  readonly lastsMs?: readonly [number, number];
  readonly needsStandby?: true;
  /** `place` is the gateway that it is for, where it is for one. */
  strike(fleet: Fleet, place: number): unknown;
  mend?(fleet: Fleet, place: number): unknown;
}

/** What the books may show of a fault after all is mended. */
export interface Allowance {
  /** Calls that were made before it was mended may be missing, and wallets are as they were before them. */
  readonly lostCommits?: true;
  /** Calls whose answers broke off may be charged by estimate. */
  readonly estimates?: true;
  /** Holds may be released before their calls end, which then take what they used beyond what the wallet has. */
  readonly releasedHolds?: true;
  /** The provider may be asked again for one call, and calls may be refused by a gateway that is ready. */
  readonly failedAttempts?: true;
  /** Keys may be refused while it lasts. */
  readonly unknownKeys?: true;
}

/** Longer than a gateway may be silent before its holds are released. */
const beyondLease = [32_000, 40_000] as const;

/** Each fault of a dependency or of a background job has a row here: a new one brings its own. */
export const faults: readonly Fault[] = [
  {
    name: "gateway-killed",
    made: "kill -9",
    mended: "started again on its home",
    mayLose: "answers that were under way",
    strike: (fleet, place) => fleet.signal(place, "SIGKILL"),
    mend: (fleet, place) => fleet.ensureRunning(place),
  },
  {
    name: "gateway-vanished",
    made: "kill -9, and PostgreSQL keeps its side of the connections, as when a host loses its power",
    mended: "started again on its home, after others have released its holds",
    mayLose: "answers that were under way",
    allows: { releasedHolds: true },
    lastsMs: beyondLease,
    strike(fleet, place) {
      relayOf(fleet, place).keepsServerSide = true;
      fleet.signal(place, "SIGKILL");
    },
    mend: (fleet, place) => fleet.ensureRunning(place),
  },
  {
    name: "gateway-stopped",
    made: "SIGSTOP, for longer than its lease",
    mended: "SIGCONT",
    mayLose: "nothing",
    allows: { releasedHolds: true, estimates: true, failedAttempts: true },
    lastsMs: beyondLease,
    strike: (fleet, place) => fleet.signal(place, "SIGSTOP"),
    mend: (fleet, place) => fleet.signal(place, "SIGCONT"),
  },
  {
    name: "gateway-ended",
    made: "SIGTERM",
    mended: "started again on its home",
    mayLose: "the end of answers that take longer than DRAIN_SECONDS",
    allows: { estimates: true },
    strike: (fleet, place) => fleet.signal(place, "SIGTERM"),
    mend: (fleet, place) => fleet.ensureRunning(place),
  },
  {
    name: "gateway-clock-ahead",
    made: "started again with a clock that is 90 s ahead",
    mended: "started again with the right clock",
    mayLose: "the end of answers that take longer than DRAIN_SECONDS",
    allows: { estimates: true },
    ...clock(90_000),
  },
  {
    name: "gateway-clock-behind",
    made: "started again with a clock that is 90 s behind",
    mended: "started again with the right clock",
    mayLose: "the end of answers that take longer than DRAIN_SECONDS",
    allows: { estimates: true },
    ...clock(-90_000),
  },
  {
    name: "postgres-killed",
    made: "kill -9 of every process of it",
    mended: "started again on its data",
    mayLose: "nothing",
    ...downFor(
      (server) => server.kill(),
      (server) => server.start(),
    ),
  },
  {
    name: "postgres-stopped",
    made: "SIGSTOP of every process of it",
    mended: "SIGCONT",
    mayLose: "nothing",
    ...downFor(
      (server) => server.freeze(true),
      (server) => server.freeze(false),
    ),
  },
  {
    name: "postgres-connections-reset",
    made: "all connections of all gateways are closed",
    mended: "they may connect again at once",
    mayLose: "nothing",
    strike: (fleet) => eachRelay(fleet, (relay) => relay.cut()),
  },
  {
    name: "postgres-answers-lost",
    made: "what it answers to one gateway is swallowed",
    mended: "connections that lost an answer are closed",
    mayLose: "nothing",
    strike(fleet, place) {
      relayOf(fleet, place).losesAnswers = true;
    },
    mend(fleet, place) {
      relayOf(fleet, place).losesAnswers = false;
    },
  },
  { name: "postgres-slow", made: "each round trip takes 250 ms more", ...slow("postgres", 125) },
  { name: "postgres-slower", made: "each round trip takes 1 s more", ...slow("postgres", 500) },
  {
    name: "postgres-read-only",
    made: "default_transaction_read_only = on",
    mended: "off",
    mayLose: "nothing",
    strike: (fleet) => setReadOnly(fleet, "on"),
    mend: (fleet) => setReadOnly(fleet, "off"),
  },
  {
    name: "postgres-disk-full",
    made: "no file may grow beyond a segment, and that of the calls is as long",
    mended: "files may grow again",
    mayLose: "nothing",
    strike: fillDisk,
    mend: freeDisk,
  },
  {
    name: "postgres-failover",
    made: "the standby receives no more, the primary is killed some seconds later, the standby promoted",
    mended: "gateways are led to the standby",
    mayLose: "the calls, charges, credits and keys of the lag",
    allows: { lostCommits: true, releasedHolds: true, unknownKeys: true },
    needsStandby: true,
    lastsMs: [1000, 4000],
    async strike(fleet) {
      await fleet.untilDone(() => cutOff(fleet.standby as PostgresServer));
    },
    async mend(fleet) {
      const standby = fleet.standby as PostgresServer;
      if (fleet.primary === standby) return;
      await fleet.primary.kill();
      await promote(standby);
      fleet.moveTo(standby, { isCut: true });
    },
  },
  {
    name: "postgres-demoted",
    made: "the primary becomes read-only, the standby has all of it and is promoted, and connections to the old one stay",
    mended: "gateways that connect anew are led to the standby",
    mayLose: "nothing",
    needsStandby: true,
    strike: (fleet) => setReadOnly(fleet, "on"),
    mend: demote,
  },
  {
    name: "postgres-landed-on-standby",
    made: "one gateway is led to the standby",
    mended: "it is led to the primary, and its connections to the standby stay",
    mayLose: "nothing",
    needsStandby: true,
    strike(fleet, place) {
      const relay = relayOf(fleet, place);
      relay.targetPort = (fleet.standby as PostgresServer).port;
      relay.cut();
    },
    mend(fleet, place) {
      relayOf(fleet, place).targetPort = fleet.primary.port;
    },
  },
  {
    name: "postgres-synchronous-standby-stopped",
    made: "each commit waits for a standby that is stopped (SIGSTOP)",
    mended: "SIGCONT",
    mayLose: "nothing",
    needsStandby: true,
    async strike(fleet) {
      await setServer(fleet, "synchronous_standby_names", "'*'");
      fleet.standby?.freeze(true);
    },
    async mend(fleet) {
      fleet.standby?.freeze(false);
      await setServer(fleet, "synchronous_standby_names", "''");
    },
  },
  {
    name: "postgres-connections-taken",
    made: "others take all connections, and those of the gateways are closed",
    mended: "the others leave",
    mayLose: "nothing",
    ...heldBy(async (fleet, held) => {
      for (;;) {
        try {
          held.push(await connect(fleet));
        } catch {
          break;
        }
      }
      eachRelay(fleet, (relay) => relay.cut());
    }),
  },
  {
    name: "postgres-locked",
    made: "somebody keeps the tables of calls locked",
    mended: "they leave",
    mayLose: "nothing",
    ...heldBy(async (fleet, held) => {
      const client = await connect(fleet);
      held.push(client);
      await client.query("begin; lock table call_rows, open_call_rows in access exclusive mode");
    }),
  },
  {
    name: "postgres-restored",
    made: "a backup is restored into a new database, which takes the place of the old one",
    mended: "the gateways find it themselves",
    mayLose: "what was written after the backup",
    allows: { lostCommits: true, releasedHolds: true, unknownKeys: true },
    strike: (fleet) => fleet.untilDone(() => restore(fleet.url, fleet.backup)),
  },
  {
    name: "postgres-restored-in-place",
    made: "pg_restore --clean --if-exists --single-transaction into the database that the gateways use",
    mended: "the gateways find it themselves",
    mayLose: "what was written after the backup",
    allows: { lostCommits: true, releasedHolds: true, unknownKeys: true },
    strike: (fleet) => fleet.untilDone(() => restoreInPlace(fleet.url, fleet.backup)),
  },
  {
    name: "postgres-restored-in-steps",
    made: "pg_restore --clean --if-exists into the database that the gateways use, again until it has no error",
    mended: "the gateways find it themselves",
    mayLose: "what was written after the backup",
    allows: { lostCommits: true, releasedHolds: true, unknownKeys: true },
    strike: (fleet) => fleet.untilDone(() => restoreInPlace(fleet.url, fleet.backup, false)),
  },
  {
    name: "redis-killed",
    made: "kill -9",
    mended: "started again, empty",
    mayLose: "counts of requests a minute",
    strike: (fleet) => fleet.redis.stop("SIGKILL"),
    async mend(fleet) {
      const { port } = fleet.redis;
      await fleet.redis.remove();
      fleet.redis = await launchRedis({ port });
    },
  },
  {
    name: "redis-flushed",
    made: "FLUSHALL",
    mended: "nothing is needed",
    mayLose: "counts of requests a minute",
    strike: (fleet) => command(fleet, "FLUSHALL"),
  },
  { name: "redis-slow", made: "each round trip takes 400 ms more", ...slow("redis", 200) },
  { name: "redis-silent", made: "nothing comes through", ...slow("redis", Number.POSITIVE_INFINITY) },
  {
    name: "redis-read-only",
    made: "REPLICAOF a server that is not there",
    mended: "REPLICAOF NO ONE",
    mayLose: "nothing",
    strike: (fleet) => command(fleet, "REPLICAOF", "127.0.0.1", "1"),
    mend: (fleet) => command(fleet, "REPLICAOF", "NO", "ONE"),
  },
  {
    name: "redis-full",
    made: "maxmemory 1, noeviction",
    mended: "maxmemory 0",
    mayLose: "nothing",
    strike: (fleet) => command(fleet, "CONFIG", "SET", "maxmemory", "1"),
    mend: (fleet) => command(fleet, "CONFIG", "SET", "maxmemory", "0"),
  },
  { name: "provider-fails", made: "it answers 500", ...provider("fails") },
  { name: "provider-hangs", made: "it answers no more, nor goes on with streams", ...provider("hangs") },
  { name: "provider-cuts", made: "its streams break off", ...provider("cuts") },
];

type Repaired = Pick<Fault, "strike" | "mend">;

function relayOf(fleet: Fleet, place: number): SlowProxy {
  return (fleet.relays[place] as Fleet["relays"][number]).postgres;
}

function eachRelay(fleet: Fleet, change: (relay: SlowProxy) => void): void {
  for (const { postgres } of fleet.relays) change(postgres);
}

/** For the server that is the primary when it strikes, whichever is when it is mended. */
function downFor(strike: (server: PostgresServer) => unknown, mend: (server: PostgresServer) => unknown): Repaired {
  const struck = new WeakMap<Fleet, PostgresServer>();
  return {
    async strike(fleet) {
      struck.set(fleet, fleet.primary);
      await strike(fleet.primary);
    },
    async mend(fleet) {
      const server = struck.get(fleet) as PostgresServer;
      // One that was replaced meanwhile stays as it is: it takes no writes any more.
      if (server === fleet.primary) await mend(server);
    },
  };
}

function slow(store: "postgres" | "redis", delayMs: number): Omit<Fault, "name" | "made"> {
  const set = (fleet: Fleet, ms: number) => {
    for (const relays of fleet.relays) relays[store].delayMs = ms;
  };
  return {
    mended: "none waits any more",
    mayLose: "nothing",
    strike: (fleet) => set(fleet, delayMs),
    mend: (fleet) => set(fleet, 0),
  };
}

function provider(manner: ProviderManner): Omit<Fault, "name" | "made"> {
  return {
    mended: "it answers well",
    mayLose: "answers of the provider",
    // Beyond the silence that a gateway waits for.
    lastsMs: [1000, 8000],
    allows: { estimates: true, failedAttempts: true },
    strike: (fleet) => fleet.setProvider(manner),
    mend: (fleet) => fleet.setProvider("well"),
  };
}

function clock(aheadMs: number): Repaired & Pick<Fault, "lastsMs"> {
  const restart = async (fleet: Fleet, place: number, ms: number) => {
    fleet.clocksMs[place] = ms;
    fleet.signal(place, "SIGTERM");
    await fleet.ensureRunning(place);
  };
  return {
    lastsMs: [2000, 6000],
    strike: (fleet, place) => restart(fleet, place, aheadMs),
    mend: (fleet, place) => restart(fleet, place, 0),
  };
}

/** An operator who gets no answer asks again. */
async function command(fleet: Fleet, ...words: string[]): Promise<void> {
  await fleet.untilDone(() => fleet.redis.command(...words));
}

const setReadOnly = (fleet: Fleet, setting: "on" | "off") => setServer(fleet, "default_transaction_read_only", setting);

async function setServer(fleet: Fleet, name: string, value: string): Promise<void> {
  await fleet.untilDone(async () => {
    await queryPostgres(fleet.url, `alter system set ${name} = ${value}`);
    await queryPostgres(fleet.url, "select pg_reload_conf()");
  });
}

/** Promotes the standby when it has all that the primary wrote. */
async function demote(fleet: Fleet): Promise<void> {
  const standby = fleet.standby as PostgresServer;
  await fleet.untilDone(async () => {
    // One that another fault has promoted meanwhile is the primary already, and may never have had all.
    if (fleet.primary === standby) return await setReadOnly(fleet, "off");
    const [row] = await queryPostgres<{ end: string }>(fleet.url, "select pg_current_wal_lsn()::text as end");
    const [there] = await queryPostgres<{ has: boolean }>(
      standby.url("postgres"),
      `select pg_last_wal_replay_lsn() >= '${row?.end}' as has`,
    );
    if (there?.has !== true) throw new Error("The standby lacks what was written last");
    await promote(standby);
    fleet.moveTo(standby, { isCut: false });
  });
}

async function connect(fleet: Fleet): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: fleet.url });
  // The server may be killed meanwhile.
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

/** Connections of others, which leave when it is mended. */
function heldBy(take: (fleet: Fleet, held: pg.Client[]) => Promise<void>): Repaired {
  const clients = new WeakMap<Fleet, pg.Client[]>();
  return {
    async strike(fleet) {
      const held: pg.Client[] = [];
      clients.set(fleet, held);
      await fleet.untilDone(() => take(fleet, held));
    },
    async mend(fleet) {
      for (const client of clients.get(fleet) ?? []) client.connection.stream.destroy();
    },
  };
}

const segmentBytes = 16 * 1024 * 1024;

/** Rows of a call that take the room of the first segment of the table. They are in no sum. */
const addRows = (count: number, characters: number) =>
  `insert into call_rows (id, account_id, key_id, model, capability, premium, opened_at, hold_nanodollars, hold_tokens, session, state, settled_at)
    select convert_to('bloat' || gen_random_uuid(), 'UTF8'), 3, 3, 3, 3, 0, n, 0, 0, nullif(repeat('m', ${characters}), ''), 3, n
    from generate_series(1, ${count}) as n`;

async function fillDisk(fleet: Fleet): Promise<void> {
  await fleet.untilDone(async () => {
    await queryPostgres(fleet.url, "alter table call_rows set (autovacuum_enabled = off)");
    await queryPostgres(fleet.url, addRows(60_000, 400));
    await queryPostgres(fleet.url, "vacuum call_rows");
    await queryPostgres(fleet.url, addRows(20_000, 0));
    await fleet.primary.limitFiles(segmentBytes);
  });
}

async function freeDisk(fleet: Fleet): Promise<void> {
  await fleet.untilDone(async () => {
    await fleet.primary.limitFiles(undefined);
    await queryPostgres(fleet.url, "delete from call_rows where substring(id from 1 for 5) = 'bloat'");
    await queryPostgres(fleet.url, "alter table call_rows reset (autovacuum_enabled)");
  });
}

/** All pairs of different faults of the table. */
export function pairsOf(table: readonly Fault[]): (readonly Fault[])[] {
  return table.flatMap((one, at) => table.slice(at + 1).map((other) => [one, other]));
}

/** The faults that `a,b` names. @throws Of a name that is not in the table. */
export function faultsOf(names: string): readonly Fault[] {
  return names.split(",").map((name) => {
    const fault = faults.find((each) => each.name === name);
    if (fault === undefined) throw new Error(`There is no fault ${name}: --list prints them`);
    return fault;
  });
}

/** The pair that a seed draws. As many seeds in turn as there are pairs draw each of them once. */
export function drawPair(seed: number): readonly Fault[] {
  const pairs = pairsOf(faults);
  return pairs[(seed * 7919) % pairs.length] as readonly Fault[];
}
