import { useEffect, useState } from "react";
import { useCalls } from "../../data/calls.ts";
import { type Period, useUsage } from "../../data/usage.ts";
import { Loaded } from "../../ui/feedback.tsx";
import { Select } from "../../ui/field.tsx";
import { PageHead } from "../../ui/page.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { CallsCard } from "./calls-card.tsx";
import { type RangeName, rangeNames, ranges, toLast24Hours, toUsageQuery } from "./ranges.ts";
import { Stats } from "./stats.tsx";
import { type Metric, UsageCard } from "./usage-card.tsx";

const minuteMs = 60_000;

export function OverviewPage() {
  const [range, setRange] = useState<RangeName>("month");
  const [chosenPeriod, setPeriod] = useState<Period>();
  const [metric, setMetric] = useState<Metric>("requests");
  const offered: readonly Period[] = ranges[range].periods;
  const period = chosenPeriod !== undefined && offered.includes(chosenPeriod) ? chosenPeriod : ranges[range].periods[0];
  const calls = useCalls();
  const usage = useUsage(toUsageQuery(range, period, Date.now()), calls.data?.stamp);
  useMinuteTick();
  const isLastDay = range === "day" && usage.data?.period === "hourly";
  const shown = isLastDay && usage.data !== undefined ? toLast24Hours(usage.data, Date.now()) : usage.data;
  return (
    <>
      <PageHead title="Overview" description="Balance, quota and usage of your account. Times are in UTC.">
        <Segmented
          label="Time range"
          value={range}
          options={rangeNames.map((name) => [name, ranges[name].name] as const)}
          onChoose={setRange}
        />
        <Select
          isSmall
          aria-label="Interval"
          options={offered.map((name) => [name, name.charAt(0).toUpperCase() + name.slice(1)] as const)}
          value={period}
          onText={setPeriod}
        />
      </PageHead>
      <div className="stack">
        <Stats usage={shown} range={ranges[range].name} />
        {shown === undefined ? (
          <div className="card">
            <Loaded state={usage} lines={8}>
              {() => null}
            </Loaded>
          </div>
        ) : (
          <UsageCard usage={shown} metric={metric} onMetric={setMetric} />
        )}
        <CallsCard calls={calls} />
      </div>
    </>
  );
}

/** Re-renders every minute, so that relative times stay right. */
function useMinuteTick(): void {
  const [, setMinute] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setMinute((minute) => minute + 1), minuteMs);
    return () => clearInterval(timer);
  }, []);
}
