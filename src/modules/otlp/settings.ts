import {
  accepted,
  choice,
  defineSettings,
  matching,
  optional,
  secret,
  setting,
  type ValuesOf,
} from "../../config/index.ts";
import { isPlainUrl } from "../../contract/index.ts";

export const settings = defineSettings({
  after: "METRICS_TOKEN",
  settings: {
    /** Collector, without `/v1/traces`; absent: no tracing. OpenTelemetry defines the names of these variables. */
    otlpEndpoint: optional(
      "OTEL_EXPORTER_OTLP_ENDPOINT",
      accepted(isPlainUrl, "an http or https URL such as http://127.0.0.1:4318, without user name, query or fragment"),
    ),
    /** Headers of each export, such as a collector's key. */
    otlpHeaders: secret(
      "OTEL_EXPORTER_OTLP_HEADERS",
      matching(
        /^[A-Za-z0-9_-]+=[\x21-\x2b\x2d-\x7e]+(,[A-Za-z0-9_-]+=[\x21-\x2b\x2d-\x7e]+)*$/,
        "headers such as x-api-key=word,x-tenant=word",
      ),
    ),
    /** Whether metrics of calls, and the log, are sent to that collector too. */
    otelMetricsExporter: setting("OTEL_METRICS_EXPORTER", "none", choice("none", "otlp")),
    otelLogsExporter: setting("OTEL_LOGS_EXPORTER", "none", choice("none", "otlp")),
    /** Whether the prompts and answers that CONTENT_LOG keeps are sent there too. */
    otelContent: setting("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "false", choice("false", "true")),
    otelServiceName: setting(
      "OTEL_SERVICE_NAME",
      "modelgate",
      matching(/^.{1,200}$/su, "a name of 1 to 200 characters"),
    ),
    /** Share of calls to trace when the caller's `traceparent` does not decide it. */
    traceRatio: setting("OTEL_TRACES_SAMPLER_ARG", "1", {
      expected: "a number from 0 to 1",
      parse: (text) => (/^[01](\.\d{1,9})?$/.test(text) && Number(text) <= 1 ? Number(text) : undefined),
    }),
  },
  /** Content that nobody keeps, or that has nowhere to go, would be missed only when it is looked for. */
  check({ otelContent, otlpEndpoint }, textOf) {
    const isKept = (textOf("CONTENT_LOG")?.toLowerCase() ?? "off") !== "off";
    if (otelContent !== "true" || (isKept && otlpEndpoint !== undefined)) return undefined;
    const problem = isKept
      ? "it is true, but OTEL_EXPORTER_OTLP_ENDPOINT is not set, expected a collector"
      : "it is true, but CONTENT_LOG is off, expected selected or all";
    return { variable: "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", problem };
  },
});

export type OtlpSettings = ValuesOf<(typeof settings)["settings"]>;
