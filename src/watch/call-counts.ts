import { type Capability, type ErrorCode, type MeterName, type Meters, meterNames } from "../contract/index.ts";
import type { CallWatch, Progress, Route } from "../kernel/index.ts";
import { Buckets } from "./buckets.ts";
import { outcomeOf } from "./outcome.ts";

/** Upper bounds in milliseconds. */
const durationBoundsMs = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000];
const firstByteBoundsMs = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000];

/** What stands for a name that is not in the catalogue, and for all that come when there is no more room. */
const other = "other";
/** More models and plugins than any catalogue has; names that come and go by reloads cannot fill the memory. */
const seriesMax = 5000;

export const callStates = ["settled", "released", "refused"] as const;

/** All that is counted of the calls of one model that one plugin answered. */
export interface CallSeries {
  readonly capability: Capability;
  readonly model: string;
  /** `none` when no plugin answered. */
  readonly plugin: string;
  /** By `status * 4` and the place of the state in {@link callStates}. */
  readonly ends: Map<number, number>;
  readonly durationMs: Buckets;
  readonly firstByteMs: Buckets;
  readonly meters: Record<MeterName, number>;
  reported: number;
  estimated: number;
  none: number;
  costNanodollars: number;
  /** Calls that used something and cost nothing, or nobody knows what. */
  withoutCost: number;
  /** Calls that cost more than was held for them. */
  beyondHold: number;
}

/** What is counted of the attempts at one plugin's provider. */
export interface AttemptSeries {
  readonly plugin: string;
  readonly outcomes: Map<string, number>;
  readonly durationMs: Buckets;
}

/** Counts calls in plain numbers, some tenths of a microsecond for each; a scrape reads them. */
export class CallCounts implements CallWatch {
  readonly calls: CallSeries[] = [];
  readonly attempts = new Map<string, AttemptSeries>();
  /** Calls that ended with an error, by its code. */
  readonly errors = new Map<string, number>();
  /** Answers that were an error, by its code. */
  readonly refusals = new Map<string, number>();
  readonly #byModel = new Map<string, CallSeries[]>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  attempted(progress: Progress, { plugin: { name } }: Route, startedMs: number, error?: unknown): void {
    let series = this.attempts.get(name);
    if (series === undefined) {
      series = this.attempts.size < seriesMax ? newAttempts(name) : newAttempts(other);
      this.attempts.set(series.plugin, series);
    }
    add(series.outcomes, outcomeOf(progress, error));
    series.durationMs.note(this.#now() - startedMs);
  }

  ended(progress: Progress, capability: Capability, isStreamed: boolean): void {
    const { status, errorCode, firstByteMs, costNanodollars, usageSource, hold, meters } = progress;
    const series = this.#seriesOf(progress, capability);
    const end = status * 4 + callStates.indexOf(progress.state);
    add(series.ends, end);
    if (errorCode !== undefined) add(this.errors, errorCode);
    series.durationMs.note(this.#now() - progress.openedAt);
    if (isStreamed && firstByteMs !== undefined) series.firstByteMs.note(firstByteMs);
    if (hold === undefined) return;
    series[usageSource]++;
    const isUsed = addMeters(series.meters, meters);
    if (costNanodollars !== undefined) series.costNanodollars += costNanodollars;
    if (isUsed && !costNanodollars) series.withoutCost++;
    const isBeyond = hold.heldNanodollars > 0 && costNanodollars !== undefined;
    if (isBeyond && costNanodollars > hold.heldNanodollars) series.beyondHold++;
  }

  refused(code: ErrorCode): void {
    add(this.refusals, code);
  }

  #seriesOf({ model, route }: Progress, capability: Capability): CallSeries {
    const modelName = model === undefined ? other : model;
    const plugin = route === undefined ? "none" : route;
    const known = this.#byModel.get(modelName);
    for (const series of known ?? []) if (series.plugin === plugin && series.capability === capability) return series;
    if (this.calls.length >= seriesMax && modelName !== other) return this.#seriesOf(overflow, capability);
    const series = newSeries(capability, modelName, plugin);
    this.calls.push(series);
    if (known === undefined) this.#byModel.set(modelName, [series]);
    else known.push(series);
    return series;
  }
}

const overflow = { model: other, route: undefined } as Progress;

function add(counts: Map<string, number>, key: string): void;
function add(counts: Map<number, number>, key: number): void;
function add(counts: Map<string | number, number>, key: string | number): void {
  const count = counts.get(key);
  counts.set(key, count === undefined ? 1 : count + 1);
}

/** Adds amounts up; says whether there were any. */
function addMeters(sums: Record<MeterName, number>, meters: Meters): boolean {
  let isUsed = false;
  for (const name in meters) {
    const amount = meters[name as MeterName];
    if (amount === undefined || amount === 0) continue;
    sums[name as MeterName] += amount;
    isUsed = true;
  }
  return isUsed;
}

function newAttempts(plugin: string): AttemptSeries {
  return { plugin, outcomes: new Map(), durationMs: new Buckets(durationBoundsMs) };
}

function newSeries(capability: Capability, model: string, plugin: string): CallSeries {
  return {
    capability,
    model,
    plugin,
    ends: new Map(),
    durationMs: new Buckets(durationBoundsMs),
    firstByteMs: new Buckets(firstByteBoundsMs),
    meters: Object.fromEntries(meterNames.map((name) => [name, 0])) as Record<MeterName, number>,
    reported: 0,
    estimated: 0,
    none: 0,
    costNanodollars: 0,
    withoutCost: 0,
    beyondHold: 0,
  };
}
