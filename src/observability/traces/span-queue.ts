import type { ReadableSpan, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";

/** `ExportResultCode.SUCCESS` of the SDK. */
const success = 0;

/** How many spans went out, and how many did not. */
export class SpanCounts {
  exported = 0;
  /** Because the collector refused them or could not be reached. */
  failed = 0;
  /** Because too many waited. */
  dropped = 0;
  /** Handed to the batches and not yet to the exporter. */
  waiting = 0;
}

/** An exporter that counts what becomes of its spans. */
export function counted(exporter: SpanExporter, counts: SpanCounts, onChange: (works: boolean) => void): SpanExporter {
  let works = true;
  return {
    export(spans, done) {
      counts.waiting -= spans.length;
      exporter.export(spans, (result) => {
        const isDone = result.code === success;
        if (isDone) counts.exported += spans.length;
        else counts.failed += spans.length;
        if (isDone !== works) {
          works = isDone;
          onChange(works);
        }
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    ...(exporter.forceFlush && { forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve() }),
  };
}

/** Keeps no more spans than `most` waiting for the batches behind it; what is beyond is dropped and counted. */
export function bounded(batches: SpanProcessor, counts: SpanCounts, most: number): SpanProcessor {
  return {
    onStart: (span, context) => batches.onStart(span, context),
    onEnd(span: ReadableSpan) {
      if (counts.waiting >= most) {
        counts.dropped++;
        return;
      }
      counts.waiting++;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
}
