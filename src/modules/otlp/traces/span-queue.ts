import type { ReadableSpan, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";

/** `ExportResultCode.SUCCESS` of the SDK. */
const success = 0;

/** Counts exported and lost spans. */
export class SpanCounts {
  exported = 0;
  /** The collector refused them or could not be reached. */
  failed = 0;
  /** The queue was full. */
  dropped = 0;
  /** Queued for export. */
  waiting = 0;
}

/** An exporter that counts its spans by outcome. */
export function countExports(
  exporter: SpanExporter,
  counts: SpanCounts,
  onChange: (works: boolean) => void,
): SpanExporter {
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

/** Limits the queued spans of a processor to `most`; further spans are dropped and counted. */
export function boundQueue(batches: SpanProcessor, counts: SpanCounts, most: number): SpanProcessor {
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
