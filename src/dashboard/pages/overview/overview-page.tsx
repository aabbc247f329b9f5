import { useState } from "react";
import { useCalls } from "../../data/calls.ts";
import { type Period, useUsage } from "../../data/usage.ts";
import { PageHead } from "../../ui/page.tsx";
import { Segmented } from "../../ui/segmented.tsx";
import { Loaded } from "../../ui/states.tsx";
import { useMinutes } from "../../ui/use-minutes.ts";
import { CallsCard } from "./calls-card.tsx";
import { lastDayOf, type RangeName, rangeNames, ranges, spanOf } from "./ranges.ts";
import type { Metric } from "./series.ts";
import { Stats } from "./stats.tsx";
import { UsageCard } from "./usage-card.tsx";

/** The account at a glance: money, quota, what was used, and the latest calls. */
export function OverviewPage() {
  const [range, setRange] = useState<RangeName>("month");
  const [wanted, setPeriod] = useState<Period>();
  const [metric, setMetric] = useState<Metric>("requests");
  const offered: readonly Period[] = ranges[range].periods;
  const period = wanted !== undefined && offered.includes(wanted) ? wanted : ranges[range].periods[0];
  const calls = useCalls();
  const usage = useUsage(spanOf(range, period, Date.now()), calls.data?.stamp);
  useMinutes();
  const isLastDay = range === "day" && usage.data?.period === "hourly";
  const shown = isLastDay && usage.data !== undefined ? lastDayOf(usage.data, Date.now()) : usage.data;
  return (
    <>
      <PageHead title="Overview" about="What your account has and has used, by UTC time.">
        <Segmented
          label="Time"
          value={range}
          options={rangeNames.map((name) => [name, ranges[name].name] as const)}
          onChoose={setRange}
        />
        <select
          className="input input-small"
          aria-label="Length of a bar"
          value={period}
          onChange={(event) => setPeriod(event.target.value as Period)}
        >
          {offered.map((name) => (
            <option key={name} value={name}>
              {name.charAt(0).toUpperCase() + name.slice(1)}
            </option>
          ))}
        </select>
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
