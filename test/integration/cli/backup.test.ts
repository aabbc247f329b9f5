import { afterEach, describe, expect, test } from "bun:test";
import {
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { getDatabaseFile } from "../../../src/config/index.ts";
import { openStore } from "../../../src/db/index.ts";
import { takeServingLock } from "../../../src/db/sqlite/serving-lock.ts";
import { recordCalls } from "../../support/payers.ts";
import { chargeOf } from "../db/facts.ts";
import { type Bench, makeBench } from "./fixture.ts";

const benches: Bench[] = [];
const folders: string[] = [];
afterEach(() => {
  for (const bench of benches.splice(0)) bench.remove();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function makeHome(env: Record<string, string> = {}, more: Parameters<typeof makeBench>[0] = {}) {
  const bench = makeBench({ env, ...more });
  benches.push(bench);
  const folder = mkdtempSync(join(tmpdir(), "modelgate-backup-"));
  folders.push(folder);
  return { bench, folder, target: join(folder, "copy.db") };
}

/** A home with one call in its ledger. */
async function homeWithCall() {
  const home = makeHome();
  const store = await openStore({ file: getDatabaseFile(home.bench) });
  await recordCalls(store, chargeOf("c1"));
  return { ...home, store };
}

/** Overwrites most of the first page of a table, as a disk that fails may. */
function damage(file: string, table: string): void {
  const database = new DatabaseSync(file);
  database.exec("pragma wal_checkpoint(truncate)");
  const { rootpage } = database.prepare("select rootpage from sqlite_schema where name = ?").get(table) as {
    rootpage: number;
  };
  const { page_size: pageBytes } = database.prepare("pragma page_size").get() as { page_size: number };
  database.close();
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, Buffer.alloc(2000, 0xaa), 0, 2000, (rootpage - 1) * pageBytes);
  closeSync(descriptor);
}

test("a damaged page is found by ledger verify, also where no figure stands in it, and is not backed up", async () => {
  const { bench, folder, target, store } = await homeWithCall();
  await store.close();
  expect((await bench.run("ledger", "verify")).code).toBe(0);
  damage(getDatabaseFile(bench), "alert_history");
  const { code, stdout } = await bench.run("ledger", "verify");
  expect([code, stdout]).toEqual([1, expect.stringContaining("The database file is damaged, restore a backup: ")]);
  const refused = await bench.run("backup", target);
  expect([refused.code, readdirSync(folder)]).toEqual([5, []]);
});

describe("modelgate backup", () => {
  test("copies what is committed, also what SQLite has in its log alone, readable by its owner only", async () => {
    const { bench, folder, target, store } = await homeWithCall();
    const { file, bytes } = await bench.json<{ file: string; bytes: number }>("backup", target);
    expect([file, bytes]).toEqual([target, statSync(target).size]);
    expect(statSync(target).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["copy.db"]);
    await recordCalls(store, chargeOf("c2"));
    await store.close();
    const copy = await openStore({ file: target });
    expect((await copy.db.selectFrom("calls").select("id").execute()).map(({ id }) => id)).toEqual(["c1"]);
    await copy.close();
  });

  test("says in words where the copy is", async () => {
    const { bench, target, store } = await homeWithCall();
    const { code, stdout } = await bench.run("backup", target);
    expect([code, stdout]).toEqual([0, `Wrote ${target}, ${statSync(target).size} bytes\n`]);
    await store.close();
  });

  test("never overwrites", async () => {
    const { bench, folder, target, store } = await homeWithCall();
    writeFileSync(target, "precious");
    expect(await bench.run("backup", target)).toEqual({
      code: 4,
      stdout: "",
      stderr: `Cannot write the backup ${target}: it exists already; name a file that does not\n`,
    });
    expect(readFileSync(target, "utf8")).toBe("precious");
    expect(readdirSync(folder)).toEqual(["copy.db"]);
    await store.close();
  });

  test("into a folder that is none says so", async () => {
    const { bench, folder, store } = await homeWithCall();
    const target = join(folder, "nowhere", "copy.db");
    const { code, stderr } = await bench.run("backup", target);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^Cannot write the backup \S+copy\.db: ENOENT[^\n]*\n$/);
    await store.close();
  });

  test("of what is not a database leaves nothing", async () => {
    const { bench, folder, target } = makeHome();
    writeFileSync(getDatabaseFile(bench), "This is a shopping list, not a database. ".repeat(200));
    const { code, stderr } = await bench.run("backup", target);
    expect([code, stderr]).toEqual([5, `Cannot write the backup ${target}: file is not a database\n`]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("of a home without a database makes none", async () => {
    const { bench, target } = makeHome();
    const file = getDatabaseFile(bench);
    expect((await bench.run("backup", target)).stderr).toBe(`Cannot back up ${file}: there is no database yet\n`);
    expect(readdirSync(bench.home)).toEqual([]);
  });

  test("over PostgreSQL names pg_dump", async () => {
    const { bench, target } = makeHome({ DATABASE_URL: "postgres://a:b@127.0.0.1:1/c" });
    expect(await bench.run("backup", target)).toEqual({
      code: 2,
      stdout: "",
      stderr: "Cannot back up the PostgreSQL database of DATABASE_URL: use pg_dump\n",
    });
  });
});

describe("modelgate restore", () => {
  test("puts a backup in the place of the database, which is kept with all that was committed", async () => {
    const { bench, target, store } = await homeWithCall();
    await bench.run("backup", target);
    await recordCalls(store, chargeOf("c2"));
    await store.close();
    const { file, previous } = await bench.json<{ file: string; previous: string }>("restore", target);
    const idsOf = async (path: string) => {
      const opened = await openStore({ file: path });
      const calls = await opened.db.selectFrom("calls").select("id").orderBy("id").execute();
      await opened.close();
      return calls.map(({ id }) => id);
    };
    expect([file, await idsOf(file), await idsOf(previous)]).toEqual([getDatabaseFile(bench), ["c1"], ["c1", "c2"]]);
    expect([statSync(file).mode & 0o777, existsSync(target)]).toEqual([0o600, true]);
  });

  test("keeps each database that was there, also within one second", async () => {
    const { bench, target, store } = await homeWithCall();
    await bench.run("backup", target);
    await store.close();
    const previous: string[] = [];
    for (let count = 0; count < 3; count++) {
      previous.push((await bench.json<{ previous: string }>("restore", target)).previous);
    }
    const first = `${getDatabaseFile(bench)}.before-20261121T100000Z`;
    expect(previous).toEqual([first, `${first}-2`, `${first}-3`]);
    expect(previous.map(existsSync)).toEqual([true, true, true]);
  });

  test("is refused while a gateway serves from the same database by another path", async () => {
    const { bench, folder, target, store } = await homeWithCall();
    await bench.run("backup", target);
    await store.close();
    const file = getDatabaseFile(bench);
    renameSync(file, join(folder, "data.sqlite"));
    symlinkSync(join(folder, "data.sqlite"), file);
    const serving = await openStore({ file });
    expect(serving.lockForServing?.()).toBe(true);
    expect(await bench.run("restore", target)).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("a gateway serves from it; stop it first"),
    });
    await serving.close();
    const { previous } = await bench.json<{ previous: string }>("restore", target);
    expect(previous).toStartWith(join(folder, "data.sqlite.before-"));
    expect(readlinkSync(file)).toBe(join(folder, "data.sqlite"));
  });

  test("as root gives the user of the home all files that it makes", async () => {
    if (process.getuid?.() !== 0) return console.log("Not run: only root gives files to other users");
    const { bench, target, store } = await homeWithCall();
    await bench.run("backup", target);
    await store.close();
    const next = makeHome();
    chownSync(next.bench.home, 12_345, 12_345);
    await next.bench.json("restore", target);
    const owners = readdirSync(next.bench.home).map((name) => [name, statSync(join(next.bench.home, name)).uid]);
    expect(owners.toSorted()).toEqual([
      ["modelgate.db", 12_345],
      ["modelgate.lock", 12_345],
    ]);
  });

  test("into a home without a database makes it", async () => {
    const { bench, target, store } = await homeWithCall();
    await bench.run("backup", target);
    await store.close();
    const next = makeHome();
    expect(await next.bench.json("restore", target)).toMatchObject({ previous: null, unreadable_keys: [] });
    expect((await next.bench.run("ledger", "verify")).code).toBe(0);
  });

  test("names the providers whose stored keys this home cannot read", async () => {
    const { bench, target } = makeHome({}, { stdin: async () => "sk-real" });
    expect((await bench.run("provider", "key", "set", "acme")).code).toBe(0);
    await bench.run("backup", target);
    const next = makeHome();
    const { code, stdout } = await next.bench.run("restore", target);
    expect(code).toBe(0);
    expect(stdout).toContain("The stored keys of acme cannot be read: bring the SECRETS_KEY");
    copyFileSync(join(bench.home, "secrets.key"), join(next.bench.home, "secrets.key"));
    expect((await next.bench.run("restore", target, "--json")).stdout).toContain('"unreadable_keys":[]');
  });

  test("leaves the database as it is while a gateway serves from it, and for a file that is no backup", async () => {
    const { bench, folder, target, store } = await homeWithCall();
    await bench.run("backup", target);
    const file = getDatabaseFile(bench);
    const lock = takeServingLock(file);
    expect(await bench.run("restore", target)).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("a gateway serves from it; stop it first"),
    });
    lock?.release();
    const text = join(folder, "list.db");
    writeFileSync(text, "This is a shopping list, not a database. ".repeat(200));
    const half = join(folder, "half.db");
    writeFileSync(half, readFileSync(target).subarray(0, 20_000));
    const other = join(folder, "other.db");
    new DatabaseSync(other).exec("create table t (a)");
    const newer = join(folder, "newer.db");
    copyFileSync(target, newer);
    new DatabaseSync(newer).exec("insert into schema_versions (version, hash, applied_at) values (99, 'x', 0)");
    const damaged = join(folder, "damaged.db");
    writeFileSync(damaged, readFileSync(target).fill(255, 200_000, 260_000));
    for (const wrong of [text, half, other, newer, damaged, folder, join(folder, "none.db"), file]) {
      const { code, stderr } = await bench.run("restore", wrong);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/^Cannot restore \S+: [^\n]+\n$/)]);
    }
    expect((await store.db.selectFrom("calls").select("id").execute()).map(({ id }) => id)).toEqual(["c1"]);
    expect(readdirSync(bench.home).filter((name) => /before|partial/.test(name))).toEqual([]);
    await store.close();
  });
});
