import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../kernel/index.ts";
import { readJson } from "../lib/json.ts";
import type { ProviderRow } from "./provider-settings.ts";
import { replaceFile } from "./write-file.ts";

/**
 * Writes the manifests of the database into the plugins folder if they are missing or older, and deletes the manifests
 * of removed providers. A file that an operator has changed is left alone.
 */
export function syncProviderFiles(folder: string, rows: Iterable<ProviderRow>, log: Log): void {
  for (const row of rows) {
    const { name, manifest, isRemoved } = row;
    if (manifest === undefined) continue;
    const path = join(folder, `${name}.json`);
    try {
      const file = toFileText(manifest);
      const text = readIfThere(path);
      if (text !== undefined && !isWrittenHere(text, row)) continue;
      if (isRemoved) rmSync(path, { force: true });
      else if (text !== file) replaceFile(path, file);
    } catch (error) {
      log.error("provider_file_failed", { plugin: name, error });
    }
  }
}

/** Whether the file of a provider is as it was written. */
export function isUnchanged(folder: string, row: ProviderRow): boolean {
  const text = readIfThere(join(folder, `${row.name}.json`));
  return text === undefined || isWrittenHere(text, row);
}

/** The SHA-256 of the file of a manifest, in hexadecimal. */
export function fileHash(manifest: string): string {
  return hash(toFileText(manifest));
}

/**
 * The file of a manifest. It says by itself that the environment has nothing for its provider: a gateway that shares the
 * folder, or whose database was restored, may find it without its row.
 */
function toFileText(manifest: string): string {
  return `${JSON.stringify({ environment: false, ...(readJson(manifest, "file") as object) }, null, 2)}\n`;
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Whether the text of a file is a manifest that the gateway wrote for the provider, now or earlier. */
function isWrittenHere(text: string, { manifest, earlierManifests }: ProviderRow): boolean {
  return (manifest !== undefined && text === toFileText(manifest)) || earlierManifests.includes(hash(text));
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
