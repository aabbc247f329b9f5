import { Type } from "@sinclair/typebox";
import { define, hostForm, oneOf, toWhole, withoutBrackets } from "./setting.ts";

/** How the gateway is watched: its log, its metrics. */
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
};
