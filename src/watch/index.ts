export { both } from "./both.ts";
export type { Facts } from "./facts.ts";
export { listenMetrics, type MetricsDoor } from "./listen-metrics.bun.ts";
export { createScrapeGuard } from "./scrape-guard.ts";
