export type { GatewaySnapshot } from "./metrics/gateway-metrics.ts";
export { type Observability, openObservability } from "./open-observability.bun.ts";
