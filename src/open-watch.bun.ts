import { portTaken } from "./cli/port-taken.ts";
import type { Config } from "./config.ts";
import type { CallWatch } from "./kernel/index.ts";
import type { OnCommit } from "./ledger/index.ts";
import {
  CallCounts,
  CommitCounts,
  createScrapeGuard,
  type Facts,
  listenMetrics,
  type MetricsDoor,
} from "./watch/index.ts";

/** All that looks on while calls are served: metrics and traces, as the configuration asks for them. */
export interface Watch {
  readonly calls: CallWatch;
  readonly onCommit: OnCommit;
  /** Metrics on the API's port; absent: they are not to be had there. */
  readonly onApi: MetricsDoor | undefined;
  /** Given once the gateway is in place, before it listens. */
  begin(facts: Facts): void;
  /** Opens the port of metrics, where there is one, and says which. */
  listen(): number | undefined;
  close(): Promise<void>;
}

type Asked = Pick<Config, "metricsPort" | "metricsHost" | "metricsToken" | "worker">;

/** Makes ready what is asked for; `undefined` when nothing is, and then a call is not looked at. */
export async function openWatch(
  { metricsPort, metricsHost, metricsToken, worker }: Asked,
  { log, version }: { log: { readonly dropped: number }; version: { version: string; commit?: string } },
): Promise<Watch | undefined> {
  if (metricsPort === undefined && metricsToken === undefined) return undefined;
  const { createMetrics } = await import("./watch/metrics/create-metrics.bun.ts");
  const calls = new CallCounts(Date.now);
  const commits = new CommitCounts();
  let metrics: ReturnType<typeof createMetrics> | undefined;
  let server: ReturnType<typeof listenMetrics> | undefined;
  const door: MetricsDoor = {
    isAllowed: createScrapeGuard(metricsToken),
    scrape: async () => metrics?.scrape() ?? new Response("The gateway is starting\n", { status: 503 }),
  };
  return {
    calls,
    onCommit: commits.note,
    onApi: metricsPort === undefined ? door : undefined,
    begin(facts) {
      metrics = createMetrics({ calls, commits, facts, log, version });
    },
    listen() {
      if (metricsPort === undefined) return undefined;
      // Each worker counts its own calls: the first has the port that was named, the others those after it.
      const port = metricsPort === 0 ? 0 : metricsPort + Math.max(0, worker - 1);
      try {
        server = listenMetrics(door, { hostname: metricsHost, port });
      } catch (error) {
        throw portTaken(error, metricsHost, port, "METRICS_PORT");
      }
      return server.port;
    },
    async close() {
      metrics?.close();
      await server?.close();
    },
  };
}
