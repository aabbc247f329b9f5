import { engineSettings } from "../../src/cli/set-engine.bun.ts";
import { runFolder } from "./run-folder.ts";

/**
 * Settings of Bun's engine with which it optimizes code ten times later, for processes that live for seconds: most of what it
 * would optimize there is not run often enough to earn that, which is a fifth of the CPU of a start. What is run often
 * enough, such as the work on hostile input, is optimized all the same.
 */
export const lateOptimization: Readonly<Record<string, string>> = {
  BUN_JSC_thresholdForOptimizeAfterWarmUp: "10000",
  BUN_JSC_thresholdForOptimizeAfterLongWarmUp: "10000",
  BUN_JSC_thresholdForOptimizeSoon: "10000",
  BUN_JSC_thresholdForFTLOptimizeAfterWarmUp: "1000000",
  /** Nor is what runs once while a program starts compiled at all: a tenth of the CPU of a start. */
  BUN_JSC_startupJITDeferralScale: "8",
  /** Small heaps are marked by one thread, rather than by one that wakes others. */
  BUN_JSC_numberOfGCMarkers: "1",
};

/**
 * The settings of commands and gateways that tests of a whole run start, with those that a gateway gives itself and would be
 * replaced for. Benchmarks, gateways whose CPU time is measured, and a file by itself have what users have.
 */
export const runOptimization: Readonly<Record<string, string>> =
  runFolder === undefined ? {} : { ...engineSettings, ...lateOptimization };
