import { selfCommand } from "./own-command.bun.ts";

/** Bun's `fetch` sends 256 requests at once and queues the rest. It reads its limit before a program runs; this is the most. */
const limit = { name: "BUN_CONFIG_MAX_HTTP_REQUESTS", value: "65535" };

/**
 * Replaces a process that serves by one with the limit in its environment, under the same id. That takes 6 ms from source
 * and some 20 as a binary. Returns where that is done already, is not possible, or the operator has set a limit.
 */
export function raiseFetchLimit(): void {
  const { argv, execArgv, execPath, env } = process;
  if (argv[2] !== "serve" || execArgv.length > 0) return;
  if (env[limit.name] !== undefined || process.execve === undefined || process.platform === "win32") return;
  try {
    process.execve(execPath, selfCommand(argv.slice(2)), { ...env, [limit.name]: limit.value });
  } catch {
    // Where a process may not be replaced it serves with Bun's own limit.
  }
}
