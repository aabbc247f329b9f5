import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import type { DropFault, PluginDirectory, PluginSource } from "./plugin-directory.ts";
import { type Found, isIgnored, listFolder, stampOf } from "./plugin-directory.ts";

const kinds: Readonly<Record<string, PluginSource["kind"]>> = { ".json": "manifest", ".ts": "code", ".js": "code" };
/** Endings of files that were probably meant as a plugin. */
const strangers = /\.(mjs|cjs|mts|cts|tsx|jsx|ya?ml|toml|jsonc|json5|py|so|wasm)$/;
const entries = ["index.ts", "index.js", "index.json"];
const filesMax = 1000;

/** What a folder holds in the way of plugins; `sources` is absent when it could not be read. */
export interface Sources {
  readonly sources: readonly PluginSource[] | undefined;
  readonly faults: readonly DropFault[];
}

/** Finds the plugins of a folder: `name.json`, `name.ts`, `name.js`, or `name/` with an index file. */
export function findSources(folder: PluginDirectory): Sources {
  const { found, faults } = listFolder(folder);
  const all: DropFault[] = [...faults];
  const sources = found?.flatMap((item) => {
    const source = item.isFolder ? ofFolder(item) : ofFile(item);
    if (source === undefined) return [];
    if (typeof source !== "string") return [source];
    all.push({ label: item.label, sentence: `Cannot load ${item.label}: ${source}` });
    return [];
  });
  return { sources, faults: all };
}

function ofFile({ name: file, path, label, stamp }: Found): PluginSource | string | undefined {
  const ending = extname(file);
  const kind = kinds[ending];
  if (kind !== undefined) {
    const name = file.slice(0, -ending.length);
    return { name, label, entry: path, kind, root: undefined, stamp };
  }
  if (!strangers.test(file)) return undefined;
  return `a plugin is name.json, name.ts, name.js or a folder with one of ${entries.join(", ")}; rename or remove it`;
}

function ofFolder({ name, path, label }: Found): PluginSource | string | undefined {
  try {
    const files = filesBelow(path);
    if (files.length === 0) return undefined;
    if (files.length > filesMax) return `it holds more than ${filesMax} files; keep only those the plugin needs`;
    const [entry, second] = entries.filter((candidate) => files.some((file) => file.name === candidate));
    if (entry === undefined) return `it has none of ${entries.join(", ")}; add one`;
    if (second !== undefined) return `it has ${entry} and ${second}; remove one`;
    const stamp = files.map((file) => `${file.name}:${file.stamp}`).join("\n");
    const kind = kinds[extname(entry)] as PluginSource["kind"];
    return { name, label: `${label}/${entry}`, entry: join(path, entry), kind, root: path, stamp };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    return `it cannot be read (${error instanceof Error ? error.message : error}); let the gateway's user read it`;
  }
}

/** The files of a folder and below, with their stamps; one more than the bound when there are too many. */
export function filesBelow(folder: string): { name: string; stamp: string }[] {
  const files: { name: string; stamp: string }[] = [];
  const waiting = [""];
  for (const below of waiting) {
    for (const item of readdirSync(join(folder, below), { withFileTypes: true })) {
      if (isIgnored(item.name)) continue;
      const name = below === "" ? item.name : `${below}/${item.name}`;
      if (item.isDirectory()) waiting.push(name);
      else files.push({ name, stamp: fileStamp(join(folder, name)) });
      if (files.length + waiting.length > filesMax + 1) return files.concat(Array(filesMax).fill(files[0]));
    }
  }
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function fileStamp(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? "gone" : stampOf(stats);
}

/** Eight characters that differ between versions of a plugin's files, and are the same wherever the files are. */
export function contentVersion({ entry, root }: PluginSource): string {
  const hash = createHash("sha256");
  if (root === undefined) hash.update(readFileSync(entry));
  else for (const { name } of filesBelow(root)) hash.update(`${name}\n`).update(readFileSync(join(root, name)));
  return hash.digest("hex").slice(0, 8);
}
