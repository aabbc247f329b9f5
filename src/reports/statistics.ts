import { type RawBuilder, sql } from "kysely";
import { answerColumns, type CacheMissKind, promptColumns } from "../contract/index.ts";
import {
  figureColumns,
  latencyBuckets,
  type Store,
  sumsOf,
  toRanges,
  type UsageKind,
  type UsageSum,
  usageSums,
} from "../db/index.ts";
import { hasManyAccounts, readKept } from "./many-accounts.ts";

/** Groups of statistics. */
export const statisticsGroups = ["account", "key", "model", "plugin", "status", "session", "tag", "end_user"] as const;
export type StatisticsGroup = (typeof statisticsGroups)[number];

/** Groups of names that clients choose. */
export const namedGroups = ["session", "tag", "end_user"] as const;
export type NamedGroup = (typeof namedGroups)[number];

/** Whether a group is of names that clients choose, which are summed up by account alone. */
export const isNamedGroup = (group: StatisticsGroup): group is NamedGroup => namedGroups.some((name) => name === group);

/** Orders of groups. */
export type Rank = "cost" | "requests" | "errors" | "tokens";

/** Requests of some values alone; not with groups of sessions, tags and end users, which are summed up by account alone. */
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
  /** The owner of the key or session; empty if accounts are not distinguished. */
  readonly accountId: string;
  /** Sums over all buckets. */
  readonly total: readonly number[];
  /** Absent for a group that is not charted. */
  readonly byHour: FiguresByHour | undefined;
}

/**
 * How groups are chosen: the `limit` groups with the highest `rank`. The first `charted` of them get figures by bucket.
 */
export interface GroupsWanted {
  readonly group: StatisticsGroup;
  readonly rank: Rank;
  readonly limit: number;
  readonly charted: number;
}

interface GroupRow {
  readonly value: string;
  readonly account: string;
}

type RankedGroup = GroupRow & { rank: number };

/**
 * The groups with the most of a rank, the largest first, and how many groups there are. Where one is kept, only which groups
 * there are and their order may be old: their figures are read each time.
 */
interface Ranking {
  readonly wanted: readonly RankedGroup[];
  readonly count: number;
}

/** Number of buckets read at once for the figures of the selected groups. */
const bucketsAtOnce = 4;
/** Number of groups in the list of a day, and of listed groups that are ranked over a span at once. */
const dayListMax = 200;
const listedAtOnce = 20;
/** Days whose lists are kept. */
const dayListsMax = 366;
/** A call that ends later than this is counted, but does not change the list of the day when it began. */
const dayClosesMs = 2 * 3_600_000;
const dayMs = 86_400_000;
const dayHours = 24;

const valueColumns: Readonly<Record<StatisticsGroup, string>> = {
  account: "account_id",
  key: "key_id",
  model: "model",
  plugin: "plugin",
  status: "status",
  session: "name",
  tag: "name",
  end_user: "name",
};
const addUp = (...columns: readonly string[]) => columns.map((name) => `coalesce(${name}, 0)`).join(" + ");
const rankColumns: Readonly<Record<Rank, string>> = {
  cost: addUp("cost_nanodollars"),
  requests: addUp("requests", "failures", "refused"),
  errors: addUp("failed", "refused"),
  tokens: addUp(...promptColumns, ...answerColumns),
};
const ranks = Object.keys(rankColumns) as Rank[];
const sums = sql.raw(sumsOf(figureColumns));

/** All requests that fit, by bucket. */
export async function readTotals({ db }: Pick<Store, "db">, query: StatisticsQuery): Promise<FiguresByHour> {
  if (query.starts.length === 0) return new Map();
  const { rows } = await sql<Figures & { hour: number }>`select hour, ${sums} from usage_rows
    where ${conditions(query, { kind: "call", owner: toOwner(query.filter) })} group by hour`.execute(db);
  return new Map(rows.map((row) => [row.hour, toFigures(row)]));
}

/** The cost of misses of prompt caches for one reason. */
export interface CacheLoss {
  readonly kind: CacheMissKind;
  readonly calls: number;
  readonly missedTokens: number;
  readonly lostNanodollars: number;
}

/** The cost of cache misses in the calls that fit, by reason, the most expensive first; those that cost nothing are last. */
export async function readLosses({ db }: Pick<Store, "db">, query: StatisticsQuery): Promise<CacheLoss[]> {
  const parts = toWholeDays(query).filter((part) => part.starts.length > 0);
  if (parts.length === 0) return [];
  const selects = parts.map(
    (part) => sql`select name, requests, cache_missed_tokens, cache_lost_nanodollars from usage_rows
      where ${conditions(part, { kind: "miss", owner: toOwner(query.filter) })}`,
  );
  const { rows } = await sql<{ name: CacheMissKind; requests: number; tokens: number; lost: number }>`
    select name, cast(sum(requests) as bigint) as requests,
      cast(coalesce(sum(cache_missed_tokens), 0) as bigint) as tokens,
      cast(coalesce(sum(cache_lost_nanodollars), 0) as bigint) as lost
    from (${sql.join(selects, sql` union all `)}) as losses group by name`.execute(db);
  return rows
    .map(({ name, requests, tokens, lost }) => ({
      kind: name,
      calls: requests,
      missedTokens: tokens,
      lostNanodollars: lost,
    }))
    .sort((one, other) => other.lostNanodollars - one.lostNanodollars || (one.kind < other.kind ? -1 : 1));
}

/** A span of whole hours, counted from 1970; `until` is not part of it. */
export interface HourSpan {
  readonly from: number;
  readonly until: number;
}

/** The sum of all requests of a span that fit, in the order of `figureColumns`; whole days are read as such. */
export async function readSum(
  { db }: Pick<Store, "db">,
  filter: StatisticsFilter,
  { from, until }: HourSpan,
): Promise<number[]> {
  const starts = Array.from({ length: Math.max(0, until - from) }, (_, place) => from + place);
  const parts = toWholeDays({ filter, hours: 1, starts }).filter((part) => part.starts.length > 0);
  const totals = await Promise.all(parts.map((part) => readTotals({ db }, part)));
  return sumFigures(totals.flatMap((figures) => [...figures.values()]));
}

/**
 * Reads the cost of keys on these days, counted from 1970, in nanodollars by their id. A key without requests is
 * missing.
 */
export async function readKeyCosts(
  { db }: Pick<Store, "db">,
  keys: readonly { readonly id: string; readonly accountId: string }[],
  days: { readonly first: number; readonly last: number },
): Promise<ReadonlyMap<string, number>> {
  if (keys.length === 0) return new Map();
  const starts = Array.from({ length: days.last - days.first + 1 }, (_, place) => (days.first + place) * 24);
  const rows = await db
    .selectFrom("usage")
    .select(({ fn }) => ["key_id", fn.sum<number>("cost_nanodollars").as("cost")])
    .where("hours", "=", 24)
    .where("kind", "=", "key")
    .where("hour", "in", starts)
    .where("account_id", "in", [...new Set(keys.map(({ accountId }) => accountId))])
    .where(
      "key_id",
      "in",
      keys.map(({ id }) => id),
    )
    .groupBy("key_id")
    .execute();
  return new Map(rows.map(({ key_id: id, cost }) => [id, Number(cost)]));
}

/**
 * Reads the groups with the highest rank, the largest first. Only charted groups are read by the hour; the rest uses
 * the sums of days, which are 24 times fewer. With more than 5,000 accounts the largest groups are searched among the
 * 200 largest of each day, and the number of groups is unknown.
 */
export async function readGroups(
  { db, shared }: Pick<Store, "db" | "shared">,
  query: StatisticsQuery,
  { group, rank, limit, charted }: GroupsWanted,
): Promise<{ readonly groups: readonly StatisticsOfGroup[]; readonly count: number | undefined }> {
  const source = { db, isEmbedded: !shared, ...toSource(query.filter, group) };
  const whole = toWholeDays(query);
  const { wanted: groupRows, count } = await chooseGroups(source, query, { group, rank, limit });
  const byHour = await readFiguresOf(source, [query], groupRows.slice(0, charted), "hour");
  const totals = await readFiguresOf(source, whole, groupRows.slice(charted), "0");
  const groups = groupRows.map((row) => {
    const key = toKey(row);
    const { value, account: accountId } = row;
    const figures = byHour.get(key);
    const total = sumFigures((figures ?? totals.get(key))?.values() ?? []);
    return { value, accountId, total, byHour: figures };
  });
  return { groups, count };
}

/**
 * Reads the figures of these groups in an earlier span, in their order. A group without requests there has zeros.
 *
 * @param groups As {@link readGroups} has chosen them.
 */
export async function readGroupsBefore(
  { db, shared }: Pick<Store, "db" | "shared">,
  filter: StatisticsFilter,
  { from, until }: HourSpan,
  { group, groups }: { readonly group: StatisticsGroup; readonly groups: readonly StatisticsOfGroup[] },
): Promise<readonly (readonly number[])[]> {
  const source = { db, isEmbedded: !shared, ...toSource(filter, group) };
  const starts = Array.from({ length: Math.max(0, until - from) }, (_, place) => from + place);
  const parts = toWholeDays({ filter, hours: 1, starts }).filter((part) => part.starts.length > 0);
  const rows = groups.map(({ value, accountId: account }) => ({ value, account }));
  const figures = await readFiguresOf(source, parts, rows, "0");
  return rows.map((row) => sumFigures(figures.get(toKey(row))?.values() ?? []));
}

type Figures = Readonly<Record<string, number>>;

/** Where the rows of a group are. */
interface Source {
  readonly db: Store["db"];
  readonly isEmbedded: boolean;
  readonly kind: UsageKind;
  readonly owner: RawBuilder<unknown>;
  /** Whether the rows belong to all accounts, and are therefore many. */
  readonly ofAll: boolean;
  readonly value: RawBuilder<unknown>;
  readonly account: RawBuilder<unknown>;
  /** Whether `account` names the owner of the group. */
  readonly isOwned: boolean;
  readonly isNumber: boolean;
}

function toSource(filter: StatisticsFilter, group: StatisticsGroup): Omit<Source, "db" | "isEmbedded"> {
  const isNamed = isNamedGroup(group);
  const isOwned = group === "key" || group === "session" || group === "end_user";
  const ofAll = filter.accountId === undefined && (isOwned || group === "account");
  const { model, plugin, status } = filter;
  const isByKey = ofAll && [model, plugin, status].every((value) => value === undefined);
  return {
    kind: isNamed ? group : isByKey ? "key" : "call",
    owner: ofAll ? sql`account_id > ''` : toOwner(filter),
    ofAll,
    value: sql.ref(valueColumns[group]),
    account: isOwned ? sql.ref("account_id") : sql`''`,
    isOwned,
    isNumber: group === "status",
  };
}

async function chooseGroups(
  source: Source,
  query: StatisticsQuery,
  { group, rank, limit }: Omit<GroupsWanted, "charted">,
): Promise<{ readonly wanted: readonly GroupRow[]; readonly count: number | undefined }> {
  const { db, ofAll, kind, isEmbedded } = source;
  const whole = toWholeDays(query);
  const rankNow = () => rankGroups(source, whole, rank, limit);
  if (!ofAll || !(await hasManyAccounts(db))) return rankNow();
  if (kind === "key" && query.filter.keyId === undefined && limit <= dayListMax) {
    const listed = await readDayLists(source, query, group as ListedGroup, rank);
    const ranked: RankedGroup[] = [];
    for (let from = 0; from < listed.length; from += listedAtOnce) {
      const owner = toCondition(source, listed.slice(from, from + listedAtOnce));
      ranked.push(...(await rankGroups({ ...source, owner, ofAll: false }, whole, rank, listedAtOnce)).wanted);
      if (isEmbedded) await new Promise((resolve) => setImmediate(resolve));
    }
    return { wanted: ranked.sort(byRank).slice(0, limit), count: undefined };
  }
  return isEmbedded ? readKept(db, JSON.stringify([query, group, rank, limit]), rankNow) : rankNow();
}

const listedGroups = ["account", "key"] as const;
type ListedGroup = (typeof listedGroups)[number];

/** The groups that are on the lists of the days, those with the most on these first. A day without a list is ranked now. */
async function readDayLists(
  source: Source,
  { starts }: StatisticsQuery,
  group: ListedGroup,
  rank: Rank,
): Promise<readonly GroupRow[]> {
  const { db } = source;
  const days = [...new Set(starts.map((start) => start - (start % dayHours)))];
  if (days.length === 0) return [];
  const rows = await db
    .selectFrom("usage_tops")
    .select(["hour", "list"])
    .where("hour", "in", days)
    .where("group_by", "=", group)
    .where("ranked_by", "=", rank)
    .execute();
  const lists = new Map(rows.map(({ hour, list }) => [hour, JSON.parse(list) as RankedGroup[]]));
  const sums = new Map<string, RankedGroup>();
  for (const day of days) {
    const rankDay = () => rankGroups(source, [wholeDay(day)], rank, dayListMax);
    const list = lists.get(day) ?? (await readKept(db, JSON.stringify([day, group, rank]), rankDay)).wanted;
    for (const row of list) {
      const key = toKey(row);
      sums.set(key, { ...row, rank: row.rank + (sums.get(key)?.rank ?? 0) });
    }
  }
  return [...sums.values()].sort(byRank).slice(0, dayListMax);
}

/**
 * Stores the lists of the largest accounts and keys, if there are many accounts, for the latest complete day without
 * lists. For a timer of the owner.
 */
export async function keepDayLists({ db, shared }: Pick<Store, "db" | "shared">, now: number): Promise<void> {
  if (!(await hasManyAccounts(db))) return;
  const last = Math.floor((now - dayClosesMs) / dayMs) - 1;
  const first = last - dayListsMax + 1;
  const hoursWithTops = await db
    .selectFrom("usage_tops")
    .select("hour")
    .where("hour", ">=", first * dayHours)
    .distinct()
    .execute();
  const days = new Set(hoursWithTops.map(({ hour }) => hour / dayHours));
  let day = last;
  while (days.has(day)) day -= 1;
  if (day < first) return;
  const rows = [];
  for (const group of listedGroups) {
    const source = { db, isEmbedded: !shared, ...toSource({}, group) };
    for (const rank of ranks) {
      const { wanted: groupRows } = await rankGroups(source, [wholeDay(day * dayHours)], rank, dayListMax);
      rows.push({ hour: day * dayHours, group_by: group, ranked_by: rank, list: JSON.stringify(groupRows) });
    }
  }
  await db
    .insertInto("usage_tops")
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await db
    .deleteFrom("usage_tops")
    .where("hour", "<", first * dayHours)
    .execute();
}

function wholeDay(start: number): StatisticsQuery {
  return { filter: {}, hours: dayHours, starts: [start] };
}

async function rankGroups(
  source: Source,
  queries: readonly StatisticsQuery[],
  rank: Rank,
  limit: number,
): Promise<Ranking> {
  const { db, isEmbedded, value, account } = source;
  const byBytes = isEmbedded ? sql`` : sql` collate "C"`;
  const ranked: RankedGroup[] = [];
  let count = 0;
  for await (const owner of ownersOf(source, queries)) {
    const parts = queries
      .filter(({ starts }) => starts.length > 0)
      .map(
        (query) => sql`select ${value} as value, ${account} as account, ${sql.raw(rankColumns[rank])} as rank
          from usage_rows where ${conditions(query, { ...source, owner })}`,
      );
    if (parts.length === 0) break;
    const { rows } = await sql<RankedGroup & { count: number }>`
      select value, account, cast(sum(rank) as bigint) as rank, count(*) over () as count
      from (${sql.join(parts, sql` union all `)}) as ranked group by value, account
      order by 3 desc, cast(value as text)${byBytes}, account${byBytes} limit ${limit}`.execute(db);
    count += rows[0] === undefined ? 0 : rows[0].count;
    ranked.push(...rows.map((row) => ({ value: String(row.value), account: row.account, rank: row.rank })));
    ranked.sort(byRank);
    ranked.length = Math.min(ranked.length, limit);
  }
  return { wanted: ranked, count };
}

function byRank(one: RankedGroup, other: RankedGroup): number {
  if (one.rank !== other.rank) return other.rank - one.rank;
  if (one.value !== other.value) return one.value < other.value ? -1 : 1;
  return one.account < other.account ? -1 : 1;
}

/**
 * The accounts whose rows are read. If there are many and reading blocks the event loop, they are read in ranges. The
 * accounts of a group never span two ranges: a group is an account, or belongs to one.
 */
async function* ownersOf(
  { db, isEmbedded, ofAll, owner, kind }: Source,
  queries: readonly StatisticsQuery[],
): AsyncGenerator<RawBuilder<unknown>> {
  if (!ofAll || !isEmbedded) {
    yield owner;
    return;
  }
  const buckets = queries.flatMap(({ hours, starts }) => starts.map((hour) => ({ hours, hour })));
  const [bucket] = buckets;
  if (bucket === undefined) return;
  const findLast = async (after: string | undefined, rows: number) => {
    // The rows of one bucket show which accounts have any; there may be none at all.
    const accounts =
      buckets.length === 1
        ? sql`select account_id as id from usage_rows where hours = ${bucket.hours} and kind = ${kindOf(kind, bucket.hours)} and hour = ${bucket.hour}
            and account_id > ${after ?? ""} order by account_id`
        : sql`select id from accounts where id > ${after ?? ""} order by id`;
    const { rows: places } = await sql<{ id: string }>`${accounts} limit 1 offset ${rows - 1}`.execute(db);
    return places[0]?.id;
  };
  for await (const { after = "", last } of toRanges(findLast, buckets.length)) {
    yield last === undefined ? sql`account_id > ${after}` : sql`account_id > ${after} and account_id <= ${last}`;
  }
}

/** Figures of groups by their key and, where `by` is the hour, by it. */
async function readFiguresOf(
  source: Source,
  queries: readonly StatisticsQuery[],
  groupRows: readonly GroupRow[],
  by: "hour" | "0",
): Promise<ReadonlyMap<string, FiguresByHour>> {
  const groups = new Map(groupRows.map((row) => [toKey(row), new Map<number, readonly number[]>()]));
  if (groupRows.length === 0) return groups;
  const { db, value, account } = source;
  const isWanted = toCondition(source, groupRows);
  for await (const part of cut(source, queries)) {
    const { rows } = await sql<Figures & GroupRow & { hour: number }>`
      select ${sql.raw(by)} as hour, ${value} as value, ${account} as account, ${sums} from usage_rows
      where ${conditions(part, source)} and ${isWanted} group by 1, 2, 3`.execute(db);
    for (const row of rows) {
      const figures = groups.get(toKey(row));
      const figuresOfHour = figures?.get(row.hour);
      figures?.set(
        row.hour,
        figuresOfHour === undefined ? toFigures(row) : sumFigures([figuresOfHour, toFigures(row)]),
      );
    }
  }
  return groups;
}

/**
 * Matches rows of these groups, and rows with the name of one group in the account of another. Keys and sessions of all
 * accounts are by far the most groups: the primary key finds the rows of an account, and the name is kept out of the
 * index search, which would otherwise search once for each pair of account and name.
 */
function toCondition({ ofAll, isOwned, value, isNumber }: Source, groupRows: readonly GroupRow[]): RawBuilder<unknown> {
  const values = sql.join(groupRows.map((row) => (isNumber ? Number(row.value) : row.value)));
  if (!isOwned || !ofAll) return sql`${value} in (${values})`;
  const accounts = sql.join([...new Set(groupRows.map((row) => row.account))]);
  return sql`account_id in (${accounts}) and ${value} || '' in (${values})`;
}

function toKey({ account, value }: GroupRow): string {
  return `${account}\n${value}`;
}

/** Covers the same time with as few buckets as possible: whole days as days, and the remaining hours. */
function toWholeDays(query: StatisticsQuery): StatisticsQuery[] {
  if (query.hours === 24) return [query];
  const ofDay = Map.groupBy(query.starts, (start) => start - (start % 24));
  const days = [...ofDay].filter(([, starts]) => starts.length === 24).map(([day]) => day);
  const rest = [...ofDay.values()].filter((starts) => starts.length < 24).flat();
  return [
    { ...query, hours: 24, starts: days },
    { ...query, starts: rest },
  ];
}

/**
 * Reads the rows of all accounts some buckets at a time in the embedded store, where reading blocks the event loop;
 * other work has the database and the event loop in between.
 */
async function* cut(
  { ofAll, isEmbedded }: Source,
  queries: readonly StatisticsQuery[],
): AsyncGenerator<StatisticsQuery> {
  for (const query of queries) {
    const { starts } = query;
    const size = ofAll && isEmbedded ? bucketsAtOnce : Math.max(1, starts.length);
    for (let from = 0; from < starts.length; from += size) {
      yield { ...query, starts: starts.slice(from, from + size) };
      if (ofAll && isEmbedded) await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

function toOwner({ accountId = "" }: StatisticsFilter): RawBuilder<unknown> {
  return sql`account_id = ${accountId}`;
}

/** Every bucket is named, because only then the key leads to the rows of one account in it. */
function conditions(
  { filter, hours, starts }: StatisticsQuery,
  { kind, owner }: Pick<Source, "kind" | "owner">,
): RawBuilder<unknown> {
  const { keyId, model, plugin, status } = filter;
  const equals = (column: string, value: string | number | undefined) =>
    value === undefined ? [] : [sql`${sql.ref(column)} = ${value}`];
  const hour = sql`hour in (${sql.join(starts.map((start) => sql.lit(start)))})`;
  const others = [...equals("key_id", keyId), ...equals("model", model), ...equals("plugin", plugin)];
  const all = [sql`hours = ${sql.lit(hours)}`, sql`kind = ${sql.lit(kindOf(kind, hours))}`, hour, owner, ...others];
  // Rows of sessions leave these columns empty. The condition makes PostgreSQL expect few rows and read them by the
  // primary key.
  if (kind === "session") all.push(sql`key_id = '' and model = '' and plugin = '' and status = 0`);
  return sql.join([...all, ...equals("status", status)], sql` and `);
}

/** There are no sums by key alone for hours; the sums by model are added up. */
function kindOf(kind: UsageKind, hours: 1 | 24): UsageKind {
  return kind === "key" && hours === 1 ? "call" : kind;
}

function toFigures(row: Figures): number[] {
  return figureColumns.map((name) => row[name] as number);
}

/** Sums of statistics, with percentiles in milliseconds; undefined: there was nothing to measure. */
export type StatisticsFigures = Readonly<Record<UsageSum, number>> & {
  readonly firstByteMs: Percentiles;
  readonly durationMs: Percentiles;
};

export interface Percentiles {
  readonly p50: number | undefined;
  readonly p95: number | undefined;
}

/** Adds up figures in the order of `figureColumns`. */
export function sumFigures(all: Iterable<readonly number[]>): number[] {
  const total = figureColumns.map(() => 0);
  for (const figures of all) {
    for (let place = 0; place < total.length; place++) total[place] = (total[place] as number) + (figures[place] ?? 0);
  }
  return total;
}

/** Reads figures that are in the order of `figureColumns`; absent: zeros. */
export function readFigures(figures: readonly number[] = []): StatisticsFigures {
  const sums = Object.fromEntries(usageSums.map((name, place) => [name, figures[place] ?? 0]));
  const first = usageSums.length;
  return {
    ...(sums as Record<UsageSum, number>),
    firstByteMs: toPercentiles(figures.slice(first, first + latencyBuckets)),
    durationMs: toPercentiles(figures.slice(first + latencyBuckets)),
  };
}

function toPercentiles(histogram: readonly number[]): Percentiles {
  return { p50: findPercentile(histogram, 0.5), p95: findPercentile(histogram, 0.95) };
}

/** Each bucket of a histogram ends at 1.6 times the end of the one before, and the last one, from 309 s on, nowhere. */
const firstMs = 10;
const ratio = 1.6;

/** The bucket that a duration falls into. */
export function findLatencyBucket(ms: number): number {
  if (ms <= firstMs) return 0;
  return Math.min(latencyBuckets - 1, Math.ceil(Math.log(ms / firstMs) / Math.log(ratio)));
}

/**
 * The duration that a share of a histogram did not exceed, in milliseconds. It is interpolated within its bucket: off
 * by at most 60 %, and usually by less than a third. Undefined for an empty histogram.
 */
export function findPercentile(histogram: ArrayLike<number>, share: number): number | undefined {
  let total = 0;
  for (let bucket = 0; bucket < latencyBuckets; bucket++) total += histogram[bucket] ?? 0;
  if (total === 0) return undefined;
  const target = total * share;
  let below = 0;
  for (let bucket = 0; bucket < latencyBuckets; bucket++) {
    const count = histogram[bucket] ?? 0;
    if (count > 0 && below + count >= target) return Math.round(interpolate(bucket, (target - below) / count));
    below += count;
  }
  return undefined;
}

function interpolate(bucket: number, share: number): number {
  const low = bucket === 0 ? 0 : firstMs * ratio ** (bucket - 1);
  if (bucket === latencyBuckets - 1) return low;
  return low + (firstMs * ratio ** bucket - low) * share;
}
