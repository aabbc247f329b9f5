import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  existsSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { userInfo } from "node:os";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { GatewayError } from "../../contract/index.ts";
import { StoreError } from "../errors.ts";
import { expectUsable } from "../migrate.ts";
import { findDamage, syncFile } from "./backup-sqlite.ts";
import { takeServingLock } from "./serving-lock.ts";

/** Endings of the files of a database. SQLite would apply the log of the old database to the restored one. */
const suffixes = ["", "-wal", "-shm"] as const;

/**
 * Puts a backup in the place of the embedded database, which stays under another name. Until the last step the database is as
 * it was.
 *
 * @param stamp Part of the name of the database that was there.
 * @returns The path of the database that was there; `undefined` without one.
 * @throws {StoreError} When a gateway serves from the database, or files cannot be written.
 * @throws {GatewayError} `invalid_request` when the file is no backup of a gateway, or is damaged.
 */
export function restoreSqlite(path: string, backup: string, stamp: string): string | undefined {
  // The path may be a link to another disk.
  const file = existsSync(path) ? realpathSync(path) : path;
  checkBackup(backup);
  if (realpathSync(backup) === file) throw notRestorable(backup, "it is the database itself");
  const lock = takeServingLock(file);
  if (lock === undefined) throw new StoreError(`Cannot restore ${file}: a gateway serves from it; stop it first`);
  const partial = `${file}.${crypto.randomUUID()}.partial`;
  try {
    copyFileSync(backup, partial, constants.COPYFILE_EXCL);
    chmodSync(partial, 0o600);
    // Root restores for the user who runs the gateway.
    const { uid, gid } = statSync(existsSync(file) ? file : dirname(file));
    if (uid !== userInfo().uid) for (const made of [partial, lock.path]) chownSync(made, uid, gid);
    syncFile(partial);
    const previous = existsSync(file) ? findFree(`${file}.before-${stamp}`) : undefined;
    if (previous !== undefined) emptyLog(file);
    if (previous !== undefined) move(file, previous);
    try {
      renameSync(partial, file);
    } catch (error) {
      if (previous !== undefined) move(previous, file);
      throw error;
    }
    syncFile(dirname(file));
    return previous;
  } catch (error) {
    rmSync(partial, { force: true });
    throw new StoreError(`Cannot restore ${file}: ${(error as Error).message}`, error);
  } finally {
    lock.release();
  }
}

/** Renames a database, its log first: SQLite would apply that to whatever database is there. */
function move(from: string, to: string): void {
  for (const suffix of suffixes.toReversed()) {
    if (existsSync(from + suffix)) renameSync(from + suffix, to + suffix);
  }
}

/** A name that nothing has, also within one second. */
function findFree(path: string): string {
  const isFree = (name: string) => suffixes.every((suffix) => !existsSync(name + suffix));
  let name = path;
  for (let count = 2; !isFree(name); count++) name = `${path}-${count}`;
  return name;
}

/** Writes the log into the database. One that is damaged is kept as it is. */
function emptyLog(file: string): void {
  try {
    const database = new DatabaseSync(file);
    database.exec("pragma wal_checkpoint(truncate)");
    database.close();
  } catch {}
}

/** A file may be anything, such as a backup that was copied in part. */
function checkBackup(path: string): void {
  if (!existsSync(path)) throw notRestorable(path, "there is no such file");
  if (!statSync(path).isFile()) throw notRestorable(path, "it is no file");
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    const damage = findDamage(database);
    if (damage !== undefined) throw new Error(`it is damaged (${damage})`);
    const isOurs = database.prepare("select 1 from sqlite_schema where name = 'schema_versions'").get() !== undefined;
    if (!isOurs) throw new Error("it is no database of a gateway");
    const versions = database.prepare("select version, hash from schema_versions order by version").all();
    expectUsable(versions as { version: number; hash: string }[], "sqlite");
  } catch (error) {
    throw notRestorable(path, (error as Error).message);
  } finally {
    database?.close();
  }
}

function notRestorable(path: string, reason: string): GatewayError {
  return new GatewayError("invalid_request", `Cannot restore ${path}: ${reason}`, { param: "FILE" });
}
