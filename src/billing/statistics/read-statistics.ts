import { type RawBuilder, sql } from "kysely";
import { figureColumns, type StatisticsKind, type Store } from "../../db/index.ts";

/** What statistics can be told apart by. */
export const statisticsGroups = ["account", "key", "model", "plugin", "status", "session", "tag"] as const;
export type StatisticsGroup = (typeof statisticsGroups)[number];

/** What groups can be ranked by. */
export type Rank = "cost" | "requests" | "errors" | "tokens";

/** Requests of some values alone; not with groups of sessions and tags, which are summed up by account alone. */
export interface StatisticsFilter {
  /** Absent: all accounts. */
  readonly accountId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  readonly plugin?: string | undefined;
  readonly status?: number | undefined;
}

export interface StatisticsQuery {
  readonly filter: StatisticsFilter;
  /** How long the buckets are. */
  readonly hours: 1 | 24;
  /** The first hour of each bucket, counted from 1970. */
  readonly starts: readonly number[];
}

/** Figures by the hour of their bucket, in the order of `figureColumns`. A bucket without requests is missing. */
export type FiguresByHour = ReadonlyMap<number, readonly number[]>;

export interface StatisticsOfGroup {
  readonly value: string;
  /** Whose key or session it is; empty where accounts are not told apart. */
  readonly accountId: string;
  readonly byHour: FiguresByHour;
}

interface GroupRow {
  readonly value: string;
  readonly account: string;
}

const valueColumns: Readonly<Record<StatisticsGroup, string>> = {
  account: "account_id",
  key: "key_id",
  model: "model",
  plugin: "plugin",
  status: "status",
  session: "name",
  tag: "name",
};
const rankColumns: Readonly<Record<Rank, string>> = {
  cost: "cost_nanodollars",
  requests: "requests + failures + refused",
  errors: "failed + refused",
  tokens: `input_tokens + audio_input_tokens + cache_read_tokens + cache_write_tokens + cache_write_1h_tokens
    + output_tokens + audio_output_tokens + image_output_tokens`,
};
const sums = sql.join(figureColumns.map((name) => sql`cast(sum(${sql.ref(name)}) as bigint) as ${sql.ref(name)}`));

/** All requests that fit, by bucket. */
export async function readTotals({ db }: Pick<Store, "db">, query: StatisticsQuery): Promise<FiguresByHour> {
  if (query.starts.length === 0) return new Map();
  const { rows } = await sql<Figures & { hour: number }>`select hour, ${sums} from statistics
    where ${conditions(query, "call", toOwner(query.filter))} group by hour`.execute(db);
  return new Map(rows.map((row) => [row.hour, toFigures(row)]));
}

/** The groups with the most of `rank`, the largest first. */
export async function readGroups(
  { db, shared }: Pick<Store, "db" | "shared">,
  query: StatisticsQuery,
  { group, rank, limit }: { group: StatisticsGroup; rank: Rank; limit: number },
): Promise<{ readonly groups: readonly StatisticsOfGroup[]; readonly count: number }> {
  const source = toSource(query, group, !shared);
  const { value, account, kind, owner } = source;
  const totals = new Map<string, GroupRow & { rank: number }>();
  for await (const part of source.parts) {
    const { rows } = await sql<GroupRow & { rank: number }>`select ${value} as value, ${account} as account,
      cast(sum(${sql.raw(rankColumns[rank])}) as bigint) as rank
      from statistics where ${conditions(part, kind, owner)} group by 1, 2`.execute(db);
    for (const row of rows) {
      const key = `${row.account}\n${row.value}`;
      const known = totals.get(key);
      if (known === undefined) totals.set(key, { ...row, value: String(row.value) });
      else known.rank += row.rank;
    }
  }
  const ranked = [...totals.values()]
    .sort((one, other) => other.rank - one.rank || (one.value < other.value ? -1 : 1))
    .slice(0, limit);
  return { groups: await readFigures({ db }, source, ranked), count: totals.size };
}

type Figures = Readonly<Record<string, number>>;

async function readFigures({ db }: Pick<Store, "db">, source: Source, wanted: readonly GroupRow[]) {
  const groups = new Map(
    wanted.map(({ value, account: accountId }) => [
      `${accountId}\n${value}`,
      { value, accountId, byHour: new Map<number, readonly number[]>() },
    ]),
  );
  const { value, account, kind, owner } = source;
  if (wanted.length === 0) return [];
  const values = [...new Set(wanted.map((row) => row.value))];
  const isNumber = source.group === "status";
  for await (const part of source.parts) {
    const { rows } = await sql<Figures & GroupRow & { hour: number }>`
      select hour, ${value} as value, ${account} as account, ${sums} from statistics
      where ${conditions(part, kind, owner)}
        and ${value} in (${sql.join(values.map((each) => (isNumber ? Number(each) : each)))})
      group by 1, 2, 3`.execute(db);
    for (const row of rows) groups.get(`${row.account}\n${row.value}`)?.byHour.set(row.hour, toFigures(row));
  }
  return [...groups.values()];
}

interface Source {
  readonly group: StatisticsGroup;
  readonly kind: StatisticsKind;
  readonly owner: RawBuilder<unknown>;
  readonly value: RawBuilder<unknown>;
  readonly account: RawBuilder<unknown>;
  readonly parts: AsyncIterable<StatisticsQuery>;
}

/**
 * Where the rows of a group are. Those of all accounts are many, so in the embedded store, where the event loop stands
 * still meanwhile, they are read one bucket at a time.
 */
function toSource(query: StatisticsQuery, group: StatisticsGroup, isEmbedded: boolean): Source {
  const { filter } = query;
  const isNamed = group === "session" || group === "tag";
  const ofAll = filter.accountId === undefined && (group === "account" || group === "key" || group === "session");
  const { model, plugin, status } = filter;
  const isByKey = ofAll && [model, plugin, status].every((value) => value === undefined);
  const kind = isNamed ? group : isByKey ? "key" : "call";
  const isOwned = group === "key" || group === "session";
  return {
    group,
    kind,
    owner: ofAll ? sql`account_id <> ''` : toOwner(filter),
    value: sql.ref(valueColumns[group]),
    account: isOwned ? sql.ref("account_id") : sql`''`,
    parts: { [Symbol.asyncIterator]: () => (ofAll && isEmbedded ? eachBucket(query) : once(query)) },
  };
}

async function* once(query: StatisticsQuery): AsyncGenerator<StatisticsQuery> {
  if (query.starts.length > 0) yield query;
}

/** Lets others have the database and the event loop between two buckets. */
async function* eachBucket(query: StatisticsQuery): AsyncGenerator<StatisticsQuery> {
  for (const start of query.starts) {
    yield { ...query, starts: [start] };
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function toOwner({ accountId = "" }: StatisticsFilter): RawBuilder<unknown> {
  return sql`account_id = ${accountId}`;
}

/** Every bucket is named, because only then the key leads to the rows of one account in it. */
function conditions(
  { filter, hours, starts }: StatisticsQuery,
  kind: StatisticsKind,
  owner: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const { keyId, model, plugin, status } = filter;
  const equals = (column: string, value: string | number | undefined) =>
    value === undefined ? [] : [sql`${sql.ref(column)} = ${value}`];
  const hour = sql`hour in (${sql.join(starts.map((start) => sql.lit(start)))})`;
  const others = [...equals("key_id", keyId), ...equals("model", model), ...equals("plugin", plugin)];
  const all = [sql`hours = ${sql.lit(hours)}`, sql`kind = ${sql.lit(kind)}`, hour, owner, ...others];
  return sql.join([...all, ...equals("status", status)], sql` and `);
}

function toFigures(row: Figures): number[] {
  return figureColumns.map((name) => row[name] as number);
}
