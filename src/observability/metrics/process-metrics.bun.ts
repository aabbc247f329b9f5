import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Registry } from "prom-client";
import { addCounter, addGauge, type Sample } from "./samples.ts";

/** How often the event loop is asked how late it is. */
const lagResolutionMs = 20;
const stats = { p50: 50, p99: 99, max: 100 };

/** The process itself, by the names that every Prometheus client has for it. Returns what ends the watch over it. */
export function addProcessMetrics(registry: Registry, version: { version: string; commit?: string }): () => void {
  const startedAt = Date.now() / 1000 - process.uptime();
  const lag = monitorEventLoopDelay({ resolution: lagResolutionMs });
  lag.enable();
  addGauge(registry, {
    name: "modelgate_build_info",
    help: "1; which modelgate this is",
    labels: ["version", "commit", "bun"],
    read: () => [[{ version: version.version, commit: version.commit ?? "unknown", bun: Bun.version }, 1]],
  });
  addGauge(registry, {
    name: "modelgate_event_loop_lag_seconds",
    help: "How late the event loop was since the last scrape: the median, the 99th percentile and the most",
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
  addGauge(registry, {
    name: "process_resident_memory_bytes",
    help: "Memory in use",
    read: () => [[{}, process.memoryUsage.rss()]],
  });
  addGauge(registry, {
    name: "process_start_time_seconds",
    help: "When the process started, seconds since 1970",
    read: () => [[{}, startedAt]],
  });
  addGauge(registry, {
    name: "process_open_fds",
    help: "Open files and sockets; Linux alone tells",
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
