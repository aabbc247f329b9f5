import { Counter, Histogram, type Registry } from "prom-client";
import {
  type Capability,
  type ErrorCode,
  type MeterName,
  type Meters,
  nanodollarsPerUsd,
  type UsageSource,
} from "../../contract/index.ts";
import type { CallContext, CallObserver, Route } from "../../kernel/index.ts";
import { attemptOutcome } from "../attempt-outcome.ts";

const durationSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const firstByteSeconds = durationSeconds.filter((bound) => bound <= 30);

/** The label of unknown names, and of new names once the limit of series is reached. */
const other = "other";
/** Bounds memory when names come and go with reloads; more than any catalogue has. */
const seriesMax = 5000;

const callLabels = ["capability", "model", "plugin"] as const;
const modelLabels = ["model", "plugin"] as const;

/** The metric, label and divisor of each meter. */
const meterLabels: Readonly<Record<MeterName, readonly ["tokens" | "units", label: string, per: number]>> = {
  inputToken: ["tokens", "input", 1],
  cacheReadToken: ["tokens", "cache_read", 1],
  cacheWriteToken: ["tokens", "cache_write", 1],
  outputToken: ["tokens", "output", 1],
  image: ["units", "images", 1],
  audioMs: ["units", "audio_seconds", 1000],
  character: ["units", "characters", 1],
  call: ["units", "calls", 1],
};

interface CallMetricsOptions {
  /** The clock of {@link Kernel.now}. */
  readonly now: () => number;
  /** Whether a model is premium; `undefined` when it is no longer served. */
  isPremium(model: string): boolean | undefined;
}

/** The metrics of one model, capability and plugin, with their labels bound. */
interface CallSeries {
  readonly capability: Capability;
  readonly model: string;
  /** `none` when no plugin answered. */
  readonly plugin: string;
  /** By status and state. */
  readonly ends: Map<string, Counter.Internal>;
  readonly duration: Histogram.Internal<string>;
  readonly firstByte: Histogram.Internal<string>;
  /** Absent until a call is admitted. */
  admitted: AdmittedSeries | undefined;
}

interface AdmittedSeries {
  readonly meters: Map<MeterName, Counter.Internal>;
  readonly usage: Record<UsageSource, Counter.Internal>;
  readonly cost: Counter.Internal;
  readonly holdExceeded: Counter.Internal;
}

interface AttemptSeries {
  readonly outcomes: Map<string, Counter.Internal>;
  readonly duration: Histogram.Internal<string>;
}

/** Counts calls as they end. */
export class CallMetrics implements CallObserver {
  readonly #metrics: ReturnType<typeof registerCallMetrics>;
  readonly #options: CallMetricsOptions;
  readonly #calls = new Map<string, CallSeries[]>();
  #callsCount = 0;
  readonly #attempts = new Map<string, AttemptSeries>();

  constructor(registry: Registry, options: CallMetricsOptions) {
    this.#metrics = registerCallMetrics(registry);
    this.#options = options;
  }

  attempted(call: CallContext, { plugin: { name } }: Route, startedMs: number, error?: unknown): void {
    const plugin = this.#attempts.has(name) || this.#attempts.size < seriesMax ? name : other;
    let series = this.#attempts.get(plugin);
    if (series === undefined) {
      series = { outcomes: new Map(), duration: this.#metrics.upstreamDuration.labels(plugin) };
      this.#attempts.set(plugin, series);
    }
    const outcome = attemptOutcome(call, error);
    getOrCreate(series.outcomes, outcome, () => this.#metrics.attempts.labels(plugin, outcome)).inc();
    series.duration.observe((this.#options.now() - startedMs) / 1000);
  }

  ended(call: CallContext): void {
    const { capability, status, state, errorCode, firstByteMs, startedMs } = call;
    const series = this.#seriesOf(call.model ?? other, call.route ?? "none", capability);
    const { model, plugin } = series;
    const labels = [capability, model, plugin, String(status), state];
    getOrCreate(series.ends, `${status} ${state}`, () => this.#metrics.calls.labels(...labels)).inc();
    if (errorCode !== undefined) this.#metrics.errors.inc({ code: errorCode });
    series.duration.observe((this.#options.now() - startedMs) / 1000);
    if (call.sink !== undefined && firstByteMs !== undefined) series.firstByte.observe(firstByteMs / 1000);
    if (call.hold !== undefined) this.#countUsage(series, call, call.hold);
  }

  refused(code: ErrorCode): void {
    this.#metrics.errorAnswers.inc({ code });
  }

  #countUsage(series: CallSeries, call: CallContext, { heldNanodollars }: { heldNanodollars: number }): void {
    const { usageSource, costNanodollars, meters } = call;
    series.admitted ??= this.#admit(series);
    const { usage, cost, holdExceeded } = series.admitted;
    usage[usageSource].inc();
    const isUsed = this.#countMeters(series, series.admitted, meters);
    if (isUsed && !costNanodollars) this.#metrics.zeroCost.inc(this.#zeroCostLabels(series));
    if (costNanodollars === undefined) return;
    cost.inc(costNanodollars / nanodollarsPerUsd);
    if (heldNanodollars > 0 && costNanodollars > heldNanodollars) holdExceeded.inc();
  }

  /** Returns whether anything was used. */
  #countMeters({ model, plugin }: CallSeries, { meters: counters }: AdmittedSeries, meters: Meters): boolean {
    let isUsed = false;
    for (const name in meters) {
      const meter = name as MeterName;
      const amount = meters[meter];
      if (amount === undefined || amount === 0) continue;
      isUsed = true;
      const [metric, label, per] = meterLabels[meter];
      getOrCreate(counters, meter, () => this.#metrics[metric].labels(model, plugin, label)).inc(amount / per);
    }
    return isUsed;
  }

  #seriesOf(model: string, plugin: string, capability: Capability): CallSeries {
    const known = this.#calls.get(model);
    for (const series of known ?? []) if (series.plugin === plugin && series.capability === capability) return series;
    if (this.#callsCount >= seriesMax && model !== other) return this.#seriesOf(other, "none", capability);
    const series: CallSeries = {
      capability,
      model,
      plugin,
      ends: new Map(),
      duration: this.#metrics.duration.labels(capability, model, plugin),
      firstByte: this.#metrics.firstByte.labels(capability, model, plugin),
      admitted: undefined,
    };
    this.#callsCount++;
    if (known === undefined) this.#calls.set(model, [series]);
    else known.push(series);
    return series;
  }

  /** Starts counters at 0 whose first increase alerts depend on. */
  #admit(series: CallSeries): AdmittedSeries {
    const { model, plugin } = series;
    const { usage, cost, holdExceeded, zeroCost } = this.#metrics;
    const admitted = {
      meters: new Map(),
      usage: {
        reported: usage.labels(model, plugin, "reported"),
        estimated: usage.labels(model, plugin, "estimated"),
        none: usage.labels(model, plugin, "none"),
      },
      cost: cost.labels(model, plugin),
      holdExceeded: holdExceeded.labels(model, plugin),
    };
    admitted.cost.inc(0);
    admitted.holdExceeded.inc(0);
    zeroCost.inc(this.#zeroCostLabels(series), 0);
    return admitted;
  }

  #zeroCostLabels({ model, plugin }: CallSeries) {
    return { model, plugin, premium: String(this.#options.isPremium(model) ?? "unknown") };
  }
}

function getOrCreate<Key, Value>(values: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = values.get(key);
  if (value === undefined) {
    value = make();
    values.set(key, value);
  }
  return value;
}

function registerCallMetrics(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string>(name: string, labelNames: readonly Label[], help: string) =>
    new Counter({ name: `modelgate_${name}`, help, labelNames, registers });
  const histogram = <Label extends string>(
    name: string,
    labelNames: readonly Label[],
    { help, buckets }: { help: string; buckets: number[] },
  ) => new Histogram({ name: `modelgate_${name}`, help, labelNames, buckets, registers });
  return {
    calls: counter(
      "calls_total",
      [...callLabels, "status", "state"],
      "Ended calls by HTTP status (499: the client disconnected) and billing state",
    ),
    duration: histogram("call_duration_seconds", callLabels, {
      help: "From the request to the last byte of the response",
      buckets: durationSeconds,
    }),
    firstByte: histogram("call_first_byte_seconds", callLabels, {
      help: "From the request to the first chunk of a streamed response",
      buckets: firstByteSeconds,
    }),
    errors: counter(
      "call_errors_total",
      ["code"],
      "Calls that ended with an error, by code, including errors within a stream",
    ),
    errorAnswers: counter("error_answers_total", ["code"], "Error responses of any endpoint, by code"),
    attempts: counter(
      "upstream_attempts_total",
      ["plugin", "outcome"],
      "Attempts at providers, by outcome: answered or the kind of fault",
    ),
    upstreamDuration: histogram("upstream_duration_seconds", ["plugin"], {
      help: "From the start of an attempt to the provider's response or the first chunk of a stream",
      buckets: durationSeconds,
    }),
    tokens: counter("tokens_total", [...modelLabels, "type"], "Tokens used; cached tokens are not counted as input"),
    units: counter(
      "units_total",
      [...modelLabels, "unit"],
      "Other units used: images, audio seconds, characters, calls",
    ),
    cost: counter("cost_usd_total", modelLabels, "Cost at list price, including calls on the free quota"),
    usage: counter(
      "usage_total",
      [...modelLabels, "source"],
      "Admitted calls by source of their usage: reported by the provider, estimated, or none",
    ),
    zeroCost: counter(
      "zero_cost_calls_total",
      [...modelLabels, "premium"],
      "Calls with usage whose cost is zero or unknown; must not happen for premium models",
    ),
    holdExceeded: counter("hold_exceeded_total", modelLabels, "Premium calls that cost more than their hold"),
  };
}
