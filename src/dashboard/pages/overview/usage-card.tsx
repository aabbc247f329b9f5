import type { Usage } from "../../data/usage.ts";
import { formatBucket, formatCount, formatShort, formatTick, formatUsd } from "../../format.ts";
import { StackedBars } from "../../ui/chart/stacked-bars.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { Empty } from "../../ui/states.tsx";
import { figureOf, type Metric, rankModels, seriesOf } from "./series.ts";

const hoursOfDay = 24;
const names: Record<Metric, string> = { requests: "Requests", tokens: "Tokens", cost: "Cost" };

/** What was used over time, by model. */
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
  // The hours of more than two days are told by their days.
  const isOfDays = period === "hourly" && data.length > 2 * hoursOfDay;
  const ranked = rankModels(totals.by_model, metric);
  const format = (value: number) => (metric === "cost" ? formatUsd(String(value)) : formatShort(value));
  const label = `${names[metric]} over time, in all ${format(figureOf(totals, metric))}; by model in the table below`;
  return (
    <section className="card" aria-label="Usage over time">
      <div className="card-head">
        <h2>Usage</h2>
        <Segmented
          label="What to show"
          value={metric}
          options={Object.entries(names) as [Metric, string][]}
          onChoose={onMetric}
        />
      </div>
      {ranked.length === 0 ? (
        <Empty icon="pulse" title="No calls in this time">
          <p>Make an API key and send a request; it shows here within seconds.</p>
        </Empty>
      ) : (
        <>
          <div className="card-body">
            <StackedBars
              label={label}
              series={seriesOf(data, ranked, metric)}
              ticks={data.map(({ start }) => (isOfDays ? formatBucket(start, "daily") : formatTick(start, period)))}
              tickStep={isOfDays ? hoursOfDay : 1}
              titles={data.map(({ start }) => formatBucket(start, period))}
              format={format}
            />
          </div>
          <ByModel ranked={ranked} />
        </>
      )}
    </section>
  );
}

function ByModel({ ranked }: { ranked: ReturnType<typeof rankModels> }) {
  const colour = (place: number) => (place < 5 || (place === 5 && ranked.length === 6) ? place + 1 : 6);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
    <section className="table-wrap by-model" tabIndex={0} aria-label="Usage by model">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col" className="end">
              Requests
            </th>
            <th scope="col" className="end">
              Tokens
            </th>
            <th scope="col" className="end">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {ranked.map((row, place) => (
            <tr key={row.model}>
              <td className="name">
                <span className="legend-name">
                  <span className={`swatch swatch-${colour(place)}`} />
                  <span className="cut">{row.model}</span>
                </span>
              </td>
              <td className="end">{formatCount(row.requests)}</td>
              <td className="end">{formatShort(row.total_tokens)}</td>
              <td className="end">{formatUsd(row.cost_usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
