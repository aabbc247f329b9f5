import type { Config } from "../config/index.ts";
import { toListenError } from "../config/index.ts";
import type { CallObserver, Log } from "../kernel/index.ts";
import type { OnCommit } from "../ledger/index.ts";
import type { GatewaySnapshot } from "./metrics/gateway-metrics.ts";
import { createBearerAuth, listenMetrics, type MetricsEndpoint } from "./metrics/listen-metrics.bun.ts";

/** The configured metrics and traces. */
export interface Observability {
  readonly calls: CallObserver;
  /** Counts transactions; absent without metrics. */
  readonly onCommit: OnCommit | undefined;
  /** Metrics on the API's port; absent when they are off or on a port of their own. */
  readonly onApi: MetricsEndpoint | undefined;
  /** Called once, before the gateway listens. */
  start(snapshot: GatewaySnapshot): void;
  /** Opens the metrics port if one is configured, and returns it. */
  listen(): number | undefined;
  close(): Promise<void>;
}

interface ObservabilityDeps {
  readonly log: Pick<Log, "warn"> & { readonly dropped: number };
  readonly version: { version: string; commit?: string };
}

/** Opens the configured metrics and traces; `undefined` when both are off. */
export async function openObservability(config: Config, deps: ObservabilityDeps): Promise<Observability | undefined> {
  const traces = await openTraces(config, deps);
  const hasMetrics = config.metricsPort !== undefined || config.metricsToken !== undefined;
  if (hasMetrics) return await openMetrics(config, deps, traces);
  if (traces === undefined) return undefined;
  const nothing = () => undefined;
  return {
    calls: traces.calls,
    onCommit: undefined,
    onApi: undefined,
    start: nothing,
    listen: nothing,
    close: traces.close,
  };
}

/** OpenTelemetry is loaded only when it is used, because it is slow to start and takes memory. */
async function openTraces({ otlpEndpoint, otlpHeaders, otelServiceName, traceRatio }: Config, deps: ObservabilityDeps) {
  if (otlpEndpoint === undefined) return undefined;
  const traces = await import("./traces/open-traces.bun.ts");
  const headers = (otlpHeaders ?? "").split(",").filter((header) => header !== "");
  return traces.openTraces({
    endpoint: otlpEndpoint,
    headers: Object.fromEntries(headers.map((header) => header.split(/=(.*)/, 2) as [string, string])),
    serviceName: otelServiceName,
    version: deps.version.version,
    ratio: traceRatio,
    report: (event, fields) => deps.log.warn(event, fields),
  });
}

async function openMetrics(
  { metricsPort, metricsHost, metricsToken, worker }: Config,
  { log, version }: ObservabilityDeps,
  traces: Awaited<ReturnType<typeof openTraces>>,
): Promise<Observability> {
  const { createMetrics } = await import("./metrics/create-metrics.bun.ts");
  const metrics = createMetrics({ log, version, spans: traces?.counts });
  const endpoint: MetricsEndpoint = { isAllowed: createBearerAuth(metricsToken), scrape: metrics.scrape };
  let server: ReturnType<typeof listenMetrics> | undefined;
  return {
    calls: traces === undefined ? metrics.calls : combineObservers(metrics.calls, traces.calls),
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
      await Promise.all([server?.close(), traces?.close()]);
    },
  };
}

/** Combines two observers into one. */
function combineObservers(one: CallObserver, other: CallObserver): CallObserver {
  return {
    attempted(attempt) {
      one.attempted(attempt);
      other.attempted(attempt);
    },
    ended(call, httpRequest) {
      one.ended(call, httpRequest);
      other.ended(call, httpRequest);
    },
    refused(code) {
      one.refused(code);
      other.refused(code);
    },
  };
}
