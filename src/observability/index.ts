export type { LoggedEvent, LogSink } from "./log.ts";
export type { GatewaySnapshot } from "./metrics/gateway-metrics.ts";
export type { ScrapedMetric } from "./metrics/scraped-metrics.ts";
export { type Observability, openObservability } from "./open-observability.bun.ts";
