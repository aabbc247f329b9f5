import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/**
 * Takes the lock of the process that serves from a database. The lock ends with that process, however the process ends.
 * It is an exclusive transaction on an empty SQLite database next to the main one: Node and Deno have no file locks of
 * their own.
 *
 * @param file The database.
 * @returns `undefined` when another process has the lock.
 */
export function takeServingLock(file: string): { release(): void } | undefined {
  const lock = `${file.replace(/\.db$/, "")}.lock`;
  createPrivate(lock);
  const database = new DatabaseSync(lock);
  try {
    database.exec("pragma busy_timeout = 0; begin exclusive");
  } catch {
    database.close();
    return undefined;
  }
  return { release: () => database.close() };
}

/** Opens no file that exists: closing it would release a lock that this process has on it. */
function createPrivate(file: string): void {
  try {
    closeSync(openSync(file, "ax", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
