import { SQL } from "bun";
import { readJson } from "../../lib/json.ts";
import { UsageError } from "../command.ts";

/** A row of another gateway's database. Its columns differ by version, so each is looked at before it is used. */
export type ForeignRow = Readonly<Record<string, unknown>>;

/** The database of another gateway, of which nothing is changed. */
export interface ForeignDatabase {
  /** All rows of a table; empty when there is no such table. */
  readTable(name: string): Promise<ForeignRow[]>;
  /** The names of its tables. */
  listTables(): Promise<string[]>;
  countRows(table: string): Promise<number>;
  close(): Promise<void>;
}

/** @param url `postgres://…`, `mysql://…` or the path of an SQLite file. @throws {UsageError} When it cannot be opened. */
export async function openForeignDatabase(url: string): Promise<ForeignDatabase> {
  const isServer = /^(postgres(ql)?|mysql):\/\//.test(url);
  const isPostgres = url.startsWith("postgres");
  const sql = isServer
    ? new SQL(url, { max: 1 })
    : new SQL({ adapter: "sqlite", filename: url.replace(/^sqlite:(\/\/)?/, ""), readonly: true });
  try {
    await sql.unsafe("select 1");
  } catch (error) {
    await sql.close();
    throw new UsageError(`The database cannot be opened: ${(error as Error).message}`);
  }
  const quote = (name: string) => (isServer && !isPostgres ? `\`${name}\`` : `"${name}"`);
  return {
    async readTable(name) {
      try {
        // PostgreSQL's own JSON: lists, times and large numbers come as text and plain values.
        if (isPostgres) {
          const rows = await sql.unsafe(`select row_to_json(t)::text as row from ${quote(name)} as t`);
          return rows.map(({ row }: { row: string }) => readJson(row, "file") as ForeignRow);
        }
        return [...(await sql.unsafe(`select * from ${quote(name)}`))];
      } catch (error) {
        if (/no such table|does not exist|doesn't exist/i.test((error as Error).message)) return [];
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

/** A text; `undefined` for anything else and an empty one. */
export function readText(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

/** A number, also written as text. */
export function readNumber(value: unknown): number | undefined {
  if (value === null || value === undefined || value === "") return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

/** A flag, which SQLite and MySQL keep as a number. */
export function readFlag(value: unknown): boolean {
  return value === true || value === 1 || value === "1" || value === "true" || value === 1n;
}
