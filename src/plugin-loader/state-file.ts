import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { PluginState } from "./plugin-state.ts";

/** What a running server says of its plugins, for commands beside it. */
interface StateFile {
  readonly pid: number;
  readonly plugins: readonly PluginState[];
}

/** Writes what the server with this process id has on sale; a reader never sees half of it. */
export function writeStateFile(path: string, state: StateFile): void {
  const fresh = `${path}.${state.pid}.tmp`;
  writeFileSync(fresh, JSON.stringify(state), { mode: 0o600 });
  renameSync(fresh, path);
}

export function removeStateFile(path: string): void {
  rmSync(path, { force: true });
}

/**
 * What the running server said of its plugins.
 *
 * @param isRunning Whether a process of this id is there; a server that was killed has left its file.
 * @returns `undefined` when no server runs on this home.
 */
export function readStateFile(path: string, isRunning: (pid: number) => boolean): readonly PluginState[] | undefined {
  try {
    const { pid, plugins } = JSON.parse(readFileSync(path, "utf8")) as StateFile;
    return isRunning(pid) ? plugins : undefined;
  } catch {
    // Missing, or written by another version: the caller loads the plugins itself.
    return undefined;
  }
}
