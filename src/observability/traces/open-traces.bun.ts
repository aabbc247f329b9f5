import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { CallTraces } from "./call-traces.ts";
import { bounded, counted, SpanCounts } from "./span-queue.ts";

/** Spans that wait: some ten seconds of a busy gateway, some ten megabytes. */
const spansMax = 8192;
const batchSpans = 512;
const batchMs = 1000;
const exportMsMax = 5000;
/** At the end, for what still waits. */
const closeMsMax = 2000;

/** What {@link openTraces} wants. */
export interface TracesOptions {
  /** Of the collector, without `/v1/traces`. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly version: string;
  /** The share of calls traced whose caller did not decide it, from 0 to 1. */
  readonly ratio: number;
  report(event: string, fields: Record<string, unknown>): void;
}

/** Traces of calls on their way to a collector by OTLP over HTTP, as JSON. */
export interface Traces {
  readonly calls: CallTraces;
  readonly counts: SpanCounts;
  close(): Promise<void>;
}

/** Begins to trace. A collector that is slow or gone costs spans, which are counted, and never a call its time. */
export function openTraces({ endpoint, headers, serviceName, version, ratio, report }: TracesOptions): Traces {
  const counts = new SpanCounts();
  const url = `${endpoint.replace(/\/+$/, "")}/v1/traces`;
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: exportMsMax });
  const onChange = (works: boolean) =>
    report(works ? "traces_taken" : "trace_export_failed", { failed: counts.failed });
  const batches = new BatchSpanProcessor({
    exporter: counted(exporter, counts, onChange),
    maxQueueSize: spansMax,
    maxExportBatchSize: batchSpans,
    scheduledDelayMillis: batchMs,
    exportTimeoutMillis: exportMsMax,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": serviceName, "service.version": version }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [bounded(batches, counts, spansMax)],
  });
  return {
    calls: new CallTraces(provider.getTracer("modelgate", version), Date.now),
    counts,
    async close() {
      const done = provider.shutdown().catch((error) => report("trace_export_failed", { error }));
      await Promise.race([done, Bun.sleep(closeMsMax)]);
    },
  };
}
