import { readDays } from "../overview/ranges.ts";
import {
  type FilterName,
  filterNames,
  type GroupName,
  groupNames,
  type MetricName,
  metricNames,
  type StatisticsQuery,
} from "./api.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The time ranges, up to now, with the intervals each can be shown in. */
export const ranges = {
  day: { name: "24 hours", days: 1, intervals: ["hour"] },
  week: { name: "7 days", days: 7, intervals: ["day", "hour"] },
  month: { name: "30 days", days: 30, intervals: ["day"] },
  quarter: { name: "90 days", days: 90, intervals: ["day"] },
} as const;
export type RangeName = keyof typeof ranges | "custom";

export const intervalNames = { hour: "Hourly", day: "Daily" } as const;
type Interval = keyof typeof intervalNames;

/** What the address asks for; what it has no word for, or a wrong one, is the default. */
export interface Asked {
  readonly range: RangeName;
  readonly query: StatisticsQuery;
  readonly intervals: readonly Interval[];
}

/** `account` is the one whose page it is; absent: all accounts are shown, or the one in the address. */
export function readAsked(params: URLSearchParams, now: number, account: string | undefined): Asked {
  const { range, intervals, ...span } = readSpan(params, now);
  const wanted = params.get("interval");
  const isOfAll = account === undefined;
  const group = params.get("by") ?? "";
  const metric = params.get("metric") ?? "";
  const isGroup = Object.hasOwn(groupNames, group) && (isOfAll || group !== "account");
  const group_by = isGroup ? (group as GroupName) : "model";
  return {
    range,
    intervals,
    query: {
      ...span,
      interval: intervals.find((each) => each === wanted) ?? intervals[0] ?? "day",
      group_by,
      metric: Object.hasOwn(metricNames, metric) ? (metric as MetricName) : "cost",
      ...readFilters(params, group_by),
      ...(account !== undefined && { account }),
    },
  };
}

/** The filters that a group knows. */
function readFilters(params: URLSearchParams, group: GroupName): Partial<Record<FilterName, string>> {
  const filters: Partial<Record<FilterName, string>> = {};
  for (const name of group === "session" || group === "tag" ? (["account"] as const) : filterNames) {
    const value = params.get(name);
    if (value) filters[name] = value;
  }
  return filters;
}

function readSpan(params: URLSearchParams, now: number) {
  const given = params.get("range") ?? "month";
  const custom = given === "custom" ? readDays(params.get("from") ?? "", params.get("to") ?? "") : undefined;
  if (custom !== undefined) {
    const { startDate: from, endDate: to } = custom;
    const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
    const intervals: readonly Interval[] = days <= 2 ? ["hour", "day"] : days <= 8 ? ["day", "hour"] : ["day"];
    return { range: "custom" as const, from, to, intervals };
  }
  const range = Object.hasOwn(ranges, given) ? (given as keyof typeof ranges) : "month";
  const { days, intervals } = ranges[range];
  if (range === "day") {
    const end = (Math.floor(now / hourMs) + 1) * hourMs;
    return { range, from: new Date(end - dayMs).toISOString(), to: new Date(end).toISOString(), intervals };
  }
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  return { range, from: day(now - (days - 1) * dayMs), to: day(now), intervals };
}
