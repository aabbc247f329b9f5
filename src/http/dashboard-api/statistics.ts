import { type Static, Type } from "@sinclair/typebox";
import { formatUsd, GatewayError } from "../../contract/index.ts";
import { type Store, startOfPeriod } from "../../db/index.ts";
import type { SessionUser } from "../../identity/index.ts";
import {
  type FiguresByHour,
  type HourSpan,
  isNamedGroup,
  type Rank,
  readFigures,
  readGroups,
  readGroupsBefore,
  readLosses,
  readRefusalReasons,
  readSum,
  readTotals,
  type StatisticsFigures,
  type StatisticsFilter,
  type StatisticsOfGroup,
  type StatisticsQuery,
  statisticsGroups,
  sumFigures,
} from "../../reports/index.ts";
import { maySeeAll, namesOf } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { streamDownload } from "../forms/download.ts";
import { idOfModel, nameOfModel, readMoment } from "../forms/read-fields.ts";
import { toOwnerJson } from "../forms/serializers.ts";
import { withSession } from "../lifecycle/session.ts";
import { readAccount } from "./requests.ts";
import {
  type Metric,
  metrics,
  toComparison,
  toFiguresJson,
  toMarginJson,
  toMetric,
  withoutMargin,
} from "./statistics-json.ts";

const hourMs = 3_600_000;
const dayHours = 24;
const daysDefault = 30;
/** Maximum number of hours, or days, in one request. */
const bucketsMax = { hour: 8 * dayHours, day: 366 };
/** Weeks begin on Monday, and months with their first day. */
const intervals = ["hour", "day", "week", "month"] as const;
/** Groups in the table, and of these the ones with values of their own in the chart. */
const groupsMax = 50;
const chartedMax = 6;

const rankOf: Readonly<Record<Metric, Rank>> = {
  cost: "cost",
  earned: "cost",
  requests: "requests",
  errors: "errors",
  error_share: "requests",
  tokens: "tokens",
  cache: "tokens",
  first_byte: "requests",
  duration: "requests",
} as const;

const text = Type.Optional(Type.String({ minLength: 1, maxLength: 200 }));
const time = Type.Optional(Type.String({ maxLength: 40 }));
const oneOf = <Value extends string>(values: readonly Value[]) =>
  Type.Union(values.map((value) => Type.Literal(value)));
const Query = Type.Object({
  /** A UTC day, or a time. Absent: the last 30 days. */
  from: time,
  /** The last UTC day, or the time before which a request began. Absent: today. */
  to: time,
  interval: Type.Optional(oneOf(intervals)),
  group_by: Type.Optional(oneOf(statisticsGroups)),
  metric: Type.Optional(oneOf(metrics)),
  account: text,
  key: text,
  model: text,
  plugin: text,
  status: Type.Optional(Type.String({ pattern: "^[1-5]\\d\\d$" })),
});

/** Sums of requests over time and by group: of the own account, for administrators of all accounts. */
export function statisticsController(deps: HttpDeps) {
  const route = withSession(deps);
  return [
    route.get("/statistics.csv", ({ user, query }) => readFile(deps, user, query), { query: Query }),
    route.get(
      "/statistics",
      async ({ user, query: params }) => {
        const { group_by: group = "model", metric = "cost" } = params;
        const now = deps.now();
        const named = params.model === undefined ? params : { ...params, model: idOfModel(deps, params.model) };
        const filter = toFilter(named, await readAccount(deps, user, params));
        const { hours, buckets } = readBuckets(params, now);
        const query: StatisticsQuery = { filter, hours, starts: buckets.flat() };
        const span = toElapsed(query, now);
        const before = { from: 2 * span.from - span.until, until: span.from };
        await deps.rollup?.freshen();
        const [totals, previous, reasons, losses, { groups, count }] = await Promise.all([
          readTotals(deps.store, query),
          readSum(deps.store, filter, before),
          readReasons(deps.store, filter, span),
          readLosses(deps.store, query),
          readGroups(deps.store, query, { group, rank: rankOf[metric], limit: groupsMax, charted: chartedMax }),
        ]);
        const seesAll = maySeeAll(user.role);
        if (metric === "earned" && !seesAll) {
          throw new GatewayError("forbidden", "Earnings are shown to operators only", { param: "metric" });
        }
        const ofGroups = await readGroupsBefore(deps.store, filter, before, { group, groups });
        const names = await readNames(deps, groups, { group, seesAll });
        const toJson = (figures: StatisticsFigures) => ({
          ...toFiguresJson(figures),
          ...(seesAll ? toMarginJson(figures) : withoutMargin),
        });
        const toValues = (of: FiguresByHour) =>
          buckets.map((starts) => {
            const figures = sumFigures(starts.flatMap((start) => [of.get(start) ?? []]));
            return toMetric(readFigures(figures), metric);
          });
        return {
          buckets: buckets.map(([start = 0]) => new Date(start * hourMs).toISOString()),
          totals: toJson(readFigures(sumFigures(totals.values()))),
          /** Figures of the period before, as long as the elapsed part of the span. */
          previous: { from: new Date(before.from * hourMs).toISOString(), ...toJson(readFigures(previous)) },
          /** Display names of the account, key and model of the filter; null if unknown. */
          filter_names: await readFilterNames(deps, filter, seesAll),
          /** Why requests of an account were refused, the most frequent reason first; empty where all accounts are shown. */
          refusals: reasons,
          /** The cost of cache misses by reason, the most expensive first. */
          cache_losses: losses.map(({ kind, calls, missedTokens, lostNanodollars }) => ({
            kind,
            calls,
            missed_tokens: missedTokens,
            lost_usd: formatUsd(lostNanodollars),
          })),
          values: toValues(totals),
          /** Null: there are many accounts, and the largest are chosen among the largest of each day. */
          group_count: count ?? null,
          groups: groups.map((each, place) => ({
            value: each.value,
            ...names(each),
            ...toJson(readFigures(each.total)),
            previous: toComparison(toJson(readFigures(each.total)), toJson(readFigures(ofGroups[place]))),
            /** Values of the metric by bucket; null for a group that is not in the chart. */
            values: each.byHour === undefined ? null : toValues(each.byHour),
          })),
        };
      },
      { query: Query },
    ),
  ];
}

type Given = Static<typeof Query>;

/** Groups of one file; beyond them the smallest are left out. */
const fileGroupsMax = 10_000;
const fileColumns = [
  "from",
  "to",
  "group",
  "value",
  "name",
  "account",
  "account_name",
  "email",
  "requests",
  "errors",
  "refused",
  "prompt_tokens",
  "cached_tokens",
  "completion_tokens",
  "total_tokens",
  "cost_usd",
  "charged_usd",
  "cache_saved_usd",
  "cache_lost_usd",
] as const;

/** Columns for operators. */
const marginColumns = ["provider_cost_usd", "earned_usd"] as const;

/** All groups of a span as CSV, one row each: a statement by team, key, model or tag where the span is a month. */
async function readFile(deps: HttpDeps, user: SessionUser, params: Given): Promise<Response> {
  const { group_by: group = "model", metric = "cost" } = params;
  const named = params.model === undefined ? params : { ...params, model: idOfModel(deps, params.model) };
  const filter = toFilter(named, await readAccount(deps, user, params));
  const { hours, buckets } = readBuckets(params, deps.now());
  const query: StatisticsQuery = { filter, hours, starts: buckets.flat() };
  await deps.rollup?.freshen();
  const options = { group, rank: rankOf[metric], limit: fileGroupsMax, charted: 0 };
  const { groups } = await readGroups(deps.store, query, options);
  const seesAll = maySeeAll(user.role);
  const names = await readNames(deps, groups, { group, seesAll });
  const [from, to] = [query.starts[0] ?? 0, (query.starts.at(-1) ?? 0) + hours];
  const span = { from: new Date(from * hourMs).toISOString(), to: new Date(to * hourMs).toISOString() };
  return streamDownload({
    name: `by-${group}-${span.from.slice(0, 10)}`,
    format: "csv",
    columns: seesAll ? [...fileColumns, ...marginColumns] : fileColumns,
    toJson: (each: StatisticsOfGroup) => ({
      ...span,
      group,
      value: each.value,
      ...names(each),
      ...toFiguresJson(readFigures(each.total)),
      ...(seesAll ? toMarginJson(readFigures(each.total)) : {}),
    }),
    readPage: async () => ({ rows: groups }),
  });
}

/** @throws {GatewayError} `invalid_request` for a filter that sums of sessions, tags and end users do not know. */
function toFilter(query: Given, accountId: string | undefined): StatisticsFilter {
  const { key: keyId, model, plugin, status, group_by: group } = query;
  const [other] = Object.entries({ key: keyId, model, plugin, status }).find(([, value]) => value !== undefined) ?? [];
  if (other !== undefined && group !== undefined && isNamedGroup(group)) {
    throw new GatewayError("invalid_request", `Sums by ${group} cannot be filtered by ${other}`, { param: other });
  }
  return { accountId, keyId, model, plugin, status: status === undefined ? undefined : Number(status) };
}

/**
 * The buckets of a span: of each the first hours of what is summed up in it, which is hours or days.
 *
 * @throws {GatewayError} `invalid_request`
 */
function readBuckets(query: Given, now: number): { readonly hours: 1 | 24; readonly buckets: readonly number[][] } {
  const { interval = "day" } = query;
  const unit = interval === "hour" ? "hour" : "day";
  const starts = readStarts(query, unit, now);
  if (interval !== "week" && interval !== "month") {
    return { hours: unit === "hour" ? 1 : dayHours, buckets: starts.map((start) => [start]) };
  }
  const byPeriod = Map.groupBy(starts, (start) => startOfPeriod(start * hourMs, interval));
  return { hours: dayHours, buckets: [...byPeriod.values()] };
}

function readStarts(query: Given, unit: "hour" | "day", now: number): number[] {
  const toDay = (at: number) => new Date(at).toISOString().slice(0, 10);
  const { to = toDay(now), from = toDay(now - (daysDefault - 1) * dayHours * hourMs) } = query;
  const hours = unit === "day" ? dayHours : 1;
  const length = hours * hourMs;
  const first = Math.floor(readTime(from, "from") / length);
  const end = Math.ceil((readTime(to, "to") + (isDay(to) ? dayHours * hourMs : 0)) / length);
  if (end <= first) throw new GatewayError("invalid_request", "to is before from", { param: "to" });
  if (end - first > bucketsMax[unit]) {
    const message = `There are ${end - first} ${unit}s between from and to, but at most ${bucketsMax[unit]} are allowed`;
    throw new GatewayError("invalid_request", message, { param: "from" });
  }
  return Array.from({ length: end - first }, (_, place) => (first + place) * hours);
}

/** The span of a query up to the present hour: what is still to come is not compared with anything. */
function toElapsed({ starts, hours }: StatisticsQuery, now: number): HourSpan {
  const from = starts[0] ?? 0;
  const end = (starts.at(-1) ?? 0) + hours;
  return { from, until: Math.max(from, Math.min(end, Math.floor(now / hourMs) + 1)) };
}

async function readReasons(
  store: Store,
  { accountId, keyId, model, plugin, status }: StatisticsFilter,
  span: HourSpan,
) {
  if (accountId === undefined || [model, plugin, status].some((value) => value !== undefined)) return [];
  return await readRefusalReasons(store, { accountId, keyId, from: span.from * hourMs, until: span.until * hourMs });
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text);
}

function readTime(text: string, param: string): number {
  return readMoment(isDay(text) ? `${text}T00:00:00Z` : text, param);
}

async function readFilterNames(deps: HttpDeps, filter: StatisticsFilter, seesAll: boolean) {
  const { store } = deps;
  const { accountId, keyId, model } = filter;
  const owners = seesAll && accountId !== undefined ? await namesOf(store, [accountId]) : undefined;
  const key =
    keyId === undefined
      ? undefined
      : await store.db.selectFrom("keys").select(["name", "account_id"]).where("id", "=", keyId).executeTakeFirst();
  return {
    account: owners?.get(accountId ?? "")?.label ?? null,
    key: key !== undefined && (accountId === undefined || key.account_id === accountId) ? key.name : null,
    model: model === undefined ? null : (nameOfModel(deps, model) ?? null),
  };
}

/** Names of keys and models, and the e-mails of their accounts for administrators. */
async function readNames(
  deps: HttpDeps,
  groups: readonly StatisticsOfGroup[],
  { group, seesAll }: { group: Given["group_by"]; seesAll: boolean },
) {
  const { store } = deps;
  const accountOf = ({ value, accountId }: StatisticsOfGroup) => (group === "account" ? value : accountId);
  const values = groups.map(({ value }) => value);
  const keys =
    group === "key" && values.length > 0
      ? await store.db.selectFrom("keys").select(["id", "name"]).where("id", "in", values).execute()
      : [];
  const keyNames = new Map(keys.map(({ id, name }) => [id, name]));
  const owners = seesAll ? await namesOf(store, groups.map(accountOf)) : undefined;
  const nameOf = ({ value }: StatisticsOfGroup) => {
    if (group === "account") return owners?.get(value)?.name;
    return group === "model" ? nameOfModel(deps, value) : keyNames.get(value);
  };
  return (each: StatisticsOfGroup) => ({
    name: nameOf(each) ?? null,
    account: accountOf(each) || null,
    ...toOwnerJson(owners, accountOf(each)),
  });
}
