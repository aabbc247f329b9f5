export { both } from "./combine-observers.ts";
export type { Facts } from "./gateway-snapshot.ts";
export { listenMetrics, type MetricsDoor } from "./listen-metrics.bun.ts";
export { createScrapeGuard } from "./metrics/bearer-auth.ts";
