import { expect, test } from "bun:test";
import { readConfig } from "../../../src/config/index.ts";
import { settings } from "../../../src/modules/otlp/settings.ts";

const read = (env: Readonly<Record<string, string | undefined>>) => readConfig(env, [settings]);

test.each([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" }, { otlpEndpoint: "http://127.0.0.1:4318" }],
  [{ OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=a=b,x-tenant=c" }, { otlpHeaders: "x-api-key=a=b,x-tenant=c" }],
  [{ OTEL_TRACES_SAMPLER_ARG: "0.25" }, { traceRatio: 0.25 }],
  [{ OTEL_TRACES_SAMPLER_ARG: "0" }, { traceRatio: 0 }],
])("takes %j", (env, expected) => {
  expect(read(env as Record<string, string>).of(settings)).toMatchObject(expected);
});

test.each([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "127.0.0.1:4318" }, "an http or https URL"],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://ada:word@127.0.0.1" }, "without user name"],
  [{ OTEL_EXPORTER_OTLP_HEADERS: "word" }, "headers such as x-api-key=word"],
  [{ OTEL_TRACES_SAMPLER_ARG: "1.1" }, "a number from 0 to 1"],
  [{ OTEL_TRACES_SAMPLER_ARG: "half" }, "a number from 0 to 1"],
])("refuses %j with what was expected", (env, expected) => {
  expect(() => read(env as Record<string, string>)).toThrow(expected);
});
