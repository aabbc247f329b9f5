import { Type } from "@sinclair/typebox";
import {
  answerColumns,
  cacheReadColumns,
  formatUsd,
  GatewayError,
  makeCallId,
  promptColumns,
  type QuotaState,
  quoteValue,
  sumColumns,
  unitFigures,
  type WalletState,
} from "../../contract/index.ts";
import { getFreeQuota } from "../../keys/index.ts";
import {
  createBuckets,
  type DaySpan,
  periods,
  readAgentUsage,
  readUsageBuckets,
  readUsageBy,
  spanDaysMax,
  sumUsage,
  type UsageBucket,
  type UsageByModel,
  type UsageFigures,
  type UsageSums,
} from "../../reports/index.ts";
import type { HttpDeps } from "../deps.ts";
import { dataHeaders, jsonForPage } from "../lifecycle/headers.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import type { Route } from "../lifecycle/route.ts";
import { readUser } from "../lifecycle/session.ts";
import { responses } from "./openapi.ts";

const dayMs = 86_400_000;
const hourMs = 3_600_000;
/** The length of the span without `startDate`. */
const daysDefault = 30;

const Figures = Type.Object({
  requests: Type.Integer(),
  failures: Type.Integer(),
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
  cached_tokens: Type.Integer({ description: "Tokens of the prompt that were read from a cache" }),
  ...Object.fromEntries(
    unitFigures.map(({ field, divisor }) => [field, divisor === 1 ? Type.Integer() : Type.Number()]),
  ),
  quota_tokens: Type.Integer(),
  cost_usd: Type.String({ description: "Cost at the prices of the account" }),
  charged_usd: Type.String({ description: "What the wallet paid" }),
});
/** Values of `group_by`. */
const groups = ["model", "key", "plugin", "status", "session", "tag", "end_user", "agent"] as const;
type Group = (typeof groups)[number];
/** The most days of other groups than models, whose sums are not kept by month. */
const groupedDaysMax = 366;

const byGroup = (group: Group) => Type.Array(Type.Intersect([Type.Object({ [group]: Type.String() }), Figures]));
/** The group that `group_by` names. */
const Groups = Type.Partial(Type.Object(Object.fromEntries(groups.map((group) => [`by_${group}`, byGroup(group)]))));
const UsageRecord = Type.Object({
  object: Type.Literal("usage"),
  period: Type.String(),
  start_date: Type.String(),
  end_date: Type.String(),
  quota: Type.Object({
    limit: Type.Integer(),
    used: Type.Integer(),
    remaining: Type.Integer(),
    resets_at: Type.String(),
  }),
  wallet: Type.Object({ balance_usd: Type.String(), held_usd: Type.String() }),
  totals: Type.Intersect([Figures, Groups]),
  data: Type.Array(Type.Intersect([Type.Object({ start: Type.String(), end: Type.String() }), Figures, Groups])),
});
const parameters = ["startDate", "endDate", "period", "group_by", "session"].map((name) => ({
  name,
  in: "query" as const,
  required: false,
  schema: { type: "string" as const, ...(name === "group_by" && { enum: [...groups], default: "model" }) },
}));

interface UsageQuery extends DaySpan {
  readonly period: UsageBucket;
  readonly group: Group;
  /** The session whose agents are grouped; only present with `group_by=agent`. */
  readonly session: string | undefined;
}

/** GET /usage: the usage of the user's account in UTC buckets. */
export function usageController(deps: HttpDeps): Route[] {
  const answer = async ({ request }: { request: Request }): Promise<Response> => {
    const user = await readUser(deps, request);
    const { accountId } = user;
    const freeTokensPerDay = getFreeQuota(user, deps.config);
    const query = readUsageQuery(parseUrl(request).searchParams, deps.now());
    const [{ sums, grouped }, quota, wallet] = await Promise.all([
      readSums(deps, accountId, query),
      deps.ledger.readQuotaState({ accountId, freeTokensPerDay }),
      deps.ledger.readWalletState(accountId),
    ]);
    const headers = { ...dataHeaders(request), "x-request-id": makeCallId(deps.now()) };
    return jsonForPage(request, toRecord(query, { sums, grouped }, { quota, wallet }), headers);
  };
  return [
    {
      method: "GET",
      path: "/usage",
      answer,
      detail: {
        summary: "Usage, quota and wallet of the signed-in account",
        description:
          "Takes the cookie `session`, not an API key. `startDate` and `endDate` are UTC days, inclusive (default: the " +
          "last 30 days); `period` is hourly, daily (default), weekly, monthly or yearly. `group_by` is model (default), key, " +
          "plugin, status, session, tag, end_user or agent, and names the lists of groups: `by_model`, `by_key` and so on. " +
          "`agent` needs `session`, and all figures are then of that session; the session's own calls have an empty name.",
        tags: ["Account"],
        parameters,
        security: [{ session: [] }],
        responses: responses({ "application/json": UsageRecord }, [400, 401, 403, 500, 503]),
      },
    },
  ];
}

async function readSums(
  deps: HttpDeps,
  accountId: string,
  query: UsageQuery,
): Promise<Record<"sums" | "grouped", UsageSums>> {
  const { store, rollup } = deps;
  const { group, session } = query;
  if (session !== undefined) {
    const usage = await readAgentUsage(store, { accountId, session });
    if (usage === undefined)
      throw invalidParameter("session", "The session has too many calls to tell its agents apart");
    const sums = sumUsage(createBuckets(query.period, query), usage);
    return { sums, grouped: sums };
  }
  if (group === "model" || group === "agent") {
    const sums = await readUsageBuckets(store, accountId, query);
    return { sums, grouped: sums };
  }
  await rollup?.freshen();
  const [sums, grouped] = await Promise.all([
    readUsageBuckets(store, accountId, query),
    readUsageBy(store, accountId, { ...query, group }),
  ]);
  return { sums, grouped };
}

function toRecord(
  { period, startDay, endDay, group }: UsageQuery,
  { sums: { totals, buckets }, grouped }: { sums: UsageSums; grouped: UsageSums },
  { quota, wallet }: { quota: QuotaState; wallet: WalletState },
) {
  return {
    object: "usage",
    period,
    start_date: toDate(startDay * dayMs),
    end_date: toDate(endDay * dayMs),
    quota: {
      limit: quota.limitTokens,
      used: quota.usedTokens,
      remaining: Math.max(0, quota.limitTokens - quota.usedTokens - quota.heldTokens),
      resets_at: new Date(quota.resetsAt).toISOString(),
    },
    wallet: { balance_usd: formatUsd(wallet.balanceNanodollars), held_usd: formatUsd(wallet.heldNanodollars) },
    totals: { ...toFiguresJson(totals.figures), ...toGroupsJson(group, grouped.totals) },
    data: buckets.map((bucket, place) => ({
      start: new Date(bucket.startHour * hourMs).toISOString(),
      end: new Date(bucket.endHour * hourMs).toISOString(),
      ...toFiguresJson(bucket.figures),
      ...toGroupsJson(group, grouped.buckets[place]),
    })),
  };
}

function toGroupsJson(group: Group, sum: UsageByModel | undefined) {
  const list = [...(sum?.byModel ?? [])].map(([value, figures]) => ({ [group]: value, ...toFiguresJson(figures) }));
  return { [`by_${group}`]: list };
}

function toFiguresJson(figures: UsageFigures) {
  const prompt = sumColumns(figures, promptColumns);
  const completion = sumColumns(figures, answerColumns);
  return {
    requests: figures.requests,
    failures: figures.failures,
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    cached_tokens: sumColumns(figures, cacheReadColumns),
    ...Object.fromEntries(unitFigures.map(({ field, divisor, column }) => [field, figures[column] / divisor])),
    quota_tokens: figures.quota_tokens,
    cost_usd: formatUsd(figures.cost_nanodollars),
    charged_usd: formatUsd(figures.charged_nanodollars),
  };
}

function toDate(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/**
 * Reads the query of GET /usage.
 *
 * @throws {GatewayError} `invalid_request` naming the parameter.
 */
export function readUsageQuery(query: URLSearchParams, now: number): UsageQuery {
  const period = readOne("period", periods, query.get("period")) ?? "daily";
  const group = readOne("group_by", groups, query.get("group_by")) ?? "model";
  const end = query.get("endDate");
  const start = query.get("startDate");
  const startGiven = start === null || start === "" ? undefined : readDay("startDate", start);
  const today = Math.floor(now / dayMs);
  const endDay = end === null || end === "" ? Math.max(today, startGiven ?? today) : readDay("endDate", end);
  const startDay = startGiven ?? Math.max(0, endDay - daysDefault + 1);
  if (endDay < startDay) throw invalidParameter("endDate", `endDate ${end} is before startDate ${start}`);
  const days = endDay - startDay + 1;
  const max = group === "model" ? spanDaysMax[period] : Math.min(spanDaysMax[period], groupedDaysMax);
  if (days > max) {
    const what = group === "model" ? `${period}; ask for fewer days or a longer period` : `${period} usage by ${group}`;
    throw invalidParameter("startDate", `The span has ${days} days, but at most ${max} are allowed for ${what}`);
  }
  return { period, group, startDay, endDay, session: readSession(query, group) };
}

/** @throws {GatewayError} `invalid_request` */
function readSession(query: URLSearchParams, group: Group): string | undefined {
  const session = query.get("session") || undefined;
  if (group === "agent" && session === undefined) {
    throw invalidParameter("session", "session is missing: agents are told apart within one session; name it");
  }
  if (group !== "agent" && session !== undefined) {
    throw invalidParameter("session", "session is read with group_by=agent alone; leave it out");
  }
  return session;
}

function readOne<Value extends string>(
  param: string,
  values: readonly Value[],
  text: string | null,
): Value | undefined {
  if (text === null || text === "") return undefined;
  const value = values.find((each) => each === text);
  if (value !== undefined) return value;
  throw invalidParameter(param, `${param} is ${quoteValue(text)}, expected one of ${values.join(", ")}`);
}

/** A day as `2026-11-21`, or a time with its zone as `2026-11-21T12:00:00Z`. */
function readDay(param: string, text: string): number {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isMoment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(text);
  const at = isDay || isMoment ? Date.parse(text) : Number.NaN;
  // Date.parse reads the 31st of November as the 1st of December.
  const exists = !Number.isNaN(at) && (!isDay || new Date(at).toISOString().startsWith(text));
  if (exists && at >= 0) return Math.floor(at / dayMs);
  throw invalidParameter(param, `${param} is ${quoteValue(text)}, expected a date from 1970-01-01 such as 2026-11-21`);
}

function invalidParameter(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
