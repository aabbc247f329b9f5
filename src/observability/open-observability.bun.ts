import { type Config, toListenError } from "../config/index.ts";
import type { CallObserver, Log } from "../kernel/index.ts";
import type { OnCommit } from "../ledger/index.ts";
import type { ContentExport } from "../modules/otlp/contents.bun.ts";
import type { OtlpOptions } from "../modules/otlp/otlp-options.ts";
import type { OpenLog } from "./log.ts";
import type { GatewaySnapshot } from "./metrics/gateway-metrics.ts";
import { createBearerAuth, listenMetrics, type MetricsEndpoint } from "./metrics/listen-metrics.bun.ts";

/** The configured metrics and traces. */
export interface Observability {
  readonly calls: CallObserver;
  /** Sends the prompts and answers that the content log keeps; absent where they are not sent. */
  readonly contents?: ContentExport | undefined;
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
  readonly log: Pick<Log, "warn"> & Pick<OpenLog, "dropped" | "sendTo">;
  readonly version: { version: string; commit?: string };
}

/** Opens the configured metrics, traces and exports; `undefined` when all are off. */
export async function openObservability(config: Config, deps: ObservabilityDeps): Promise<Observability | undefined> {
  const traces = await openTraces(config, deps);
  const opened = await openScraped(config, deps, traces);
  const exports = await openExports(config, deps, traces);
  if (exports === undefined) return opened;
  const { calls, contents, close } = exports;
  const nothing = () => undefined;
  const base = opened ?? { calls: undefined, onCommit: undefined, onApi: undefined, start: nothing, listen: nothing };
  const both = [base.calls, calls].filter((one) => one !== undefined);
  const [first = noObserver, second] = both;
  return {
    ...base,
    contents,
    calls: second === undefined ? first : combineObservers(first, second),
    close: async () => void (await Promise.all([opened?.close(), close()])),
  };
}

const noObserver: CallObserver = { attempted: () => undefined, ended: () => undefined, refused: () => undefined };

/** Metrics, logs and prompts that are sent to the collector of the traces. */
async function openExports(config: Config, { log, version }: ObservabilityDeps, traces: OpenedTraces) {
  const options = getOtlpOptions(config, version.version);
  if (options === undefined) return undefined;
  const metrics =
    config.otelMetricsExporter === "otlp"
      ? (await import("../modules/otlp/metrics.bun.ts")).openOtlpMetrics(options)
      : undefined;
  const logs =
    config.otelLogsExporter === "otlp"
      ? (await import("../modules/otlp/logs.bun.ts")).openOtlpLogs(options)
      : undefined;
  const contents =
    config.otelContent === "true"
      ? (await import("../modules/otlp/contents.bun.ts")).openOtlpContents(options, (call) =>
          traces?.calls.spanOf(call),
        )
      : undefined;
  if (metrics === undefined && logs === undefined && contents === undefined) return undefined;
  if (logs !== undefined) log.sendTo(logs.sink);
  return {
    calls: metrics?.calls,
    contents,
    close: async () => void (await Promise.all([metrics?.close(), logs?.close(), contents?.close()])),
  };
}

function getOtlpOptions(
  { otlpEndpoint: endpoint, otlpHeaders, otelServiceName: serviceName }: Config,
  version: string,
) {
  if (endpoint === undefined) return undefined;
  const headers = (otlpHeaders ?? "").split(",").filter((header) => header !== "");
  const pairs = headers.map((header) => header.split(/=(.*)/, 2) as [string, string]);
  return { endpoint, headers: Object.fromEntries(pairs), serviceName, version } satisfies OtlpOptions;
}

type OpenedTraces = Awaited<ReturnType<typeof openTraces>>;

async function openScraped(
  config: Config,
  deps: ObservabilityDeps,
  traces: OpenedTraces,
): Promise<Observability | undefined> {
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
async function openTraces(config: Config, deps: ObservabilityDeps) {
  const options = getOtlpOptions(config, deps.version.version);
  if (options === undefined) return undefined;
  const traces = await import("../modules/otlp/traces/open-traces.bun.ts");
  const report = (event: string, fields: Record<string, unknown>) => deps.log.warn(event, fields);
  return traces.openTraces({ ...options, ratio: config.traceRatio, report });
}

async function openMetrics(
  { metricsPort, metricsHost, metricsToken, worker }: Config,
  { log, version }: ObservabilityDeps,
  traces: OpenedTraces,
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
    refused(code, unrun) {
      one.refused(code, unrun);
      other.refused(code, unrun);
    },
  };
}
