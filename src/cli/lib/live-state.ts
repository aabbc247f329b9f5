import { type Config, getPluginStateFile } from "../../config/index.ts";
import { readStateFile } from "../../providers/index.ts";

/** The state of the gateway that runs in this home folder; `undefined` when none does. */
export function readLiveState(config: Config): ReturnType<typeof readStateFile> {
  return readStateFile(getPluginStateFile(config), isRunning);
}

/** The last line of a list of providers or plugins. */
export function describeSource(isLive: boolean): string {
  return isLive
    ? "As the running gateway reports"
    : "No gateway runs in this home folder; this is the state after a start";
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process belongs to another user, but it is running.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
