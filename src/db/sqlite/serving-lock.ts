import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/**
 * Takes the lock of the process that serves from a database; it ends with that process, however that ends. It is an
 * exclusive transaction on an empty SQLite database beside the database: Node and Deno have no file locks of their own.
 *
 * @returns `undefined` when another process has it.
 */
export function takeServingLock(file: string): { release(): void } | undefined {
  createPrivate(file);
  const database = new DatabaseSync(file);
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
