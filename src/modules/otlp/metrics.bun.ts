import type { Attributes, Counter } from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import {
  cacheWriteMeters,
  nanodollarsPerUsd,
  promptMeters,
  sumOutputTokens,
  trimSlashes,
} from "../../contract/index.ts";
import { type CallObserver, type ClientCall, monotonicNow } from "../../kernel/index.ts";
import type { OtlpOptions } from "./otlp-options.ts";
import { addAmounts, operations, providerName } from "./traces/span-attributes.ts";

const exportEveryMs = 15_000;
const exportMsMax = 5_000;
const closeMsMax = 2_000;
/** Seconds, as OpenTelemetry advises for GenAI. */
const durations = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const prefix = "gen_ai.client.inference";

/** Metrics of calls by the names of OpenTelemetry's GenAI conventions, sent to a collector by OTLP over HTTP. */
export function openOtlpMetrics({ endpoint, headers, serviceName, version }: OtlpOptions): {
  readonly calls: CallObserver;
  close(): Promise<void>;
} {
  const url = `${trimSlashes(endpoint)}/v1/metrics`;
  const exporter = new OTLPMetricExporter({ url, headers: { ...headers }, timeoutMillis: exportMsMax });
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: exportEveryMs,
    exportTimeoutMillis: exportMsMax,
  });
  const provider = new MeterProvider({
    resource: resourceFromAttributes({ "service.name": serviceName, "service.version": version }),
    readers: [reader],
  });
  return {
    calls: new OtlpCallMetrics(provider.getMeter("modelgate", version)),
    async close() {
      // Values since the last export are sent.
      await Promise.race([provider.shutdown().catch(() => undefined), Bun.sleep(closeMsMax)]);
    },
  };
}

type Meter = ReturnType<MeterProvider["getMeter"]>;

class OtlpCallMetrics implements CallObserver {
  readonly #duration;
  readonly #firstChunk;
  readonly #usage;
  readonly #cost;

  constructor(meter: Meter) {
    const histogram = (name: string, description: string) =>
      meter.createHistogram(`${prefix}.${name}`, {
        description,
        unit: "s",
        advice: { explicitBucketBoundaries: durations },
      });
    const tokens = (name: string, description: string) =>
      meter.createCounter(`${prefix}.usage.${name}`, { description, unit: "{token}" });
    this.#duration = histogram("duration", "From the request to the last byte of the response");
    this.#firstChunk = histogram("time_to_first_chunk", "From the request to the first chunk of a stream");
    this.#usage = {
      input: tokens("input_tokens", "Tokens of prompts, including cached tokens"),
      output: tokens("output_tokens", "Tokens of answers"),
      cacheRead: tokens("cache_read.input_tokens", "Tokens of prompts that were read from a provider's cache"),
      cacheWrite: tokens("cache_write.input_tokens", "Tokens of prompts that were written to a provider's cache"),
    };
    this.#cost = meter.createCounter("modelgate.cost", { description: "Cost at the prices of accounts", unit: "USD" });
  }

  attempted(): void {
    // The spans of a call have its attempts.
  }

  ended({ request, run, errorCode }: ClientCall): void {
    const { capability, startedMs, sink } = request;
    const attributes: Attributes = { "gen_ai.operation.name": operations[capability] };
    // Names that clients made up are no models, and would be series without end.
    if (run !== undefined) attributes["gen_ai.request.model"] = run.model;
    if (run?.plugin !== undefined) attributes["gen_ai.provider.name"] = providerName(run.plugin);
    const outcome = errorCode === undefined ? attributes : { ...attributes, "error.type": errorCode };
    this.#duration.record((monotonicNow() - startedMs) / 1000, outcome);
    if (run === undefined) return;
    const { firstByteMs } = run;
    const { meters, costNanodollars } = run.outcome;
    if (sink !== undefined && firstByteMs !== undefined) this.#firstChunk.record(firstByteMs / 1000, attributes);
    const add = (counter: Counter, amount: number | undefined) => {
      if (amount !== undefined && amount > 0) counter.add(amount, attributes);
    };
    add(this.#usage.input, addAmounts(...promptMeters.map((name) => meters[name])));
    add(this.#usage.output, sumOutputTokens(meters));
    add(this.#usage.cacheRead, meters.cacheReadToken);
    add(this.#usage.cacheWrite, addAmounts(...cacheWriteMeters.map((name) => meters[name])));
    add(this.#cost, costNanodollars === undefined ? undefined : costNanodollars / nanodollarsPerUsd);
  }

  refused(): void {
    // A request that never became a call has no model.
  }
}
