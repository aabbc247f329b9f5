export { combineObservers } from "./combine-observers.ts";
export type { GatewaySnapshot } from "./gateway-snapshot.ts";
export { listenMetrics, type MetricsListener } from "./listen-metrics.bun.ts";
export { createBearerAuth } from "./metrics/bearer-auth.ts";
