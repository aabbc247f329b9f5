import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { trimSlashes } from "../../../contract/index.ts";
import { monotonicNow } from "../../../kernel/index.ts";
import type { OtlpOptions } from "../otlp-options.ts";
import { CallTraces } from "./call-traces.ts";
import { boundQueue, countExports, SpanCounts } from "./span-queue.ts";

/** Queued spans: about ten seconds of a busy gateway, about ten megabytes. */
const spansMax = 8192;
const batchSpans = 512;
const batchMs = 1000;
const exportMsMax = 5000;
/** At shutdown, for queued spans. */
const closeMsMax = 2000;

/** Options of {@link openTraces}. */
export interface TracesOptions extends OtlpOptions {
  /** The share of calls to trace, from 0 to 1, unless the client's `traceparent` decides it. */
  readonly ratio: number;
  report(event: string, fields: Record<string, unknown>): void;
}

/** Traces of calls, sent to a collector by OTLP over HTTP as JSON. */
export interface Traces {
  readonly calls: CallTraces;
  readonly counts: SpanCounts;
  close(): Promise<void>;
}

/** Starts tracing. A slow or missing collector loses spans, which are counted, but never delays calls. */
export function openTraces({ endpoint, headers, serviceName, version, ratio, report }: TracesOptions): Traces {
  const counts = new SpanCounts();
  const url = `${trimSlashes(endpoint)}/v1/traces`;
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: exportMsMax });
  const onChange = (works: boolean) =>
    report(works ? "traces_taken" : "trace_export_failed", { failed: counts.failed });
  const batches = new BatchSpanProcessor({
    exporter: countExports(exporter, counts, onChange),
    maxQueueSize: spansMax,
    maxExportBatchSize: batchSpans,
    scheduledDelayMillis: batchMs,
    exportTimeoutMillis: exportMsMax,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": serviceName, "service.version": version }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [boundQueue(batches, counts, spansMax)],
  });
  return {
    calls: new CallTraces(provider.getTracer("modelgate", version), monotonicNow),
    counts,
    async close() {
      const done = provider.shutdown().catch((error) => report("trace_export_failed", { error }));
      const late = Promise.withResolvers<void>();
      const timeout = setTimeout(late.resolve, closeMsMax);
      await Promise.race([done, late.promise]);
      clearTimeout(timeout);
    },
  };
}
