import { type ChartRange, type Interval, readChartSpan } from "../../data/time-range.ts";
import {
  type FilterName,
  filterNames,
  type GroupName,
  groupNames,
  type MetricName,
  metricNames,
  type StatisticsQuery,
  targetUnits,
} from "./api.ts";

/** The query of the address; a missing or invalid part has its default. */
export interface Asked {
  readonly range: ChartRange;
  readonly query: StatisticsQuery;
  readonly intervals: readonly Interval[];
  /** The target of the metric, as a share or in milliseconds; absent: none is set. */
  readonly target: number | undefined;
}

/** `account` is the one whose page it is; absent: all accounts are shown, or the one in the address. */
export function readAsked(params: URLSearchParams, now: number, account: string | undefined): Asked {
  const { range, intervals, ...span } = readChartSpan(params, now);
  const interval = params.get("interval");
  const isOfAll = account === undefined;
  const group = params.get("by") ?? "";
  const metric = params.get("metric") ?? "";
  const isGroup = Object.hasOwn(groupNames, group) && (isOfAll || group !== "account");
  const group_by = isGroup ? (group as GroupName) : "model";
  return {
    range,
    intervals,
    target: readTarget(params, Object.hasOwn(metricNames, metric) ? (metric as MetricName) : "cost"),
    query: {
      ...span,
      interval: intervals.find((each) => each === interval) ?? intervals[0] ?? "day",
      group_by,
      metric: Object.hasOwn(metricNames, metric) ? (metric as MetricName) : "cost",
      ...readFilters(params, group_by),
      ...(account !== undefined && { account }),
    },
  };
}

/** The address has percent in place of a share. */
function readTarget(params: URLSearchParams, metric: MetricName): number | undefined {
  const unit = targetUnits[metric];
  const text = params.get("target") ?? "";
  if (unit === undefined || !/^\d{1,7}(\.\d{1,3})?$/.test(text)) return undefined;
  return unit === "%" ? Number(text) / 100 : Number(text);
}

/** Whether a group is of names that clients choose, which are summed up by account alone. */
export const isNamed = (group: GroupName): boolean => ["session", "tag", "end_user"].includes(group);

/** The filters that a group knows. */
function readFilters(params: URLSearchParams, group: GroupName): Partial<Record<FilterName, string>> {
  const filters: Partial<Record<FilterName, string>> = {};
  for (const name of isNamed(group) ? (["account"] as const) : filterNames) {
    const value = params.get(name);
    if (value) filters[name] = value;
  }
  return filters;
}
