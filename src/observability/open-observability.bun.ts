import { type Config, toListenError } from "../config/index.ts";
import type { CallObserver } from "../kernel/index.ts";
import type { OnCommit } from "../ledger/index.ts";
import type { GatewaySnapshot } from "./metrics/gateway-metrics.ts";
import { createBearerAuth, listenMetrics, type MetricsEndpoint } from "./metrics/listen-metrics.bun.ts";

/** The configured metrics. */
export interface Observability {
  readonly calls: CallObserver;
  /** Counts transactions. */
  readonly onCommit: OnCommit;
  /** Metrics on the API's port; absent when they are on a port of their own. */
  readonly onApi: MetricsEndpoint | undefined;
  /** Called once, before the gateway listens. */
  start(snapshot: GatewaySnapshot): void;
  /** Opens the metrics port if one is configured, and returns it. */
  listen(): number | undefined;
  close(): Promise<void>;
}

interface ObservabilityDeps {
  readonly log: { readonly dropped: number };
  readonly version: { version: string; commit?: string };
}

/** Opens the configured metrics; `undefined` when they are off. */
export async function openObservability(
  { metricsPort, metricsHost, metricsToken, worker }: Config,
  { log, version }: ObservabilityDeps,
): Promise<Observability | undefined> {
  if (metricsPort === undefined && metricsToken === undefined) return undefined;
  const { createMetrics } = await import("./metrics/create-metrics.bun.ts");
  const metrics = createMetrics({ log, version });
  const endpoint: MetricsEndpoint = { isAllowed: createBearerAuth(metricsToken), scrape: metrics.scrape };
  let server: ReturnType<typeof listenMetrics> | undefined;
  return {
    calls: metrics.calls,
    onCommit: metrics.onCommit,
    onApi: metricsPort === undefined ? endpoint : undefined,
    start: metrics.start,
    listen() {
      if (metricsPort === undefined) return undefined;
      // Each worker has metrics of its own: the first on the configured port, the others on the ports after it.
      const port = metricsPort === 0 ? 0 : metricsPort + Math.max(0, worker - 1);
      try {
        server = listenMetrics(endpoint, { hostname: metricsHost, port });
      } catch (error) {
        throw toListenError(error, metricsHost, port, "METRICS_PORT");
      }
      return server.port;
    },
    async close() {
      metrics.close();
      await server?.close();
    },
  };
}
