import { ownCommand } from "./own-command.bun.ts";

/**
 * How far the heap may grow before it is collected. JavaScriptCore reads it from the environment before a program runs;
 * by itself it lets the heap double, which here is 50 MB of garbage (of 190 under load) and makes nothing faster. Only of
 * the Bun that is pinned: another may not know the option, and would not start.
 */
const option = { bun: "1.4.5", name: "BUN_JSC_heapGrowthMaxIncrease", value: "1.1" };

/**
 * Starts a process that serves over with its heap bounded, in its place and under its id, which takes 6 ms, of the binary
 * some 20. Returns where that is done already, cannot be, or was decided by whoever started it.
 */
export function steadyHeap(): void {
  const { argv, execArgv, execPath, env } = process;
  if (argv[2] !== "serve" || execArgv.length > 0 || Bun.version !== option.bun) return;
  if (env[option.name] !== undefined || process.execve === undefined || process.platform === "win32") return;
  try {
    process.execve(execPath, ownCommand(argv.slice(2)), { ...env, [option.name]: option.value });
  } catch {
    // Where a process may not do that it serves as it is.
  }
}
