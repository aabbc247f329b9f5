import { useEffect, useState } from "react";
import { useCalls } from "../../data/calls.ts";
import { periods, useUsage } from "../../data/usage.ts";
import { DayFields } from "../../kit/day-fields.tsx";
import { Loaded } from "../../kit/feedback.tsx";
import { Select } from "../../kit/field.tsx";
import { PageHead } from "../../kit/page.tsx";
import { Segmented } from "../../kit/segmented.tsx";
import { setParams, useParam } from "../../kit/use-param.ts";
import { CallsCard } from "./calls-card.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { listPeriods, type RangeName, rangeNames, ranges, readDays, toDays, toLast24Hours } from "./ranges.ts";
import { Stats } from "./stats.tsx";
import { metrics, UsageCard } from "./usage-card.tsx";

const minuteMs = 60_000;
const rangeOptions = [...rangeNames.map((name) => [name, ranges[name].name] as const), ["custom", "Custom"] as const];
const knownRanges = rangeOptions.map(([name]) => name);

export function OverviewPage() {
  const [metric, setMetric] = useParam("metric", "requests", metrics);
  const { range, name, days, offered, period } = useRange();
  const calls = useCalls();
  const usage = useUsage({ ...days, period }, calls.data?.stamp);
  useMinuteTick();
  const isLastDay = range === "day" && usage.data?.period === "hourly";
  const shown = isLastDay && usage.data !== undefined ? toLast24Hours(usage.data, Date.now()) : usage.data;
  return (
    <>
      <PageHead title="Overview" description="Balance, quota and usage of your account. Times are in UTC.">
        <Segmented
          label="Time range"
          value={range}
          options={rangeOptions}
          // Custom days begin as those that are shown.
          onChoose={(next) =>
            setParams(
              next === "custom"
                ? { range: next, from: days.startDate, to: days.endDate, period: "" }
                : { range: next === "month" ? "" : next, from: "", to: "", period: "" },
            )
          }
        />
        {range === "custom" && <DayFields {...days} onDay={(day) => setParams({ ...day, period: "" })} />}
        <Select
          isSmall
          aria-label="Interval"
          options={offered.map((each) => [each, each.charAt(0).toUpperCase() + each.slice(1)] as const)}
          value={period}
          onText={(next) => setParams({ period: next === offered[0] ? "" : next })}
        />
      </PageHead>
      <div className="stack">
        <FirstSteps calls={calls.data?.data} />
        <Stats usage={shown} range={name} />
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

/** The range and the interval in the address; 30 days by default. */
function useRange() {
  const [chosen] = useParam<RangeName | "custom">("range", "month", knownRanges);
  const [from] = useParam("from", "");
  const [to] = useParam("to", "");
  const custom = chosen === "custom" ? readDays(from, to) : undefined;
  const range = chosen === "custom" && custom === undefined ? "month" : chosen;
  const days = custom ?? toDays(range as RangeName, Date.now());
  const offered = custom === undefined ? ranges[range as RangeName].periods : listPeriods(custom);
  const [wanted] = useParam("period", offered[0], periods);
  const period = offered.find((each) => each === wanted) ?? offered[0];
  const name = custom === undefined ? ranges[range as RangeName].name : `${days.startDate} to ${days.endDate}`;
  return { range, name, days, offered, period };
}

/** Re-renders every minute, so that relative times stay right. */
function useMinuteTick(): void {
  const [, setMinute] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setMinute((minute) => minute + 1), minuteMs);
    return () => clearInterval(timer);
  }, []);
}
