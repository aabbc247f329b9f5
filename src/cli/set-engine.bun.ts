import { getSelfCommand } from "./lib/process.bun.ts";

/** Settings of a process that serves. Bun reads them from its environment before a program starts; an operator's own values stay. */
export const engineSettings: Readonly<Record<string, string>> = {
  /** Bun's `fetch` runs 256 requests at once by default; this is its maximum. */
  BUN_CONFIG_MAX_HTTP_REQUESTS: "65535",
  /**
   * Milliseconds between two returns of unused pages to the system. By default the allocator returns them after each call,
   * which took a fifth of the CPU of a gateway with 20 calls a second.
   */
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "10000",
  /** Milliseconds between garbage collections of a timer; default 1,000. Those that the heap's growth starts are not affected. */
  BUN_GC_TIMER_INTERVAL: "10000",
  /**
   * The engine's last level of optimization begins ten times later than by default. Garbage collections drop compiled code, and
   * the engine then compiled the many functions of a call again and again: a sixth of the CPU at full load.
   */
  BUN_JSC_thresholdForFTLOptimizeAfterWarmUp: "1000000",
  /**
   * Code is compiled eight times later in the first seconds: a start takes a quarter less CPU, so does a call just after it, and
   * fewer calls wait for the compiler.
   */
  BUN_JSC_startupJITDeferralScale: "8",
};

/**
 * Replaces a `serve` process, keeping its id, by one with the settings in its environment (6 ms from source, 20 ms as a
 * binary). Does nothing when all are set already or processes cannot be replaced here.
 */
export function setEngine(): void {
  const { argv, execArgv, execPath, env } = process;
  if (argv[2] !== "serve" || execArgv.length > 0) return;
  if (process.execve === undefined || process.platform === "win32") return;
  if (Object.keys(engineSettings).every((name) => env[name] !== undefined)) return;
  try {
    process.execve(execPath, getSelfCommand(argv.slice(2)), { ...engineSettings, ...env });
  } catch {
    // Where `execve` is not allowed, the defaults stay.
  }
}
