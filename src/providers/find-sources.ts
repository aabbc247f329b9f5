import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { extname, join, parse } from "node:path";
import {
  type FileProblem,
  type FolderEntry,
  getFingerprint,
  isIgnored,
  listFolder,
  type PluginDirectory,
  type PluginSource,
} from "./plugin-directory.ts";
import { getReason } from "./read-files.ts";

/** Endings of plugin files. */
const kinds: Readonly<Record<string, PluginSource["kind"]>> = { ".json": "manifest", ".ts": "code", ".js": "code" };
/** Endings of files that were probably meant as a plugin. */
const otherEndings = /\.(mjs|cjs|mts|cts|tsx|jsx|ya?ml|toml|jsonc|json5|py|so|wasm)$/;
/** Names of the entry file of a plugin's folder. */
export const indexFiles: readonly string[] = ["index.ts", "index.js", "index.json"];
const filesMax = 1000;

/** The plugins in a folder; `sources` is `undefined` when it could not be read. */
export interface Sources {
  readonly sources: readonly PluginSource[] | undefined;
  readonly problems: readonly FileProblem[];
}

/** Finds the plugins of a folder: `name.json`, `name.ts`, `name.js`, or `name/` with an index file. */
export function findSources(folder: PluginDirectory): Sources {
  const { entries, problems } = listFolder(folder);
  const all: FileProblem[] = [...problems];
  const sources = entries?.flatMap((entry) => {
    const source = entry.isFolder ? toFolderSource(entry) : toFileSource(entry);
    if (typeof source !== "string") return source ?? [];
    all.push({ label: entry.label, message: `Cannot load ${entry.label}: ${source}` });
    return [];
  });
  return { sources, problems: all };
}

/** @returns A string when the file is refused: the reason. */
function toFileSource({ name: file, path, label, fingerprint }: FolderEntry): PluginSource | string | undefined {
  const { name, ext } = parse(file);
  const kind = kinds[ext];
  if (kind !== undefined) return { name, label, entry: path, kind, root: undefined, fingerprint };
  if (!otherEndings.test(file)) return undefined;
  return `a plugin is name.json, name.ts, name.js or a folder with one of ${indexFiles.join(", ")}; rename or remove it`;
}

/** @returns A string when the folder is refused: the reason. */
function toFolderSource({ name, path, label }: FolderEntry): PluginSource | string | undefined {
  try {
    const files = filesBelow(path);
    if (files.length === 0) return undefined;
    if (files.length > filesMax) return `it holds more than ${filesMax} files; keep only those the plugin needs`;
    const [index, second] = indexFiles.filter((candidate) => files.some((file) => file.name === candidate));
    if (index === undefined) return `it has no file named ${indexFiles.join(", ")}; add one`;
    if (second !== undefined) return `it has ${index} and ${second}; remove one`;
    const fingerprint = files.map((file) => `${file.name}:${file.fingerprint}`).join("\n");
    const kind = kinds[extname(index)] as PluginSource["kind"];
    return { name, label: `${label}/${index}`, entry: join(path, index), kind, root: path, fingerprint };
  } catch (error) {
    const reason = getReason(error);
    return reason === "ENOENT" ? undefined : `it cannot be read (${reason}); let the gateway's user read it`;
  }
}

/** The files of a folder and below, with their fingerprints; more than the limit when there are too many. */
function filesBelow(folder: string): { name: string; fingerprint: string }[] {
  const files: { name: string; fingerprint: string }[] = [];
  const waiting = [""];
  for (const below of waiting) {
    for (const item of readdirSync(join(folder, below), { withFileTypes: true })) {
      if (isIgnored(item.name)) continue;
      const name = below === "" ? item.name : `${below}/${item.name}`;
      if (item.isDirectory()) waiting.push(name);
      else {
        const stats = statSync(join(folder, name), { throwIfNoEntry: false });
        files.push({ name, fingerprint: stats === undefined ? "gone" : getFingerprint(stats) });
      }
      if (files.length + waiting.length > filesMax + 1) return files.concat(Array(filesMax).fill(files[0]));
    }
  }
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Eight characters that differ between versions of a plugin's files, and are the same wherever the files are. */
export function contentVersion({ entry, root }: PluginSource): string {
  const hash = createHash("sha256");
  if (root === undefined) hash.update(readFileSync(entry));
  else for (const { name } of filesBelow(root)) hash.update(`${name}\n`).update(readFileSync(join(root, name)));
  return hash.digest("hex").slice(0, 8);
}
