import type { ReactNode } from "react";
import type { Interval } from "../../data/time-range.ts";
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
import { groupNames, type MetricName, metricNames, type Statistics, type StatisticsQuery, targetUnits } from "./api.ts";
import { toGroupName } from "./group-name.ts";

const hoursPerDay = 24;
const units: Partial<Record<MetricName, string>> = { requests: "requests", errors: "errors", tokens: "tokens" };

/** The metric over time: bars of what adds up, lines of what does not. `children` choose what is shown. */
export function OverTime({
  data,
  query: { interval, metric, group_by },
  target,
  children,
}: {
  data: Statistics;
  query: StatisticsQuery;
  /** In the unit of the values; absent: no line is drawn. */
  target?: number | undefined;
  children: ReactNode;
}) {
  // More than two days of hourly bars are labelled by day.
  const labelsDays = interval === "hour" && data.buckets.length > 2 * hoursPerDay;
  // Losses are below zero, and stacked bars cannot show them.
  const isLoss = [data.values, ...data.groups.map(({ values }) => values ?? [])].flat().some((one) => (one ?? 0) < 0);
  const isLine = targetUnits[metric] !== undefined || isLoss;
  const lines = isLine ? toLines(data, group_by) : [];
  const targetLine =
    target === undefined
      ? []
      : [{ name: "Target", values: data.buckets.map(() => target), colour: "--bad", isTarget: true }];
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
            series={isLine ? [...lines, ...targetLine] : toBars(data, group_by)}
            ticks={data.buckets.map((start) => (labelsDays ? formatBucket(start, "day") : formatTick(start, interval)))}
            tickStep={labelsDays ? hoursPerDay : 1}
            titles={data.buckets.map((start) => formatBucket(start, interval))}
            format={toFormat(metric, data)}
            {...(unit !== undefined && { unit })}
          />
          {target !== undefined && <Kept lines={lines} target={target} metric={metric} interval={interval} />}
        </div>
      )}
    </section>
  );
}

/** How often each line has kept to the target, for those who plan by a budget of errors. */
function Kept({
  lines,
  target,
  metric,
  interval,
}: {
  lines: readonly Series[];
  target: number;
  metric: MetricName;
  interval: Interval;
}) {
  // More cache hits are better.
  const isKept = (value: number) => (metric === "cache" ? value >= target : value <= target);
  return (
    <>
      <p className="soft">Within the target:</p>
      <ul className="soft">
        {lines.map(({ name, values }) => {
          const figures = values.filter((value) => value !== null);
          const count = figures.filter(isKept).length;
          return (
            <li key={name}>
              {name}: {count} of {figures.length} {figures.length === 1 ? interval : `${interval}s`} with requests
              {figures.length > 0 && ` (${formatShare(count / figures.length)})`}
            </li>
          );
        })}
      </ul>
    </>
  );
}

type Group = StatisticsQuery["group_by"];

/** Makes one series for each group with values, and one for the rest and for values without a session or tag. */
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
  if (metric === "cost" || metric === "earned") {
    const sum = metric === "cost" ? totals.cost_usd : (totals.earned_usd ?? "0");
    const decimals = toUsdDecimals(Math.abs(Number(sum)));
    return (value) => formatUsdColumn(String(value), decimals);
  }
  const unit = targetUnits[metric];
  if (unit === "%") return formatShare;
  return unit === "ms" ? (value) => formatMs(Math.round(value)) : formatShort;
}
