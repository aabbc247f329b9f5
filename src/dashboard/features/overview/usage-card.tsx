import { useState } from "react";
import type { Bucket, ModelUsage, Usage, UsageTotals } from "../../data/usage.ts";
import { formatBucket, formatCount, formatShort, formatTick, formatUsdColumn, toUsdDecimals } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { type Series, StackedBars, Swatch } from "../../kit/chart/stacked-bars.tsx";
import { Empty } from "../../kit/feedback.tsx";
import { Usd } from "../../kit/page.tsx";
import { Segmented } from "../../kit/segmented.tsx";
import { Table } from "../../kit/table.tsx";

export const metrics = ["requests", "tokens", "cost"] as const;
export type Metric = (typeof metrics)[number];

const hoursPerDay = 24;
const names: Record<Metric, string> = { requests: "Requests", tokens: "Tokens", cost: "Cost" };

/** Models with a colour of their own; the rest share one. */
const shownMax = 5;
/** Rows of the table before it is expanded. */
const listedMax = 8;

export function UsageCard({
  usage,
  metric,
  onMetric,
}: {
  usage: Pick<Usage, "period" | "data" | "totals">;
  metric: Metric;
  onMetric: (metric: Metric) => void;
}) {
  const { data, period, totals } = usage;
  // More than two days of hourly bars are labelled by day.
  const labelsDays = period === "hourly" && data.length > 2 * hoursPerDay;
  const ranked = rankModels(totals.by_model, metric);
  const format = (value: number) => (metric === "cost" ? formatUsdColumn(String(value), decimals) : formatShort(value));
  const decimals = toUsdDecimals(getMetric(totals, "cost"));
  const label = `${names[metric]} over time, ${format(getMetric(totals, metric))} in total; by model in the table below`;
  return (
    <section className="card" aria-label="Usage over time">
      <div className="card-head">
        <h2>Usage</h2>
        <Segmented
          label="Metric"
          value={metric}
          options={Object.entries(names) as [Metric, string][]}
          onChoose={onMetric}
        />
      </div>
      {ranked.length === 0 ? (
        <Empty icon="pulse" title="No calls in this period">
          <p>Create an API key and send a request. It shows up here within seconds.</p>
        </Empty>
      ) : (
        <>
          <div className="card-body">
            <StackedBars
              label={label}
              series={toSeries(data, ranked, metric)}
              ticks={data.map(({ start }) => (labelsDays ? formatBucket(start, "daily") : formatTick(start, period)))}
              tickStep={labelsDays ? hoursPerDay : 1}
              titles={data.map(({ start }) => formatBucket(start, period))}
              format={format}
              {...(metric !== "cost" && { unit: metric })}
            />
          </div>
          <ByModel ranked={ranked} />
        </>
      )}
    </section>
  );
}

function ByModel({ ranked }: { ranked: ReturnType<typeof rankModels> }) {
  const [isAll, setAll] = useState(false);
  const rows = isAll || ranked.length <= listedMax + 1 ? ranked : ranked.slice(0, listedMax);
  const series = listSeries(ranked);
  return (
    <section className="by-model" aria-label="Usage by model">
      <Table
        sortName="models"
        rows={rows}
        rowKey={({ model }) => model}
        columns={[
          {
            name: "Model",
            className: "name lead",
            sort: ({ model }) => model,
            cell: ({ model }) => (
              <span className="legend-name">
                <Swatch name={model} isOther={!series.includes(model)} />
                <span className="cut">{model}</span>
              </span>
            ),
          },
          {
            name: "Requests",
            className: "end",
            sort: ({ requests }) => requests,
            cell: ({ requests }) => formatCount(requests),
          },
          {
            name: "Tokens",
            className: "end",
            sort: ({ total_tokens }) => total_tokens,
            cell: ({ total_tokens }) => formatShort(total_tokens),
          },
          {
            name: "Cost",
            className: "end",
            sort: ({ cost_usd }) => Number(cost_usd),
            cell: ({ cost_usd }) => <Usd value={cost_usd} isAligned />,
          },
        ]}
      />
      {rows.length < ranked.length && (
        <div className="table-foot">
          <span>
            {rows.length} of {ranked.length} models
          </span>
          <Button look="small" onClick={() => setAll(true)}>
            Show all models
          </Button>
        </div>
      )}
    </section>
  );
}

function getMetric(totals: UsageTotals, metric: Metric): number {
  if (metric === "requests") return totals.requests;
  return metric === "tokens" ? totals.total_tokens : Number(totals.cost_usd);
}

/** Models by the metric, highest first. */
function rankModels(models: readonly ModelUsage[], metric: Metric): readonly ModelUsage[] {
  return models.toSorted(
    (a, b) => getMetric(b, metric) - getMetric(a, metric) || b.requests - a.requests || a.model.localeCompare(b.model),
  );
}

/** One series for each of the top models, and one for all others. */
function toSeries(buckets: readonly Bucket[], ranked: readonly ModelUsage[], metric: Metric): Series[] {
  const shown = listSeries(ranked);
  const perBucket = buckets.map(({ by_model }) => new Map(by_model.map((row) => [row.model, getMetric(row, metric)])));
  const series = shown.map((model) => ({ name: model, values: perBucket.map((row) => row.get(model) ?? 0) }));
  if (shown.length === ranked.length) return series;
  const others = buckets.map(({ by_model }) =>
    by_model.filter(({ model }) => !shown.includes(model)).reduce((sum, row) => sum + getMetric(row, metric), 0),
  );
  return [...series, { name: `${ranked.length - shown.length} others`, values: others, isOther: true }];
}

/** The models with a series of their own. */
function listSeries(ranked: readonly ModelUsage[]): readonly string[] {
  return ranked.slice(0, ranked.length > shownMax + 1 ? shownMax : shownMax + 1).map(({ model }) => model);
}
