import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { useCalls } from "../../data/calls.ts";
import { useMe } from "../../data/session.ts";
import { readChartSpan, timeRanges } from "../../data/time-range.ts";
import { ChartSpanFields } from "../../kit/chart-span.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { PageHead } from "../../kit/page.tsx";
import { Segmented } from "../../kit/segmented.tsx";
import { useChoice, useUrlParams } from "../../kit/url-state.ts";
import { metricNames, type StatisticsQuery, useStatistics } from "../statistics/api.ts";
import { GroupsTable } from "../statistics/groups-table.tsx";
import { OverTime } from "../statistics/over-time.tsx";
import { CallsCard } from "./calls-card.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { Stats } from "./stats.tsx";

const minuteMs = 60_000;
const metrics = (["requests", "tokens", "cost"] as const).map((metric) => [metric, metricNames[metric]] as const);

/** The account of the user: what it has, and what it used. */
export default function OverviewPage() {
  const { data: me } = useMe();
  const [metric, setMetric] = useChoice("metric", metrics);
  const params = useUrlParams();
  const { range, from, to, intervals } = readChartSpan(params, Date.now());
  const interval = intervals.find((each) => each === params.get("interval")) ?? intervals[0] ?? "day";
  const query: StatisticsQuery = { from, to, interval, group_by: "model", metric, account: me?.account ?? "" };
  const calls = useCalls();
  const statistics = useStatistics(query);
  useRefresh(calls.data?.stamp, statistics.mutate);
  useMinuteTick();
  const name = Object.hasOwn(timeRanges, range)
    ? timeRanges[range as keyof typeof timeRanges].name
    : `${from} to ${to}`;
  return (
    <>
      <PageHead title="Overview" description="Balance, quota and usage of your account. Days are in UTC.">
        <ChartSpanFields range={range} from={from} to={to} interval={interval} intervals={intervals} />
      </PageHead>
      <div className="stack">
        <FirstSteps hasCalls={calls.data === undefined ? undefined : calls.data.data.length > 0} />
        <Stats data={statistics.data} range={name} />
        <Loaded state={statistics} lines={8}>
          {(data) =>
            data.totals.requests === 0 ? (
              <section className="card" aria-label="Usage over time">
                <Empty icon="pulse" title="No requests in this period">
                  <p>
                    Create an API key and <Link href="/connect">send a request</Link>. It shows up here within seconds.
                  </p>
                </Empty>
              </section>
            ) : (
              <>
                <OverTime data={data} query={query}>
                  <Segmented label="Metric" value={metric} options={metrics} onChoose={setMetric} />
                </OverTime>
                <GroupsTable data={data} query={query} isOfAll={false} sortName="models" isNarrowing={false} />
              </>
            )
          }
        </Loaded>
        <CallsCard calls={calls} />
      </div>
    </>
  );
}

/** Loads sums anew when the latest requests have changed, which are much cheaper to poll. */
function useRefresh(stamp: string | undefined, load: () => unknown): void {
  const lastStamp = useRef(stamp);
  useEffect(() => {
    if (lastStamp.current !== undefined && lastStamp.current !== stamp) void load();
    lastStamp.current = stamp;
  }, [stamp, load]);
}

/** Re-renders every minute to keep relative times right. */
function useMinuteTick(): void {
  const [, setMinute] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setMinute((minute) => minute + 1), minuteMs);
    return () => clearInterval(timer);
  }, []);
}
