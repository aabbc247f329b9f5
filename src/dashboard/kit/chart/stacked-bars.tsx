import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import { useIsDark } from "../../theme.ts";
import { otherColour, seriesColour } from "./colours.ts";

/** One segment of every bar, or a line. */
export interface Series {
  readonly name: string;
  /** One per bar, from the left; null: unknown, for lines alone. */
  readonly values: readonly (number | null)[];
  /** Whether it sums up what has no series of its own. */
  readonly isOther?: boolean;
  /** Whether it is a target, which is dashed. */
  readonly isTarget?: boolean;
  /** The custom property with its colour; absent: one by its name. */
  readonly colour?: string;
}

interface Props {
  /** The description for screen readers. */
  label: string;
  /** Bottom to top. */
  series: readonly Series[];
  /** Axis labels, one per bar. */
  ticks: readonly string[];
  /** Only every n-th bar may have a label. */
  tickStep?: number;
  /** Tooltip titles, one per bar. */
  titles: readonly string[];
  format: (value: number) => string;
  /** The unit of the values, such as `tokens`. */
  unit?: string;
  /** In pixels. */
  height?: number;
  /** Called with the first and the last bar that the user drags over, or with the clicked bar as both. */
  onSelect?: (first: number, last: number) => void;
}

const tipWidth = 190;

/** A stacked bar chart over time, with a tooltip. */
export function StackedBars(props: Props) {
  return <Chart {...props} isStacked />;
}

/** Lines over time of what cannot be added up, such as latencies. */
export function Lines(props: Props) {
  return <Chart {...props} isStacked={false} />;
}

function Chart({
  label,
  series,
  ticks,
  tickStep = 1,
  titles,
  format,
  unit,
  height = 260,
  onSelect,
  isStacked,
}: Props & { isStacked: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<{ bar: number; left: number }>();
  const isDark = useIsDark();
  const select = useRef(onSelect);
  select.current = onSelect;
  const dataKey = JSON.stringify([series, ticks]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: redrawn only if the data changed
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const plot = new uPlot(
      {
        ...createOptions({ series, ticks, tickStep, format, isStacked }, setAt),
        width: element.clientWidth,
        height,
      },
      isStacked ? stackSeries(series) : toLines(series),
      element,
    );
    if (onSelect !== undefined) listenForSelection(plot, ticks.length, (first, last) => select.current?.(first, last));
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [dataKey, isDark, isStacked]);
  const className = onSelect === undefined ? "chart" : "chart is-selectable";
  const shown = at === undefined ? [] : listValues(series, at.bar);
  return (
    <div className={className} style={{ height }} role="img" aria-label={label}>
      <div ref={box} />
      {at !== undefined && shown.length > 0 && (
        <div className="chart-tip" style={{ transform: `translate(${at.left}px, 8px)` }}>
          <strong>{titles[at.bar]}</strong>
          <ul>
            {shown.map(({ value, ...each }) => (
              <li key={each.name}>
                <Swatch {...each} />
                <span className="cut">{each.name}</span>
                <span>{format(value)}</span>
              </li>
            ))}
            {isStacked && (shown.length > 1 || unit !== undefined) && (
              <li className="chart-sum">
                <span>Total</span>
                <span>
                  {format(shown.reduce((sum, { value }) => sum + value, 0))} {unit}
                </span>
              </li>
            )}
          </ul>
        </div>
      )}
    </div>
  );
}

/** The colour of a series. */
export function Swatch(series: Pick<Series, "name" | "isOther" | "colour">) {
  return <span className="swatch" style={{ background: `var(${toColour(series)})` }} />;
}

function toColour({ name, isOther = false, colour }: Pick<Series, "name" | "isOther" | "colour">): string {
  return colour ?? (isOther ? otherColour : seriesColour(name));
}

function listValues(series: readonly Series[], bar: number) {
  return series
    .map(({ values, ...each }) => ({ ...each, value: values[bar] ?? 0 }))
    .filter(({ value }) => value !== 0)
    .reverse();
}

/** Cumulative sums, highest first: each lower series is drawn over the ones before it. */
function stackSeries(series: readonly Series[]): uPlot.AlignedData {
  const bars = series[0]?.values.length ?? 0;
  const sums = Array.from({ length: bars }, () => 0);
  const stacked = series.map(({ values }) =>
    values.map((value, bar) => {
      sums[bar] = (sums[bar] ?? 0) + (value ?? 0);
      return sums[bar];
    }),
  );
  return [Array.from({ length: bars }, (_, bar) => bar), ...stacked.reverse()];
}

/** In the order of stacked series. */
function toLines(series: readonly Series[]): uPlot.AlignedData {
  const bars = series[0]?.values.length ?? 0;
  return [Array.from({ length: bars }, (_, bar) => bar), ...series.map(({ values }) => [...values]).reverse()];
}

type OptionsProps = Pick<Props, "series" | "ticks" | "format"> & { tickStep: number; isStacked: boolean };

function createOptions(
  { series, ticks, tickStep, format, isStacked }: OptionsProps,
  point: (at: { bar: number; left: number } | undefined) => void,
): Omit<uPlot.Options, "width" | "height"> {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const axis = { stroke: colour("--text-faint"), font, ticks: { show: false } };
  const isWhole = series.every(({ values }) => values.every((value) => value === null || Number.isInteger(value)));
  const bars = uPlot.paths.bars?.({ size: [0.72, 44], radius: 0.12 });
  return {
    padding: [12, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false }, focus: { prox: -1 } },
    scales: {
      x: { time: false, range: (_plot, _min, max) => [-0.5, max + 0.5] },
      y: { range: (_plot, min, max) => [Math.min(0, min * 1.08), max > 0 ? max * 1.08 : min < 0 ? 0 : 1] },
    },
    axes: [
      {
        ...axis,
        size: 30,
        grid: { show: false },
        space: 64,
        incrs: listTickSteps(ticks.length, tickStep),
        values: (_plot, at) => at.map((bar) => ticks[bar] ?? ""),
      },
      {
        ...axis,
        size: (_plot, labels) => Math.max(56, 12 + 6.5 * Math.max(0, ...(labels ?? []).map(({ length }) => length))),
        space: 44,
        grid: { stroke: colour("--line"), width: 1 },
        // No fractional labels for whole numbers, such as half a request.
        values: (_plot, at) => trimDecimals(at.map((value) => (isWhole && value % 1 !== 0 ? "" : format(value)))),
      },
    ],
    series: [
      {},
      ...series
        .map((each) => {
          const [label, paint] = [each.name, colour(toColour(each))];
          // A single value between unknown ones is not a line, so the points are shown.
          if (each.isTarget) return { label, stroke: paint, width: 1.5, dash: [6, 4], points: { show: false } };
          if (!isStacked) return { label, stroke: paint, width: 2, points: { show: true, size: 5, fill: paint } };
          return { label, fill: paint, width: 0, points: { show: false }, ...(bars !== undefined && { paths: bars }) };
        })
        .reverse(),
    ],
    hooks: {
      setCursor: [
        ({ cursor: { idx, left }, over, bbox }) => {
          if (idx === null || idx === undefined || left === undefined || left < 0) return point(undefined);
          const edge = bbox.left / devicePixelRatio;
          const isRight = left > over.clientWidth / 2;
          point({ bar: idx, left: edge + left + (isRight ? -tipWidth - 12 : 12) });
        },
      ],
    },
  };
}

/** Reports the bars that the pointer is dragged over, and a clicked bar. */
function listenForSelection(plot: uPlot, bars: number, onSelect: (first: number, last: number) => void): void {
  const { over } = plot;
  let start: number | undefined;
  const barAt = ({ clientX }: PointerEvent) => {
    const left = clientX - over.getBoundingClientRect().left;
    return Math.min(bars - 1, Math.max(0, Math.round(plot.posToVal(left, "x"))));
  };
  const mark = (bar: number) => {
    const edges = [Math.min(bar, start ?? bar) - 0.5, Math.max(bar, start ?? bar) + 0.5];
    const [left = 0, right = 0] = edges.map((edge) => plot.valToPos(edge, "x"));
    plot.setSelect({ left, width: right - left, top: 0, height: over.clientHeight }, false);
  };
  over.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    over.setPointerCapture(event.pointerId);
    start = barAt(event);
    mark(start);
  });
  over.addEventListener("pointermove", (event) => start !== undefined && mark(barAt(event)));
  over.addEventListener("pointercancel", () => {
    start = undefined;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  });
  over.addEventListener("pointerup", (event) => {
    if (start === undefined) return;
    const ends = [start, barAt(event)].sort((one, other) => one - other) as [number, number];
    start = undefined;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    onSelect(...ends);
  });
}

/**
 * Removes zeros that all decimals end with, such as `$2` instead of `$2.0000`, but never leaves one decimal of cents.
 */
function trimDecimals(labels: readonly string[]): string[] {
  const decimals = labels.map((label) => {
    const digits = /\.(\d+)$/.exec(label)?.[1] ?? "";
    return Array.from(digits).findLastIndex((digit) => digit !== "0") + 1;
  });
  const most = Math.max(0, ...decimals);
  const places = most === 1 ? 2 : most;
  return labels.map((label) =>
    label.replace(/\.(\d+)$/, (_all, digits: string) => (places === 0 ? "" : `.${digits.slice(0, places)}`)),
  );
}

/** The allowed distances between axis labels, in bars. */
function listTickSteps(bars: number, least: number): number[] {
  const steps = [1, 2, 3, 4, 6, 7, 12, 14, 24, 30, 48, 60, 96, 120, 168, 240, 336];
  return steps.filter((step) => step % least === 0 && step <= Math.max(least, bars));
}
