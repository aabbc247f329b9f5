import { getSelfCommand } from "./lib/process.bun.ts";

/** Bun's `fetch` runs 256 requests at once by default and reads this limit before a program starts; 65535 is its maximum. */
const limit = { name: "BUN_CONFIG_MAX_HTTP_REQUESTS", value: "65535" };

/**
 * Replaces a `serve` process, keeping its id, by one with the limit in its environment (6 ms from source, 20 ms as a
 * binary). Does nothing when a limit is set already or processes cannot be replaced here.
 */
export function raiseFetchLimit(): void {
  const { argv, execArgv, execPath, env } = process;
  if (argv[2] !== "serve" || execArgv.length > 0) return;
  if (env[limit.name] !== undefined || process.execve === undefined || process.platform === "win32") return;
  try {
    process.execve(execPath, getSelfCommand(argv.slice(2)), { ...env, [limit.name]: limit.value });
  } catch {
    // Where `execve` is not allowed, the default limit stays.
  }
}
