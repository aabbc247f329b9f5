import { Registry } from "prom-client";
import { type CallObserver, monotonicNow } from "../../kernel/index.ts";
import { CallMetrics } from "./call-metrics.ts";
import {
  addCommitMetrics,
  addLoadMetrics,
  addLogMetrics,
  addNodeMetrics,
  addRouteMetrics,
  addStoreMetrics,
  type GatewaySnapshot,
} from "./gateway-metrics.ts";
import { addProcessMetrics } from "./process-metrics.bun.ts";
import { addCounter } from "./scraped-metrics.ts";

interface MetricsOptions {
  readonly log: { readonly dropped: number };
  readonly version: { version: string; commit?: string };
}

/** The metrics in the Prometheus text format. */
export interface Metrics {
  /** Counts calls. */
  readonly calls: CallObserver;
  /** Counts transactions of the ledger. */
  readonly onCommit: (writes: number, ms: number, pending: number) => void;
  /** Adds the metrics that are read from the running gateway at each scrape. Before that a scrape gets 503. */
  start(snapshot: GatewaySnapshot): void;
  scrape(): Promise<Response>;
  close(): void;
}

export function createMetrics({ log, version }: MetricsOptions): Metrics {
  const registry = new Registry();
  let snapshot: GatewaySnapshot | undefined;
  const isPremium = (model: string) => snapshot?.registry().byName(model)?.model.premium;
  const calls = new CallMetrics(registry, { now: monotonicNow, isPremium });
  const onCommit = addCommitMetrics(registry);
  addLogMetrics(registry, log);
  const close = addProcessMetrics(registry, version);
  const headers = {
    "content-type": registry.contentType,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  return {
    calls,
    onCommit,
    start(current) {
      snapshot = current;
      addLoadMetrics(registry, snapshot);
      addRouteMetrics(registry, snapshot);
      addStoreMetrics(registry, snapshot);
      addNodeMetrics(registry, snapshot);
      for (const counter of snapshot.counters) addCounter(registry, counter);
    },
    async scrape() {
      if (snapshot === undefined) return new Response("The gateway is starting\n", { status: 503 });
      return new Response(await registry.metrics(), { headers });
    },
    close,
  };
}
