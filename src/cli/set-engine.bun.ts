import { getSelfCommand } from "./lib/process.bun.ts";

/**
 * What Bun reads from its environment before a program starts, for a process that serves. A setting that is there already stays.
 */
const settings: Readonly<Record<string, string>> = {
  /** Bun's `fetch` runs 256 requests at once by default; this is its maximum. */
  BUN_CONFIG_MAX_HTTP_REQUESTS: "65535",
  /**
   * Milliseconds between two times that the allocator returns unused pages to the system. It would do so after each
   * call, which took a fifth of the CPU of a gateway with 20 calls a second.
   */
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "10000",
  /** Milliseconds between two collections of garbage that the amount of garbage does not ask for, in place of one second. */
  BUN_GC_TIMER_INTERVAL: "10000",
  /**
   * The engine's last level of optimization comes ten times later than by itself. Collections drop code, and what a gateway
   * runs is spread over so many functions that it optimized them again and again: a sixth of the CPU at full load.
   */
  BUN_JSC_thresholdForFTLOptimizeAfterWarmUp: "1000000",
};

/**
 * Replaces a `serve` process, keeping its id, by one with the settings in its environment (6 ms from source, 20 ms as a
 * binary). Does nothing when all are set already or processes cannot be replaced here.
 */
export function setEngine(): void {
  const { argv, execArgv, execPath, env } = process;
  if (argv[2] !== "serve" || execArgv.length > 0) return;
  if (process.execve === undefined || process.platform === "win32") return;
  if (Object.keys(settings).every((name) => env[name] !== undefined)) return;
  try {
    process.execve(execPath, getSelfCommand(argv.slice(2)), { ...settings, ...env });
  } catch {
    // Where `execve` is not allowed, the defaults stay.
  }
}
