import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Database } from "./schema.ts";

/** Rows of a range: at first, and as many as take between half of these milliseconds and all. */
const rowsAtFirst = 128;
const rangeMs = 6;
const rowsMin = 128;
/** Where rows are few in between, larger ranges would meet the next ones all at once. */
const rowsMax = 4096;

/** The places behind `after` and up to `last`; undefined: from the beginning, to the end. */
interface Range<Place> {
  readonly after: Place | undefined;
  readonly last: Place | undefined;
}

/**
 * Cuts rows into ranges. Between two ranges the event loop runs other work, because it is blocked while the embedded
 * store reads.
 *
 * @param findLast Finds the place of the last of the next `rows` rows after a place; undefined if fewer are left.
 * @param rowsEach Number of rows that each row of the range leads to.
 */
export async function* toRanges<Place>(
  findLast: (after: Place | undefined, rows: number) => Promise<Place | undefined>,
  rowsEach = 1,
): AsyncGenerator<Range<Place>, undefined> {
  const most = Math.max(rowsMin, Math.floor(rowsMax / rowsEach));
  let after: Place | undefined;
  let rows = Math.min(rowsAtFirst, most);
  while (true) {
    const startedMs = performance.now();
    const last = await findLast(after, rows);
    yield { after, last };
    if (last === undefined) return;
    const tookMs = performance.now() - startedMs;
    if (tookMs > rangeMs) rows = Math.max(rowsMin, Math.ceil(rows / 2));
    else if (tookMs < rangeMs / 2) rows = Math.min(most, rows * 2);
    after = last;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** An order of rows by an index: the columns of one table, which no two rows have in common. */
export interface IndexOrder {
  readonly table: "accounts" | "keys" | "wallet_rows";
  readonly columns: readonly string[];
  readonly isDescending?: boolean | undefined;
}

/**
 * Yields conditions that each select one range of a table's rows, one after the other. For `rowsEach` see
 * {@link toRanges}.
 */
export async function* rangesOf(
  db: Kysely<Database>,
  { table, columns, isDescending = false }: IndexOrder,
  rowsEach = 1,
): AsyncGenerator<RawBuilder<SqlBool>, undefined> {
  const refs = columns.map((column) => sql.ref(`${table}.${column}`));
  const compare = (operator: string, place: Place | undefined) =>
    place === undefined
      ? sql<SqlBool>`true`
      : sql<SqlBool>`(${sql.join(refs)}) ${sql.raw(operator)} (${sql.join(columns.map((column) => place[column]))})`;
  const [behind, upTo] = isDescending ? ["<", ">="] : [">", "<="];
  const order = sql.join(refs.map((ref) => (isDescending ? sql`${ref} desc` : ref)));
  const ranges = toRanges<Place>(async (after, rows) => {
    const query = sql<Place>`select ${sql.join(refs)} from ${sql.table(table)} where ${compare(behind, after)}
      order by ${order} limit 1 offset ${rows - 1}`;
    return (await query.execute(db)).rows[0];
  }, rowsEach);
  for await (const { after, last } of ranges) yield sql`${compare(behind, after)} and ${compare(upTo, last)}`;
}

type Place = Readonly<Record<string, string | number>>;

/** A row that a search has found: its id, and the value that it is sorted by. */
export interface FoundRow {
  readonly id: string;
  readonly value: string | number | null;
}

/** A page of a search of the rows of a table. */
export interface RangeSearch {
  /** Order of reading. */
  readonly by: IndexOrder;
  /** Order of the result; undefined: the order of reading, and the search stops once the page is full. */
  readonly compare: ((one: FoundRow, other: FoundRow) => number) | undefined;
  /** Reads the first rows of a range that fit, in the wanted order. */
  readonly read: (range: RawBuilder<SqlBool>, limit: number) => Promise<readonly FoundRow[]>;
  readonly limit: number;
  readonly offset: number;
}

/** The ids of a page, for the embedded store. Rows that change their place during the search may be missed. */
export async function findInRanges(
  db: Kysely<Database>,
  { by, compare, read, limit, offset }: RangeSearch,
): Promise<string[]> {
  const most = offset + limit;
  let matches: FoundRow[] = [];
  for await (const range of rangesOf(db, by)) {
    matches = matches.concat(await read(range, compare === undefined ? most - matches.length : most));
    if (compare === undefined && matches.length >= most) break;
    // Not after each range: for a late page, each sort would include all the rows before it.
    if (compare !== undefined && matches.length > 2 * most) matches = matches.sort(compare).slice(0, most);
  }
  if (compare !== undefined) matches.sort(compare);
  return matches.slice(offset, most).map(({ id }) => id);
}

/** Rows in the order of their ids; those that are gone are left out. */
export function inOrderOf<Row extends { readonly id: string }>(ids: readonly string[], rows: readonly Row[]): Row[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** Compares by values as the embedded store does, nothing standing last, and then by id. */
export function compareFound(isDescending: boolean): (one: FoundRow, other: FoundRow) => number {
  const sign = isDescending ? -1 : 1;
  return (one, other) => {
    if (one.value === null || other.value === null) {
      return Number(one.value === null) - Number(other.value === null) || compareBytes(one.id, other.id);
    }
    const order =
      typeof one.value === "number" && typeof other.value === "number"
        ? one.value - other.value
        : compareBytes(String(one.value), String(other.value));
    return order === 0 ? compareBytes(one.id, other.id) : sign * order;
  };
}

function compareBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
