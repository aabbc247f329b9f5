import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { Log } from "../kernel/index.ts";
import type { ProviderRow } from "./provider-settings.ts";

/**
 * Writes the manifests of the database into the plugins folder where they are missing, and deletes those of removed
 * providers. A file that somebody has changed is left alone.
 */
export function syncProviderFiles(folder: string, rows: Iterable<ProviderRow>, log: Log): void {
  for (const { name, manifest, isRemoved } of rows) {
    if (manifest === undefined) continue;
    const path = join(folder, `${name}.json`);
    try {
      const found = readIfThere(path);
      if (isRemoved && found === manifest) rmSync(path, { force: true });
      if (!isRemoved && found === undefined) writeWhole(folder, name, manifest);
    } catch (error) {
      log.error("provider_file_failed", { plugin: name, error });
    }
  }
}

/** Whether the file of a provider is as it was written. */
export function isUnchanged(folder: string, name: string, manifest: string): boolean {
  const found = readIfThere(join(folder, `${name}.json`));
  return found === undefined || found === manifest;
}

/** Under a name that the loader ignores first, so that it never reads a half-written file. */
function writeWhole(folder: string, name: string, text: string): void {
  mkdirSync(folder, { recursive: true });
  const fresh = join(folder, `.${name}.${process.pid}.tmp`);
  writeFileSync(fresh, text);
  renameSync(fresh, join(folder, `${name}.json`));
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
