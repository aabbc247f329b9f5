import { Counter, Histogram, type Registry } from "prom-client";
import {
  type ErrorCode,
  type MeterName,
  type Meters,
  meterTable,
  nanodollarsPerUsd,
  type PolicyDetail,
} from "../../contract/index.ts";
import {
  type Attempt,
  type CallObserver,
  type ClientCall,
  classifyAttempt,
  type ModelRun,
  type UnrunCall,
} from "../../kernel/index.ts";

const durationSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const firstByteSeconds = durationSeconds.filter((bound) => bound <= 30);

/** The label of unknown names, and of new names once the limit of series is reached. */
const other = "other";
/** Bounds memory when names come and go with reloads; more than any catalogue has. */
const seriesMax = 5000;

const policySeriesMax = 500;

const callLabels = ["capability", "model", "plugin"] as const;
const modelLabels = ["model", "plugin"] as const;

type ModelLabels = Record<(typeof modelLabels)[number], string>;

interface CallMetricsOptions {
  /** The clock of {@link Kernel.now}. */
  readonly now: () => number;
  /** Whether a model is premium; `undefined` when it is no longer served. */
  isPremium(model: string): boolean | undefined;
}

/** Counts calls as they end. */
export class CallMetrics implements CallObserver {
  readonly #metrics: ReturnType<typeof registerCallMetrics>;
  readonly #options: CallMetricsOptions;
  readonly #series = new Set<string>();
  readonly #plugins = new Set<string>();
  readonly #policySeries = new Set<string>();

  constructor(registry: Registry, options: CallMetricsOptions) {
    this.#metrics = registerCallMetrics(registry);
    this.#options = options;
  }

  attempted(attempt: Attempt): void {
    const { name } = attempt.route.plugin;
    const plugin = addWithin(seriesMax, this.#plugins, name) ? name : other;
    this.#metrics.attempts.inc({ plugin, outcome: classifyAttempt(attempt).outcome });
    this.#metrics.upstreamDuration.observe({ plugin }, (this.#options.now() - attempt.startedMs) / 1000);
  }

  ended(call: ClientCall): void {
    const { capability, startedMs, sink } = call.request;
    const { run, state, status, errorCode } = call;
    const { firstByteMs } = run ?? {};
    const labels = this.#labels(capability, run);
    this.#metrics.calls.inc({ capability, ...labels, status, state });
    if (errorCode !== undefined) this.#metrics.errors.inc({ code: errorCode });
    if (run?.answer.hasUnknownFinish === true) this.#metrics.unknownFinishes.inc(labels);
    if (run?.usageMeter.implausible !== undefined) this.#metrics.implausible.inc(labels);
    const unbelieved = run?.outcome.unbelievedNanodollars;
    const miss = run?.outcome.cache?.miss;
    if (miss !== undefined) this.#metrics.cacheMisses.inc({ kind: miss.kind });
    if (unbelieved !== undefined) this.#metrics.unbelieved.inc(labels, unbelieved / nanodollarsPerUsd);
    for (const { guard } of call.runs) if (guard !== undefined) this.#countPolicies(guard.records);
    this.#metrics.duration.observe({ capability, ...labels }, (this.#options.now() - startedMs) / 1000);
    if (sink !== undefined && firstByteMs !== undefined) {
      this.#metrics.firstByte.observe({ capability, ...labels }, firstByteMs / 1000);
    }
    if (run?.hold !== undefined) this.#countUsage(labels, run.outcome, run.hold);
  }

  refused(code: ErrorCode, unrun?: UnrunCall): void {
    this.#metrics.errorAnswers.inc({ code });
    // Other refusals are the caller's fault, and strangers can cause any number of them.
    if (unrun === undefined || unrun.status < 500) return;
    this.#metrics.calls.inc({ ...unrun, ...this.#labels(unrun.capability), state: "refused" });
  }

  /** `plugin` is the plugin that answered or failed last, or `none` if no plugin was tried. */
  #labels(
    capability: string,
    { model = other, plugin = "none" }: Partial<Pick<ModelRun, "model" | "plugin">> = {},
  ): ModelLabels {
    const isKnown = model === other || addWithin(seriesMax, this.#series, `${model} ${plugin} ${capability}`);
    return isKnown ? { model, plugin } : { model: other, plugin: "none" };
  }

  /** Counters whose first increase alerts depend on start at 0. */
  #countUsage(
    labels: ModelLabels,
    { usageSource, costNanodollars, providerCostNanodollars = costNanodollars, meters }: ModelRun["outcome"],
    { heldNanodollars }: { heldNanodollars: number },
  ): void {
    this.#metrics.usage.inc({ ...labels, source: usageSource });
    const isUsed = this.#countMeters(labels, meters);
    const premium = String(this.#options.isPremium(labels.model) ?? "unknown");
    this.#metrics.zeroCost.inc({ ...labels, premium }, isUsed && !costNanodollars ? 1 : 0);
    this.#metrics.cost.inc(labels, costNanodollars === undefined ? 0 : costNanodollars / nanodollarsPerUsd);
    this.#metrics.providerCost.inc(labels, (providerCostNanodollars ?? 0) / nanodollarsPerUsd);
    const isExceeded = heldNanodollars > 0 && costNanodollars !== undefined && costNanodollars > heldNanodollars;
    this.#metrics.holdExceeded.inc(labels, isExceeded ? 1 : 0);
  }

  /** The names are those of files and the labels those in their code, which may have any number of them. */
  #countPolicies(records: readonly PolicyDetail[]): void {
    for (const { policy, result, label = "" } of records) {
      const isKnown = addWithin(policySeriesMax, this.#policySeries, `${policy} ${result} ${label}`);
      this.#metrics.policies.inc(isKnown ? { policy, result, label } : { policy: other, result, label: other });
    }
  }

  /** Returns whether anything was used. */
  #countMeters(labels: ModelLabels, meters: Meters): boolean {
    let isUsed = false;
    for (const name in meters) {
      const amount = meters[name as MeterName];
      if (amount === undefined || amount === 0) continue;
      isUsed = true;
      const { kind, metric } = meterTable[name as MeterName];
      const [label, divisor] = metric;
      if (kind === "unit") this.#metrics.units.inc({ ...labels, unit: label }, amount / divisor);
      else this.#metrics.tokens.inc({ ...labels, type: label }, amount / divisor);
    }
    return isUsed;
  }
}

/** Adds a value to a set of at most `most` values. Returns whether the set has it. */
function addWithin(most: number, values: Set<string>, value: string): boolean {
  if (values.size >= most) return values.has(value);
  values.add(value);
  return true;
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
      "Ended calls by HTTP status (499: the client disconnected) and billing state, and those that the gateway failed before they ran",
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
      "Attempts at providers, by outcome: answered or the kind of error",
    ),
    unknownFinishes: counter(
      "finish_reasons_unknown_total",
      modelLabels,
      "Answers with an unknown finish reason, treated as cut off",
    ),
    implausible: counter(
      "usage_implausible_total",
      modelLabels,
      "Calls whose provider reported more than they can have used",
    ),
    unbelieved: counter(
      "usage_implausible_usd_total",
      modelLabels,
      "Cost of such reports beyond the amount charged; the operator pays it if the provider bills it",
    ),
    cacheMisses: counter(
      "cache_misses_total",
      ["kind"],
      "Calls of sessions that read less from a prompt cache than their last turn promised, by the reason",
    ),
    policies: counter(
      "policy_results_total",
      ["policy", "result", "label"],
      "Calls by what a policy did: allow, replace, deny or failed, and its name for what it found or why it failed",
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
    cost: counter("cost_usd_total", modelLabels, "Cost at the prices of accounts, including calls on the free quota"),
    providerCost: counter("provider_cost_usd_total", modelLabels, "Cost at the providers, before markups"),
    usage: counter(
      "usage_total",
      [...modelLabels, "source"],
      "Admitted calls by source of their usage: reported by the provider, estimated, or none",
    ),
    zeroCost: counter(
      "zero_cost_calls_total",
      [...modelLabels, "premium"],
      "Calls with usage whose cost is zero or unknown; must not happen for paid models",
    ),
    holdExceeded: counter("hold_exceeded_total", modelLabels, "Paid calls that cost more than their hold"),
  };
}
