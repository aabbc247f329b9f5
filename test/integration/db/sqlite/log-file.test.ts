import { expect, test } from "bun:test";
import { DatabaseSync } from "node:sqlite";
import { type Kysely, sql } from "kysely";
import { type Database, isOutcomeUnknown } from "../../../../src/db/index.ts";
import { LogFile, openSqlite } from "../../../../src/db/sqlite/open-sqlite.ts";
import { errorOf } from "../../../support/error-of.ts";
import { temporaryFile } from "../temporary-store.ts";

function openLog(sync: () => Promise<void>, syncNow: () => void = () => expect.unreachable(), now = () => 0) {
  const file = temporaryFile();
  const database = new DatabaseSync(file);
  database.exec("pragma journal_mode = wal; pragma synchronous = full; create table t (n)");
  const level = () => database.prepare("pragma synchronous").get()?.synchronous;
  const insert = () => {
    expect(level()).toBe(1);
    database.exec("insert into t values (1)");
  };
  const count = () => database.prepare("select count(*) as n from t").get()?.n;
  return { database, log: new LogFile(database, `${file}-wal`, { sync, syncNow, now }), level, insert, count };
}

test("a commit counts once the log is synced, and the event loop goes on meanwhile", async () => {
  const disk = Promise.withResolvers<void>();
  const { database, log, level, insert, count } = openLog(() => disk.promise);
  let isDone = false;
  log.leaveUnsynced(insert);
  const written = log.sync().then(() => {
    isDone = true;
  });
  await Bun.sleep(1);
  // Written, and not yet on the disk.
  expect([count(), isDone]).toEqual([1, false]);
  // SQLite syncs all other transactions itself.
  log.syncAtCommit();
  expect(level()).toBe(2);
  disk.resolve();
  await written;
  expect(isDone).toBe(true);
  await log.close();
  database.close();
});

test("a lone commit is synced at once while syncs take less than a millisecond, and by a thread otherwise", async () => {
  let [ms, clock] = [0.1, 0];
  const syncs: string[] = [];
  const sync = (how: string) => {
    syncs.push(how);
    clock += ms;
  };
  const { database, log, insert } = openLog(
    async () => sync("thread"),
    () => sync("at once"),
    () => clock,
  );
  const commit = async (isAlone: boolean) => {
    log.leaveUnsynced(insert);
    await log.sync(isAlone);
    return syncs.at(-1);
  };
  // The first one is measured. What waits together with others leaves the event loop free.
  expect([await commit(true), await commit(true), await commit(false)]).toEqual(["thread", "at once", "thread"]);
  ms = 20;
  expect([await commit(true), await commit(true)]).toEqual(["at once", "thread"]);
  ms = 0.1;
  syncs.length = 0;
  for (let time = 0; time < 100; time++) await commit(true);
  expect([syncs[0], syncs.at(-1)]).toEqual(["thread", "at once"]);
  await log.close();
  database.close();
});

test.each(["by a thread", "at once"])(
  "a disk that refuses to sync %s leaves the outcome unknown, and the next commit is synced",
  async (how) => {
    let isBroken = false;
    const sync = () => {
      if (isBroken) throw Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" });
    };
    const { database, log, level, insert, count } = openLog(async () => sync(), sync);
    log.leaveUnsynced(insert);
    await log.sync();
    isBroken = true;
    log.leaveUnsynced(insert);
    const error = await errorOf(log.sync(how === "at once"));
    log.syncAtCommit();
    expect([isOutcomeUnknown(error), count(), level()]).toEqual([true, 2, 2]);
    isBroken = false;
    log.leaveUnsynced(insert);
    await log.sync();
    expect(count()).toBe(3);
    await log.close();
    database.close();
  },
);

test("after a transaction that fails, SQLite syncs the others as before", async () => {
  const { database, log, level, insert } = openLog(async () => undefined);
  expect(() => log.leaveUnsynced(() => database.exec("insert into nothing values (1)"))).toThrow("nothing");
  log.syncAtCommit();
  expect(level()).toBe(2);
  log.leaveUnsynced(insert);
  log.syncAtCommit();
  expect(level()).toBe(2);
  await log.close();
  database.close();
});

test("every other write of a store is synced by SQLite, whatever its calls have left", async () => {
  const store = await openSqlite({ file: temporaryFile(), now: Date.now });
  const level = async (db: Kysely<Database> = store.db) => {
    const { rows } = await sql<{ synchronous: number }>`select synchronous from pragma_synchronous`.execute(db);
    return rows[0]?.synchronous;
  };
  const writes: Record<string, () => Promise<unknown>> = {
    statement: () => sql`update settings set value = value`.execute(store.db),
    "with what it returns": () => sql`update settings set value = value returning name`.execute(store.db),
    "behind a query of its own": () =>
      sql`with a as (select 1 as n) update settings set value = value where exists (select * from a)`.execute(store.db),
    transaction: () => store.change(async (db: Kysely<Database>) => expect(await level(db)).toBe(2)),
    setting: () => store.setting("a setting", () => "of its own"),
  };
  for (const [name, write] of Object.entries(writes)) {
    await store.writeLedger([]);
    expect([name, await level()]).toEqual([name, 1]);
    await write();
    expect([name, await level()]).toEqual([name, 2]);
  }
  await store.close();
});
