import { Registry } from "prom-client";
import type { CallCounts } from "../call-counts.ts";
import type { CommitCounts } from "../commit-counts.ts";
import type { Facts } from "../facts.ts";
import type { SpanCounts } from "../traces/span-queue.ts";
import { addAttemptMetrics, addCallMetrics, addDoorMetrics, addUsageMetrics } from "./call-metrics.ts";
import { addBookMetrics, addLogMetrics, addRouteMetrics } from "./gateway-metrics.ts";
import { addProcessMetrics } from "./process-metrics.bun.ts";

/** What a scrape reads. */
export interface MetricsGround {
  readonly calls: CallCounts;
  readonly commits: CommitCounts;
  readonly facts: Facts;
  readonly log: { readonly dropped: number };
  /** Absent: nothing is traced. */
  readonly spans: SpanCounts | undefined;
  readonly version: { version: string; commit?: string };
}

/** The metrics in Prometheus' text form. */
export interface Metrics {
  scrape(): Promise<Response>;
  close(): void;
}

/** All metrics there are, read anew at each scrape. */
export function createMetrics({ calls, commits, facts, log, spans, version }: MetricsGround): Metrics {
  const registry = new Registry();
  addCallMetrics(registry, calls);
  addDoorMetrics(registry, facts);
  addAttemptMetrics(registry, calls);
  addUsageMetrics(registry, calls, facts);
  addRouteMetrics(registry, facts);
  addBookMetrics(registry, commits, facts);
  addLogMetrics(registry, log, spans);
  const close = addProcessMetrics(registry, version);
  const headers = {
    "content-type": registry.contentType,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  return { scrape: async () => new Response(await registry.metrics(), { headers }), close };
}
