import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Registry } from "prom-client";
import { addCounter, addGauge, addValue, type Sample } from "./scraped-metrics.ts";

/** The sampling interval of the event-loop lag. */
const lagResolutionMs = 20;
const stats = { p50: 50, p99: 99, max: 100 };

/** Adds metrics of the process by Prometheus' standard names. Returns a function that stops the measurement. */
export function addProcessMetrics(registry: Registry, version: { version: string; commit?: string }): () => void {
  const startedAt = Date.now() / 1000 - process.uptime();
  const lag = monitorEventLoopDelay({ resolution: lagResolutionMs });
  lag.enable();
  addGauge(registry, {
    name: "modelgate_build_info",
    help: "Always 1; the version of modelgate is in the labels",
    labels: ["version", "commit", "bun"],
    read: () => [[{ version: version.version, commit: version.commit ?? "unknown", bun: Bun.version }, 1]],
  });
  addGauge(registry, {
    name: "modelgate_event_loop_lag_seconds",
    help: "Lag of the event loop since the last scrape: median, 99th percentile and maximum",
    labels: ["stat"],
    read() {
      const samples = Object.entries(stats).map(([stat, percentile]): Sample => {
        const ns = lag.count === 0 ? 0 : lag.percentile(percentile);
        return [{ stat }, ns / 1e9];
      });
      lag.reset();
      return samples;
    },
  });
  addCounter(registry, {
    name: "process_cpu_seconds_total",
    help: "User and system CPU time",
    read() {
      const { user, system } = process.cpuUsage();
      return [[{}, (user + system) / 1e6]];
    },
  });
  addValue(registry, "process_resident_memory_bytes", "Resident memory", () => process.memoryUsage.rss());
  addValue(registry, "process_start_time_seconds", "When the process started, seconds since 1970", () => startedAt);
  addGauge(registry, {
    name: "process_open_fds",
    help: "Open files and sockets; only on Linux",
    read: openFiles,
  });
  return () => lag.disable();
}

function openFiles(): Sample[] {
  try {
    return [[{}, readdirSync("/proc/self/fd").length]];
  } catch {
    return [];
  }
}
