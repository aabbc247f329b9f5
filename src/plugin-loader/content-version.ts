import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { filesBelow } from "./find-sources.ts";
import type { PluginSource } from "./plugin-directory.ts";

/** Eight characters that differ between versions of a plugin's files, and are the same wherever the files are. */
export function contentVersion({ entry, root }: PluginSource): string {
  const hash = createHash("sha256");
  if (root === undefined) hash.update(readFileSync(entry));
  else for (const { name } of filesBelow(root)) hash.update(`${name}\n`).update(readFileSync(join(root, name)));
  return hash.digest("hex").slice(0, 8);
}
