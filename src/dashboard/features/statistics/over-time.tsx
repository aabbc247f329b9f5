import type { ReactNode } from "react";
import {
  formatBucket,
  formatMs,
  formatShare,
  formatShort,
  formatTick,
  formatUsdColumn,
  toUsdDecimals,
} from "../../format.ts";
import { Lines, type Series, StackedBars } from "../../kit/chart/stacked-bars.tsx";
import { groupNames, type MetricName, metricNames, type Statistics, type StatisticsQuery } from "./api.ts";
import { toGroupName } from "./group-name.ts";

const hoursPerDay = 24;
const lineMetrics: readonly MetricName[] = ["cache", "first_byte", "duration"];
const units: Partial<Record<MetricName, string>> = { requests: "requests", errors: "errors", tokens: "tokens" };

/** The metric over time: bars of what adds up, lines of what does not. `children` choose what is shown. */
export function OverTime({
  data,
  query: { interval, metric, group_by },
  children,
}: {
  data: Statistics;
  query: StatisticsQuery;
  children: ReactNode;
}) {
  // More than two days of hourly bars are labelled by day.
  const labelsDays = interval === "hour" && data.buckets.length > 2 * hoursPerDay;
  const isLine = lineMetrics.includes(metric);
  const ChartOfMetric = isLine ? Lines : StackedBars;
  const unit = units[metric];
  return (
    <section className="card" aria-label={`${metricNames[metric]} over time`}>
      <div className="card-head">
        <h2>{metricNames[metric]}</h2>
        <div className="row">{children}</div>
      </div>
      {data.totals.requests > 0 && (
        <div className="card-body">
          <ChartOfMetric
            label={`${metricNames[metric]} over time by ${groupNames[group_by]}; the sums are in the table below`}
            series={isLine ? toLines(data, group_by) : toBars(data, group_by)}
            ticks={data.buckets.map((start) => (labelsDays ? formatBucket(start, "day") : formatTick(start, interval)))}
            tickStep={labelsDays ? hoursPerDay : 1}
            titles={data.buckets.map((start) => formatBucket(start, interval))}
            format={toFormat(metric, data)}
            {...(unit !== undefined && { unit })}
          />
        </div>
      )}
    </section>
  );
}

type Group = StatisticsQuery["group_by"];

/** One series for each group with values, and one for all others and what has no session or tag. */
function toBars(data: Statistics, group: Group): Series[] {
  const series = toSeries(data, group).filter(({ values }) => values.some((value) => value !== 0));
  const others = data.values.map((total, bar) => {
    const shown = series.reduce((sum, { values }) => sum + (values[bar] ?? 0), 0);
    // Sums of money are fractions, which do not add up to the last digit.
    const rest = (total ?? 0) - shown;
    return rest > (total ?? 0) * 1e-9 ? rest : 0;
  });
  if (others.every((value) => value === 0)) return series;
  return [...series, { name: "All others", values: others, isOther: true }];
}

function toLines(data: Statistics, group: Group): Series[] {
  const series = toSeries(data, group).filter(({ values }) => values.some((value) => value !== null));
  return series.length === 1 ? series : [...series, { name: "All", values: data.values, isOther: true }];
}

function toSeries(data: Statistics, group: Group): Series[] {
  return data.groups.flatMap((each) =>
    each.values === null ? [] : [{ name: toGroupName(each, group), values: each.values }],
  );
}

function toFormat(metric: MetricName, { totals }: Statistics): (value: number) => string {
  if (metric === "cost") {
    const decimals = toUsdDecimals(Number(totals.cost_usd));
    return (value) => formatUsdColumn(String(value), decimals);
  }
  if (metric === "cache") return formatShare;
  return lineMetrics.includes(metric) ? (value) => formatMs(Math.round(value)) : formatShort;
}
