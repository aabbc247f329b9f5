import { Type } from "@sinclair/typebox";
import { define, hostForm, oneOf, toWhole, withoutBrackets } from "./setting.ts";

const headersForm = "^[A-Za-z0-9_-]+=[\\x21-\\x2b\\x2d-\\x7e]+(,[A-Za-z0-9_-]+=[\\x21-\\x2b\\x2d-\\x7e]+)*$";

/** How the gateway is watched: its log, its metrics, its traces. */
export const watchSettings = {
  /** How log lines look: JSON for programs, `pretty` for people; `auto` asks whether standard error is a terminal. */
  logFormat: define({
    variable: "LOG_FORMAT",
    schema: oneOf("auto", "json", "pretty"),
    expected: "auto, json or pretty",
    fallback: "auto",
    read: (text) => text.toLowerCase(),
  }),
  /** Port of `/metrics`, apart from the API's; the second of several workers has the next, and so on. */
  metricsPort: define({
    variable: "METRICS_PORT",
    schema: Type.Union([Type.Integer({ minimum: 0, maximum: 65_535 }), Type.Undefined()]),
    expected: "a whole number from 0 to 65535",
    fallback: undefined,
    read: toWhole,
  }),
  metricsHost: define({
    variable: "METRICS_HOST",
    schema: Type.String({ pattern: hostForm }),
    expected: "a host name or an address such as 127.0.0.1",
    fallback: "127.0.0.1",
    read: withoutBrackets,
  }),
  /** What a scrape must carry; without a port of its own, `/metrics` stands on the API's for those who have it. */
  metricsToken: define({
    variable: "METRICS_TOKEN",
    schema: Type.Union([Type.String({ pattern: "^[\\x21-\\x7e]{16,256}$" }), Type.Undefined()]),
    expected: "16 to 256 characters without spaces",
    fallback: undefined,
    secret: true,
  }),
  /** Where traces go, without `/v1/traces`; absent: nothing is traced. The names are OpenTelemetry's own. */
  otlpEndpoint: define({
    variable: "OTEL_EXPORTER_OTLP_ENDPOINT",
    schema: Type.Union([Type.String(), Type.Undefined()]),
    expected: "an http or https URL such as http://127.0.0.1:4318, without user name, query or fragment",
    fallback: undefined,
    read: (text) => (isPlainUrl(text) ? text : null),
  }),
  /** What each export carries, such as a collector's key. */
  otlpHeaders: define({
    variable: "OTEL_EXPORTER_OTLP_HEADERS",
    schema: Type.Union([Type.String({ pattern: headersForm }), Type.Undefined()]),
    expected: "headers such as x-api-key=word,x-tenant=word",
    fallback: undefined,
    secret: true,
  }),
  /** How the gateway is called in traces. */
  otelServiceName: define({
    variable: "OTEL_SERVICE_NAME",
    schema: Type.String({ minLength: 1, maxLength: 200 }),
    expected: "a name of 1 to 200 characters",
    fallback: "modelgate",
  }),
  /** The share of calls traced, where the caller's own trace does not decide it. */
  traceRatio: define({
    variable: "OTEL_TRACES_SAMPLER_ARG",
    schema: Type.Number({ minimum: 0, maximum: 1 }),
    expected: "a number from 0 to 1",
    fallback: "1",
    read: (text) => (/^[01](\.\d{1,9})?$/.test(text) ? Number(text) : text),
  }),
};

function isPlainUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return false;
  return url.username + url.password + url.search + url.hash === "";
}
