import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { ConfigRow } from "../config/index.ts";
import type { ProviderDescription } from "./describe-providers.ts";
import type { PluginState } from "./plugin-state.ts";

/** State of a running server and its plugins, for commands on the same home. */
interface StateFile {
  readonly pid: number;
  /** The settings that it was started with. */
  readonly settings: readonly ConfigRow[];
  readonly plugins: readonly PluginState[];
  /** One message per problem. */
  readonly warnings: readonly string[];
  /** The providers with their health, a few seconds old; absent while the server starts. */
  readonly providers?: readonly ProviderDescription[] | undefined;
  /** The ids of the models that the sandbox answers for; it is not one of the providers. */
  readonly sandboxModels?: readonly string[] | undefined;
  /** The names of the policies in the plugins folders. */
  readonly policies: readonly string[];
}

/** Writes the state of a server's plugins; a reader never sees a half-written file. */
export function writeStateFile(path: string, state: StateFile): void {
  const fresh = `${path}.${state.pid}.tmp`;
  writeFileSync(fresh, JSON.stringify(state), { mode: 0o600 });
  renameSync(fresh, path);
}

export function removeStateFile(path: string): void {
  rmSync(path, { force: true });
}

/**
 * Reads the state of the running server's plugins.
 *
 * @param isRunning Whether a process with this id exists; a server that was killed has left its file.
 * @returns `undefined` when no server runs on this home.
 */
export function readStateFile(path: string, isRunning: (pid: number) => boolean): StateFile | undefined {
  try {
    const state = JSON.parse(readFileSync(path, "utf8")) as StateFile;
    return isRunning(state.pid) ? state : undefined;
  } catch {
    // Missing, or written by another version: the caller loads the plugins itself.
    return undefined;
  }
}
