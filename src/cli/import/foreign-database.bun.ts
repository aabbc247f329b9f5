import { readJson } from "../../lib/json.ts";
import { UnreachableError } from "../unreachable.ts";

/** A row of another gateway's database. Its columns differ by version, so each is looked at before it is used. */
export type ForeignRow = Readonly<Record<string, unknown>>;

/** The database of another gateway. The import only reads it. */
export interface ForeignDatabase {
  /** All rows of a table; empty when there is no such table. */
  readTable(name: string): Promise<ForeignRow[]>;
  /** The names of its tables. */
  listTables(): Promise<string[]>;
  countRows(table: string): Promise<number>;
  close(): Promise<void>;
}

/** @param url `postgres://…`, `mysql://…` or the path of an SQLite file. @throws {UnreachableError} When it cannot be opened. */
export async function openForeignDatabase(url: string): Promise<ForeignDatabase> {
  const isServer = /^(postgres(ql)?|mysql):\/\//.test(url);
  const isPostgres = url.startsWith("postgres");
  // An import of it would be loaded by every command: a global is loaded where it is first read.
  const { SQL } = Bun;
  const sql = isServer
    ? new SQL(url, { max: 1 })
    : new SQL({ adapter: "sqlite", filename: url.replace(/^sqlite:(\/\/)?/, ""), readonly: true });
  try {
    await sql.unsafe("select 1");
  } catch (error) {
    await sql.close();
    throw new UnreachableError(`The database cannot be opened: ${(error as Error).message}`);
  }
  const mark = isServer && !isPostgres ? "`" : '"';
  // Table names can come from the other database, so they are quoted too.
  const quote = (name: string) => `${mark}${name.replaceAll(mark, mark + mark)}${mark}`;
  return {
    async readTable(name) {
      try {
        // PostgreSQL's own JSON: lists, times and large numbers come as text and plain values.
        if (isPostgres) {
          const rows = await sql.unsafe(`select row_to_json(t)::text as row from ${quote(name)} as t`);
          return rows.map(({ row }: { row: string }) => readJson(row, "file") as ForeignRow);
        }
        return [...(await sql.unsafe(`select * from ${quote(name)}`))].map(decodeRow);
      } catch (error) {
        if (isMissingTable(error as Error, name)) return [];
        throw error;
      }
    },
    async listTables() {
      const query = !isServer
        ? "select name from sqlite_master where type = 'table'"
        : `select table_name as name from information_schema.tables where table_schema = ${isPostgres ? "current_schema()" : "database()"}`;
      return [...(await sql.unsafe(query))].map(({ name }: { name: string }) => name);
    },
    async countRows(table) {
      const [row] = await sql.unsafe(`select count(*) as count from ${quote(table)}`);
      return Number((row as { count: unknown }).count);
    },
    close: () => sql.close(),
  };
}

/**
 * Whether an error says that there is no table of this name. Any other error, such as a broken or unreadable table,
 * must not count as an empty table: its restrictions would be lost.
 */
function isMissingTable({ message, ...error }: Error, name: string): boolean {
  const { errno } = error as { errno?: unknown };
  // `undefined_table` of PostgreSQL and ER_NO_SUCH_TABLE of MySQL; SQLite has one number for all errors of a statement.
  return errno === "42P01" || errno === 1146 || message === `no such table: ${name}`;
}

/**
 * Columns of bytes have text too: SQLite keeps any value in any column, and MySQL has text of a binary collation. Both keep the
 * character NUL in a text, which PostgreSQL refuses.
 */
function decodeRow(row: ForeignRow): ForeignRow {
  const entries = Object.entries(row).map(([name, value]) => {
    const plain = value instanceof Uint8Array ? decodeBytes(value) : value;
    return [name, typeof plain === "string" ? plain.replaceAll("\0", "\uFFFD") : plain];
  });
  return Object.fromEntries(entries);
}

/** A single bit is a flag of MySQL. */
function decodeBytes(bytes: Uint8Array): string | number {
  const [first] = bytes;
  return bytes.length === 1 && first !== undefined && first <= 1 ? first : new TextDecoder().decode(bytes);
}

/** Reads a text, also if it is stored as a number; `undefined` if it is empty. */
export function textOf(value: unknown): string | undefined {
  const text = typeof value === "number" || typeof value === "bigint" ? String(value) : value;
  return typeof text === "string" && text.trim() !== "" ? text.trim() : undefined;
}

/** A number, also written as text. */
export function readNumber(value: unknown): number | undefined {
  if (value === null || value === undefined || value === "") return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

/**
 * Reads a flag, which SQLite and MySQL keep as a number.
 *
 * @param unreadable The result for a value that is not a flag: the stricter meaning.
 */
export function flagOf(value: unknown, unreadable: boolean): boolean {
  if (value === null || value === undefined) return false;
  const text = String(value).trim();
  if (["true", "1"].includes(text)) return true;
  return ["false", "0", ""].includes(text) ? false : unreadable;
}
