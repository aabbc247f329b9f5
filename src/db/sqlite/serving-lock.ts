import { closeSync, existsSync, openSync, realpathSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "../errors.ts";

/**
 * Takes the lock of the process that serves from a database. The lock ends with that process, however the process ends.
 * It is an exclusive transaction on an empty SQLite database next to the main one: Node and Deno have no file locks of
 * their own.
 *
 * @param file The database.
 * @returns `undefined` when another process has the lock.
 * @throws {StoreError} When the lock cannot be opened, such as by another user than the one who made it.
 */
export function takeServingLock(file: string): { readonly path: string; release(): void } | undefined {
  // All links to a database lead to one lock.
  const path = `${(existsSync(file) ? realpathSync(file) : file).replace(/\.db$/, "")}.lock`;
  const database = openLock(path);
  try {
    database.exec("pragma busy_timeout = 0; begin exclusive");
  } catch {
    database.close();
    return undefined;
  }
  return { path, release: () => database.close() };
}

function openLock(path: string): DatabaseSync {
  try {
    createPrivate(path);
    return new DatabaseSync(path);
  } catch (error) {
    const advice = "the user that runs the gateway must own it";
    throw new StoreError(`Cannot open ${path}: ${(error as Error).message}; ${advice}`, error);
  }
}

/** Opens no file that exists: closing it would release a lock that this process has on it. */
function createPrivate(file: string): void {
  try {
    closeSync(openSync(file, "ax", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
