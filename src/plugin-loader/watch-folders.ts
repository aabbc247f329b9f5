import { type FSWatcher, watch } from "node:fs";

const pollMs = 1000;
const settleMs = 120;
const settlesMax = 5;

/** What is watched and what is to be done. */
export interface Watching {
  readonly folders: readonly string[];
  /** A text that differs whenever something in the folders does. */
  fingerprint(): string;
  /** Takes up the folders as they are now; never rejects. */
  onChange(): Promise<void>;
}

/**
 * Calls back when files in the folders have changed and come to rest: at once by the platform's notice, and within a
 * second by looking, for folders that give none (network file systems, a folder made later, files deeper down).
 *
 * @param fingerprint The stamp of what was taken up before.
 * @returns Ends it.
 */
export function watchFolders({ folders, fingerprint, onChange }: Watching, known: string): () => void {
  const watchers = new Map<string, FSWatcher>();
  let last = known;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let working = false;
  let stopped = false;

  const load = async () => {
    timer = undefined;
    working = true;
    watchNew();
    const now = fingerprint();
    if (now !== last) {
      last = await settled(now, fingerprint);
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
        // It is not there yet, or the platform watches no more: the next look finds what changes.
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

/** Waits until nothing changes any more, so that a file is not read while it is being written. */
async function settled(first: string, fingerprint: () => string): Promise<string> {
  let before = first;
  for (let load = 0; load < settlesMax; load++) {
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    const now = fingerprint();
    if (now === before) return now;
    before = now;
  }
  return before;
}
