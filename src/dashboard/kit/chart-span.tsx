import { type ChartRange, chartRanges, type Interval, intervalNames } from "../data/time-range.ts";
import { DayFields } from "./day-fields.tsx";
import { Select } from "./field.tsx";
import { Segmented } from "./segmented.tsx";
import { setParams } from "./url-state.ts";

interface ChartSpanProps {
  range: ChartRange;
  from: string;
  to: string;
  interval: Interval;
  /** Intervals that the span can be shown in, best first. */
  intervals: readonly Interval[];
}

/** Chooses the time that the charts of a page show, which is in the address. */
export function ChartSpanFields({ range, from, to, interval, intervals }: ChartSpanProps) {
  return (
    <>
      <Segmented
        label="Time range"
        value={range}
        options={chartRanges}
        // Custom days begin as those that are shown.
        onChoose={(next) =>
          setParams(
            next === "custom"
              ? { range: next, from: from.slice(0, 10), to: to.slice(0, 10), interval: "" }
              : { range: next === "month" ? "" : next, from: "", to: "", interval: "" },
          )
        }
      />
      {range === "custom" && (
        <DayFields startDate={from} endDate={to} onDay={(day) => setParams({ ...day, interval: "" })} />
      )}
      {intervals.length > 1 && (
        <Select
          isSmall
          aria-label="Interval"
          options={intervals.map((each) => [each, intervalNames[each]] as const)}
          value={interval}
          onText={(next) => setParams({ interval: next === intervals[0] ? "" : next })}
        />
      )}
    </>
  );
}
