/**
 * Loaded into a gateway before its own code: on SIGUSR2 it collects all garbage and writes down what is left, so that
 * what grows is told from what waits to be collected.
 */
import { heapStats } from "bun:jsc";
import { renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What is in a process's heap after a full collection. */
export interface HeapLook {
  heapMb: number;
}

/** For the environment of a gateway that is to have this, and write where it is read. */
export const probed = { BUN_OPTIONS: `--preload ${import.meta.path}`, TMPDIR: tmpdir() };

export function heapFileOf(pid: number): string {
  return join(tmpdir(), `modelgate-heap-${pid}.json`);
}

process.on("SIGUSR2", () => {
  Bun.gc(true);
  const { heapSize, extraMemorySize } = heapStats();
  const look: HeapLook = { heapMb: (heapSize + extraMemorySize) / 2 ** 20 };
  const file = heapFileOf(process.pid);
  writeFileSync(`${file}.new`, JSON.stringify(look));
  renameSync(`${file}.new`, file);
});
