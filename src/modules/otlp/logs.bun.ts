import { type Attributes, SeverityNumber } from "@opentelemetry/api";
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";
import { trimSlashes } from "../../contract/index.ts";
import { nameError } from "../../lib/describe-error.ts";
import type { LoggedEvent, LogSink } from "../../observability/index.ts";
import type { OtlpOptions } from "./otlp-options.ts";

/** Queued records: some seconds of a busy gateway. Beyond that they are lost. */
const recordsMax = 8_192;
const batchRecords = 512;
const batchMs = 1_000;
const exportMsMax = 5_000;
const closeMsMax = 2_000;
const textLengthMax = 4_000;

const severities: Readonly<Record<string, SeverityNumber>> = {
  debug: SeverityNumber.DEBUG,
  info: SeverityNumber.INFO,
  warn: SeverityNumber.WARN,
  error: SeverityNumber.ERROR,
};

/** Lines of the log as records, sent to a collector by OTLP over HTTP. A slow or missing collector loses them. */
export function openOtlpLogs({ endpoint, headers, serviceName, version }: OtlpOptions): {
  readonly sink: LogSink;
  close(): Promise<void>;
} {
  const url = `${trimSlashes(endpoint)}/v1/logs`;
  const provider = new LoggerProvider({
    resource: resourceFromAttributes({ "service.name": serviceName, "service.version": version }),
    processors: [
      new BatchLogRecordProcessor({
        exporter: new OTLPLogExporter({ url, headers: { ...headers }, timeoutMillis: exportMsMax }),
        maxQueueSize: recordsMax,
        maxExportBatchSize: batchRecords,
        scheduledDelayMillis: batchMs,
        exportTimeoutMillis: exportMsMax,
      }),
    ],
  });
  const logger = provider.getLogger("modelgate", version);
  return {
    sink({ atMs, level, event, fields, hide }) {
      logger.emit({
        timestamp: atMs,
        severityNumber: severities[level] ?? SeverityNumber.UNSPECIFIED,
        severityText: level.toUpperCase(),
        eventName: `modelgate.${event}`,
        body: event,
        attributes: toAttributes(fields, hide),
      });
    },
    async close() {
      await Promise.race([provider.shutdown().catch(() => undefined), Bun.sleep(closeMsMax)]);
    },
  };
}

function toAttributes(fields: Readonly<Record<string, unknown>>, hide: LoggedEvent["hide"]): Attributes {
  const attributes: Attributes = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === null) continue;
    if (typeof value === "number" || typeof value === "boolean") attributes[`modelgate.${name}`] = value;
    else attributes[`modelgate.${name}`] = hide(toText(value)).slice(0, textLengthMax);
  }
  return attributes;
}

function toText(value: unknown): string {
  if (typeof value === "string") return value;
  return value instanceof Error ? nameError(value) : JSON.stringify(value);
}
