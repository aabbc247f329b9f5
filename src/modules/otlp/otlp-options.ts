/** Where and as whom telemetry is sent by OTLP over HTTP. */
export interface OtlpOptions {
  /** The collector's URL without `/v1/traces` and the like. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly version: string;
}
