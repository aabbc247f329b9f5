import type { OnCommit } from "../billing/index.ts";
import type { Config } from "../config/index.ts";
import { toListenError } from "../config/index.ts";
import type { CallObserver, Log } from "../kernel/index.ts";
import {
  combineObservers,
  createBearerAuth,
  type GatewaySnapshot,
  listenMetrics,
  type MetricsListener,
} from "./index.ts";

/** All that looks on while calls are served: metrics and traces, as the configuration asks for them. */
export interface Observability {
  readonly calls: CallObserver;
  /** Absent: nobody counts transactions. */
  readonly onCommit: OnCommit | undefined;
  /** Metrics on the API's port; absent: they are not to be had there. */
  readonly onApi: MetricsListener | undefined;
  /** Given once the gateway is in place, before it listens. */
  begin(facts: GatewaySnapshot): void;
  /** Opens the port of metrics, where there is one, and says which. */
  listen(): number | undefined;
  close(): Promise<void>;
}

/** What looks on is told by. */
interface WatchGround {
  readonly log: Pick<Log, "warn"> & { readonly dropped: number };
  readonly version: { version: string; commit?: string };
}

/** Makes ready what is asked for; `undefined` when nothing is, and then a call is not looked at. */
export async function openObservability(config: Config, ground: WatchGround): Promise<Observability | undefined> {
  const traces = await openTraces(config, ground);
  const isCounted = config.metricsPort !== undefined || config.metricsToken !== undefined;
  if (isCounted) return await openMetrics(config, ground, traces);
  if (traces === undefined) return undefined;
  const nothing = () => undefined;
  return {
    calls: traces.calls,
    onCommit: undefined,
    onApi: undefined,
    begin: nothing,
    listen: nothing,
    close: traces.close,
  };
}

/** The packages of OpenTelemetry are loaded only where they are used: they are slow to start and take memory. */
async function openTraces({ otlpEndpoint, otlpHeaders, otelServiceName, traceRatio }: Config, ground: WatchGround) {
  if (otlpEndpoint === undefined) return undefined;
  const traces = await import("./traces/open-traces.bun.ts");
  const headers = (otlpHeaders ?? "").split(",").filter((header) => header !== "");
  return traces.openTraces({
    endpoint: otlpEndpoint,
    headers: Object.fromEntries(headers.map((header) => header.split(/=(.*)/, 2) as [string, string])),
    serviceName: otelServiceName,
    version: ground.version.version,
    ratio: traceRatio,
    report: (event, fields) => ground.log.warn(event, fields),
  });
}

async function openMetrics(
  { metricsPort, metricsHost, metricsToken, worker }: Config,
  { log, version }: WatchGround,
  traces: Awaited<ReturnType<typeof openTraces>>,
): Promise<Observability> {
  const { createMetrics } = await import("./metrics/create-metrics.bun.ts");
  const metrics = createMetrics({ log, version, spans: traces?.counts });
  const door: MetricsListener = { isAllowed: createBearerAuth(metricsToken), scrape: metrics.scrape };
  let server: ReturnType<typeof listenMetrics> | undefined;
  return {
    calls: traces === undefined ? metrics.calls : combineObservers(metrics.calls, traces.calls),
    onCommit: metrics.onCommit,
    onApi: metricsPort === undefined ? door : undefined,
    begin: metrics.begin,
    listen() {
      if (metricsPort === undefined) return undefined;
      // Each worker counts its own calls: the first has the port that was named, the others those after it.
      const port = metricsPort === 0 ? 0 : metricsPort + Math.max(0, worker - 1);
      try {
        server = listenMetrics(door, { hostname: metricsHost, port });
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
