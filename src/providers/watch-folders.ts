import { type FSWatcher, watch } from "node:fs";

const pollMs = 1000;
const settleMs = 120;
const settlesMax = 5;

/** Options of {@link watchFolders}. */
export interface WatchOptions {
  readonly folders: readonly string[];
  /** A text that differs whenever something in the folders does. */
  fingerprint(): string;
  /** Loads the folders as they are now; never rejects. */
  onChange(): Promise<void>;
}

/**
 * Calls back when files in the folders have changed and are no longer being written: at once where the platform reports
 * changes, and within a second elsewhere (network file systems, new folders, subfolders).
 *
 * @param fingerprintBefore The fingerprint of the loaded files.
 * @returns A function that stops the watch.
 */
export function watchFolders({ folders, fingerprint, onChange }: WatchOptions, fingerprintBefore: string): () => void {
  const watchers = new Map<string, FSWatcher>();
  let last = fingerprintBefore;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let working = false;
  let stopped = false;

  const load = async () => {
    timer = undefined;
    working = true;
    watchNew();
    const now = fingerprint();
    if (now !== last) {
      last = await waitUntilSettled(now, fingerprint);
      if (!stopped) await onChange();
    }
    working = false;
    if (!stopped) timer ??= setTimeout(load, pollMs);
  };
  const wake = () => {
    if (stopped || working) return;
    clearTimeout(timer);
    timer = setTimeout(load, 0);
  };
  const watchNew = () => {
    for (const folder of folders) {
      if (watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, wake);
        watchers.set(folder, watcher);
        watcher.on("error", () => {
          watcher.close();
          watchers.delete(folder);
        });
      } catch {
        // The folder does not exist yet, or there are too many watchers: polling finds the changes.
      }
    }
  };
  watchNew();
  timer = setTimeout(load, pollMs);
  return () => {
    stopped = true;
    clearTimeout(timer);
    for (const watcher of watchers.values()) watcher.close();
  };
}

/** Waits until nothing changes: a file must not be read while it is being written. */
async function waitUntilSettled(first: string, fingerprint: () => string): Promise<string> {
  let before = first;
  for (let round = 0; round < settlesMax; round++) {
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    const now = fingerprint();
    if (now === before) return now;
    before = now;
  }
  return before;
}
