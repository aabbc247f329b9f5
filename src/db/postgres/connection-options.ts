import type { ClientConfig } from "pg";
import pg from "pg";

const int8 = 20;
const numeric = 1700;

/** Whole numbers come as text, since they may be beyond 2^53. Here none may, and a sum that is must not pass unseen. */
function readWhole(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new RangeError(`Cannot read ${text} from the database: expected a whole number within 2^53`);
}

const getTypeParser = ((oid: number, format?: "text" | "binary") =>
  oid === int8 || oid === numeric
    ? readWhole
    : pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser;

/** How every connection of a store is made; `name` is shown to the database's operator. */
export function connectionOptions(url: string, name: string): ClientConfig {
  return { connectionString: url, application_name: name, types: { getTypeParser }, keepAlive: true };
}

/** The URL without its password, for messages. */
export function shownUrl(url: string): string {
  const { protocol, username, host, pathname } = new URL(url);
  return `${protocol}//${username === "" ? "" : `${username}@`}${host}${pathname}`;
}
