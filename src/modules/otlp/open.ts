import { combineObservers } from "../../kernel/index.ts";
import type { ModuleParts, OpenModule } from "../module.ts";
import type { OtlpOptions } from "./otlp-options.ts";
import { type OtlpSettings, settings } from "./settings.ts";
import type { SpanCounts } from "./traces/span-queue.ts";

/** Starts the exports that are configured. OpenTelemetry is loaded only then, because it is slow to start and takes memory. */
export async function openOtlp({ config, log, sendLog, version }: ModuleParts): Promise<OpenModule> {
  const values = config.of(settings);
  const options = toOptions(values, version);
  if (options === undefined) return { counters: [countSpans(undefined)] };
  const report = (event: string, fields: Record<string, unknown>) => log.warn(event, fields);
  const { openTraces } = await import("./traces/open-traces.bun.ts");
  const traces = openTraces({ ...options, ratio: values.traceRatio, report });
  const metrics =
    values.otelMetricsExporter === "otlp" ? (await import("./metrics.bun.ts")).openOtlpMetrics(options) : undefined;
  const logs = values.otelLogsExporter === "otlp" ? (await import("./logs.bun.ts")).openOtlpLogs(options) : undefined;
  const contents =
    values.otelContent === "true"
      ? (await import("./contents.bun.ts")).openOtlpContents(options, (call) => traces.calls.spanOf(call))
      : undefined;
  if (logs !== undefined) sendLog(logs.sink);
  return {
    counters: [countSpans(traces.counts)],
    observer: metrics === undefined ? traces.calls : combineObservers(traces.calls, metrics.calls),
    ...(contents !== undefined && { contentSink: contents }),
    close: async () => void (await Promise.all([traces, metrics, logs, contents].map((each) => each?.close()))),
  };
}

function toOptions(
  { otlpEndpoint: endpoint, otlpHeaders, otelServiceName: serviceName }: OtlpSettings,
  version: string,
): OtlpOptions | undefined {
  if (endpoint === undefined) return undefined;
  const headers = (otlpHeaders ?? "").split(",").filter((header) => header !== "");
  const pairs = headers.map((header) => header.split(/=(.*)/, 2) as [string, string]);
  return { endpoint, headers: Object.fromEntries(pairs), serviceName, version };
}

/** @param counts Absent: nothing is traced. */
function countSpans(counts: SpanCounts | undefined): Counter {
  return {
    name: "modelgate_spans_total",
    help: "Spans by outcome: exported, failed (refused by the collector) or dropped (queue full)",
    labels: ["outcome"],
    read: () =>
      counts === undefined
        ? []
        : (["exported", "failed", "dropped"] as const).map((outcome) => [{ outcome }, counts[outcome]] as const),
  };
}

type Counter = NonNullable<OpenModule["counters"]>[number];
