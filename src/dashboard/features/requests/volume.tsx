import type { Interval } from "../../data/time-range.ts";
import { formatBucket, formatShort, formatTick } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { StackedBars } from "../../kit/chart/stacked-bars.tsx";
import { setParams } from "../../kit/url-state.ts";
import { type StatisticsQuery, filterNames as summedFilters, useStatistics } from "../statistics/api.ts";
import type { RequestQuery } from "./api.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** The span of a log without a beginning, the longest one, and the longest one that is shown by the hour. */
const daysDefault = 30;
const daysMax = 366;
const hourlyDaysMax = 7;

/** Number of requests over time. Dragging over bars narrows the log to their time. */
export function Volume({ query }: { query: RequestQuery }) {
  const { from, until, status, ...others } = query;
  const isSummed = Object.keys(others).every((name) => (summedFilters as readonly string[]).includes(name));
  const isKnownStatus = status === undefined || ["ok", "failed"].includes(status) || /^\d{3}$/.test(status);
  if (!isSummed || !isKnownStatus) return null;
  const span = readSpan(from, until, Date.now());
  const exact = status === undefined || !/^\d{3}$/.test(status) ? {} : { status };
  const filter = { ...others, ...exact, ...span, group_by: "status" } as Omit<StatisticsQuery, "metric">;
  return <Chart filter={filter} status={status} hasSpan={from !== undefined || until !== undefined} />;
}

interface ChartProps {
  filter: Omit<StatisticsQuery, "metric">;
  status: string | undefined;
  hasSpan: boolean;
}

function Chart({ filter, status, hasSpan }: ChartProps) {
  const requests = useStatistics({ ...filter, metric: "requests" }).data;
  const errors = useStatistics({ ...filter, metric: "errors" }).data;
  const { interval } = filter;
  const starts = requests?.buckets ?? [];
  const isReady = requests !== undefined && errors !== undefined && errors.buckets.length === starts.length;
  const failed = starts.map((_, bar) => errors?.values[bar] ?? 0);
  const succeeded = starts.map((_, bar) => Math.max(0, (requests?.values[bar] ?? 0) - (failed[bar] ?? 0)));
  const series = [
    ...(status === "failed" ? [] : [{ name: "Succeeded", colour: "--accent", values: succeeded }]),
    ...(status === "ok" ? [] : [{ name: "Failed or refused", colour: "--bad-fill", values: failed }]),
  ];
  const ofDays = interval === "hour" && starts.length > 48;
  const select = (first: number, last: number) => {
    const [from, end] = [starts[first], starts[last]];
    if (from === undefined || end === undefined) return;
    const until = new Date(Date.parse(end) + (interval === "hour" ? hourMs : dayMs)).toISOString();
    setParams({ span: "", from, until });
  };
  return (
    <section className="volume" aria-label="Requests over time">
      <div className="row row-apart">
        <span className="soft">
          {interval === "hour" ? "Requests by hour (UTC)" : "Requests by day (UTC)"}
          {!hasSpan && `, last ${daysDefault} days`}
          <span className="faint wide-only"> · drag to choose a time</span>
        </span>
        {hasSpan && (
          <Button look="small" onClick={() => setParams({ span: "", from: "", until: "" })}>
            Any time
          </Button>
        )}
      </div>
      {isReady ? (
        <StackedBars
          label="Requests over time; the fields From and Until choose a time too"
          height={120}
          series={series}
          ticks={starts.map((start) => (ofDays ? formatBucket(start, "day") : formatTick(start, interval)))}
          tickStep={ofDays ? 24 : 1}
          titles={starts.map((start) => formatBucket(start, interval))}
          format={formatShort}
          unit="requests"
          onSelect={select}
        />
      ) : (
        <div style={{ height: 120 }} />
      )}
    </section>
  );
}

/** Whole hours or days around a span, which the sums have. */
function readSpan(from: string | undefined, until: string | undefined, now: number) {
  const end = until === undefined ? now : Math.min(Date.parse(until), now);
  const start = from === undefined ? end - daysDefault * dayMs : Math.max(Date.parse(from), end - daysMax * dayMs);
  const interval: Interval = end - start > hourlyDaysMax * dayMs ? "day" : "hour";
  const unit = interval === "hour" ? hourMs : dayMs;
  const first = Math.floor(start / unit) * unit;
  const last = Math.max(first + unit, Math.ceil(end / unit) * unit);
  return { from: new Date(first).toISOString(), to: new Date(last).toISOString(), interval };
}
