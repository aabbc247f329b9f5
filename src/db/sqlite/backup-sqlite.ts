import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { GatewayError } from "../../contract/index.ts";
import { StoreError } from "../errors.ts";

/** Reading only waits while another process recovers the log after a crash. */
const lockWaitMs = 10_000;

/**
 * Copies the embedded database as it is at one moment, also while a gateway serves from it. The copy needs no other file
 * and is on the disk, readable by its owner only, before it gets its name.
 *
 * @returns Its size in bytes.
 * @throws {StoreError} When there is no database, it cannot be copied, or the copy is damaged; nothing is left then.
 * @throws {GatewayError} `conflict` when the target exists, `invalid_request` when it cannot be made.
 */
export function backupSqlite(file: string, target: string): number {
  if (!existsSync(file)) throw new StoreError(`Cannot back up ${file}: there is no database yet`);
  refuseExisting(target);
  const partial = `${target}.${crypto.randomUUID()}.partial`;
  try {
    createPartial(partial, target);
    copyInto(file, partial);
    checkCopy(partial);
    syncFile(partial);
    refuseExisting(target);
    renameSync(partial, target);
    syncFile(dirname(target));
    return statSync(target).size;
  } catch (error) {
    rmSync(partial, { force: true });
    if (error instanceof StoreError || error instanceof GatewayError) throw error;
    throw new StoreError(`Cannot write the backup ${target}: ${(error as Error).message}`, error);
  }
}

/** SQLite takes an empty file for the copy, and would make one that others can read. */
function createPartial(partial: string, target: string): void {
  try {
    closeSync(openSync(partial, "wx", 0o600));
  } catch (error) {
    const message = `Cannot write the backup ${target}: ${(error as Error).message}`;
    throw new GatewayError("invalid_request", message, { param: "FILE", cause: error });
  }
}

/** `VACUUM INTO` reads in one transaction: writes during the copy are not in it. */
function copyInto(file: string, target: string): void {
  const database = new DatabaseSync(file);
  try {
    database.exec(`pragma busy_timeout = ${lockWaitMs}`);
    database.prepare("vacuum into ?").run(target);
  } finally {
    database.close();
  }
}

/** Checks that the copy can be restored; otherwise it is not a backup. */
function checkCopy(path: string): void {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const damage = findDamage(database);
    if (damage === undefined) return;
    throw new StoreError(`Cannot back up the database: the copy is damaged, and so may the database be (${damage})`);
  } finally {
    database.close();
  }
}

/** The first damage that SQLite finds in a database, on one line; `undefined` if it is whole. */
export function findDamage(database: DatabaseSync): string | undefined {
  const [row] = database.prepare("pragma quick_check(1)").all() as { quick_check: string }[];
  return row?.quick_check === "ok" ? undefined : String(row?.quick_check).replace(/\s+/g, " ");
}

/** Writes a file, or the names in a folder, to the disk. */
export function syncFile(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function refuseExisting(target: string): void {
  if (!existsSync(target)) return;
  const message = `Cannot write the backup ${target}: it exists already; name a file that does not`;
  throw new GatewayError("conflict", message, { param: "FILE" });
}
