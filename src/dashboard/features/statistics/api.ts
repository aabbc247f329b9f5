import useSWR from "swr";
import { api, request } from "../../data/api.ts";
import type { Interval } from "../../data/time-range.ts";

const refreshMs = 60_000;

export const groupNames = {
  account: "Account",
  key: "API key",
  model: "Model",
  plugin: "Provider",
  status: "Status",
  session: "Session",
  end_user: "End user",
  tag: "Tag",
} as const;
export type GroupName = keyof typeof groupNames;

export const metricNames = {
  cost: "Spend",
  earned: "Earned",
  requests: "Requests",
  errors: "Errors",
  error_share: "Error share",
  tokens: "Tokens",
  cache: "Cache hits",
  first_byte: "Time to first token, p95",
  duration: "Duration, p95",
} as const;
export type MetricName = keyof typeof metricNames;

/** Metrics that do not add up, with the unit of a target that is set for them. */
export const targetUnits: Partial<Record<MetricName, "%" | "ms">> = {
  error_share: "%",
  cache: "%",
  first_byte: "ms",
  duration: "ms",
};

/** Filters for sums of requests. Sums of sessions and tags can be filtered by account only. */
export const filterNames = ["account", "key", "model", "plugin", "status"] as const;
export type FilterName = (typeof filterNames)[number];

/** Times are UTC days, both counted, or moments. */
export interface StatisticsQuery extends Partial<Record<FilterName, string>> {
  readonly from: string;
  readonly to: string;
  readonly interval: Interval;
  readonly group_by: GroupName;
  readonly metric: MetricName;
}

const getStatistics = (query: StatisticsQuery) => request(api.statistics.get({ query }));

export type Statistics = Awaited<ReturnType<typeof getStatistics>>;
export type StatisticsGroup = Statistics["groups"][number];

/** Sums of requests, refreshed every minute. The former ones stay on the screen while others load. */
export function useStatistics(query: StatisticsQuery) {
  return useSWR(["statistics", JSON.stringify(query)], ([, text]) => getStatistics(JSON.parse(text)), {
    refreshInterval: refreshMs,
    keepPreviousData: true,
  });
}
