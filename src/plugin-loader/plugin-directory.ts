import { lstatSync, readdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { getReason } from "./read-files.ts";

/** A folder that files are dropped into while the gateway runs. */
export interface PluginDirectory {
  /** Absolute. */
  readonly path: string;
  /** What sentences call it: `plugins`. Never the whole path, which is nobody's but the operator's. */
  readonly label: string;
  /** Whether it is a fault when the folder is not there. */
  readonly required: boolean;
}

/** Why something in a folder is not taken in. */
export interface FileProblem {
  readonly label: string;
  /** A whole sentence with file, place and cure. */
  readonly sentence: string;
}

/** What makes one plugin. */
export interface PluginSource {
  /** The plugin's name as the file or folder says it. */
  readonly name: string;
  /** What sentences call it: `plugins/acme.ts`, `plugins/acme/index.ts`. */
  readonly label: string;
  /** The file to load, absolute. */
  readonly entry: string;
  readonly kind: "manifest" | "code";
  /** The folder whose files it may import; absent when it is a single file. */
  readonly root: string | undefined;
  /** Differs whenever one of its files does. */
  readonly fingerprint: string;
}

/** A file or folder found in a drop folder. */
export interface FolderEntry {
  readonly name: string;
  readonly path: string;
  readonly label: string;
  readonly isFolder: boolean;
  readonly fingerprint: string;
}

/** What a folder holds; `found` is absent when it could not be read, so that what it held before can stay. */
export interface FolderListing {
  readonly entries: readonly FolderEntry[] | undefined;
  readonly problems: readonly FileProblem[];
}

/** Lists what is meant for us in a folder, by name. Links that lead out of it are refused. */
export function listFolder(folder: PluginDirectory): FolderListing {
  let names: string[];
  let home: string;
  try {
    home = realpathSync(folder.path);
    names = readdirSync(home).sort();
  } catch (error) {
    const reason = getReason(error);
    if (reason === "ENOENT" && !folder.required) return { entries: [], problems: [] };
    const cure = reason === "ENOENT" ? "make it" : "let the gateway's user read it";
    const sentence = `Cannot read the folder ${folder.label} (${reason}): what it held before stays; ${cure}`;
    return { entries: undefined, problems: [{ label: folder.label, sentence }] };
  }
  const entries: FolderEntry[] = [];
  const problems: FileProblem[] = [];
  for (const name of names) {
    if (isIgnored(name)) continue;
    const label = `${folder.label}/${name}`;
    const path = join(home, name);
    const stats = statWithin(path, home);
    if (typeof stats === "string") problems.push({ label, sentence: `Cannot load ${label}: ${stats}` });
    else if (stats !== undefined) {
      entries.push({ name, path, label, isFolder: stats.isDirectory(), fingerprint: getFingerprint(stats) });
    }
  }
  return { entries, problems };
}

/** Files of editors, version control and package managers, and type declarations beside plugins. */
export function isIgnored(name: string): boolean {
  return name.startsWith(".") || name === "node_modules" || /(~|\.d\.ts|\.swp|\.tmp|\.bak)$/.test(name);
}

/** Whether a real path lies in a real folder. */
export function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** What a path leads to, or a reason why it is refused; `undefined` when it has just gone or is no file. */
function statWithin(path: string, home: string): Stats | string | undefined {
  try {
    if (!lstatSync(path).isSymbolicLink()) return statSync(path);
    const target = realpathSync(path);
    return isWithin(target, home)
      ? statSync(path)
      : "it is a link that leads out of the folder; put the file itself there";
  } catch (error) {
    const reason = getReason(error);
    if (reason !== "ENOENT") return `it cannot be read (${reason}); let the gateway's user read it`;
    return isThere(path) ? "it is a link to nothing; put the file itself there" : undefined;
  }
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

export function getFingerprint({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${ino}:${size}:${mtimeMs}:${ctimeMs}`;
}
