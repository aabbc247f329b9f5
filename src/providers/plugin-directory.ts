import { lstatSync, readdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { getReason } from "./read-files.ts";

/** A folder that files are dropped into while the gateway runs. */
export interface PluginDirectory {
  /** Absolute. */
  readonly path: string;
  /** Name in messages: `plugins`. Never the whole path, which only the operator may see. */
  readonly label: string;
  /** Whether a missing folder is a problem. */
  readonly required: boolean;
}

/** Why something in a folder is not loaded. */
export interface FileProblem {
  readonly label: string;
  /** A message with the file, the position and what to do. */
  readonly message: string;
}

/** The files of one plugin. */
export interface PluginSource {
  /** The plugin's name according to its file or folder. */
  readonly name: string;
  /** Name in messages: `plugins/acme.ts`, `plugins/acme/index.ts`. */
  readonly label: string;
  /** The file to load, absolute. */
  readonly entry: string;
  readonly kind: "manifest" | "code";
  /** The folder whose files it may import; absent when it is a single file. */
  readonly root: string | undefined;
  /** Differs whenever one of its files does. */
  readonly fingerprint: string;
}

/** A file or folder in a plugin or catalogue folder. */
export interface FolderEntry {
  readonly name: string;
  readonly path: string;
  readonly label: string;
  readonly isFolder: boolean;
  readonly fingerprint: string;
}

/**
 * Content of a folder; `entries` is `undefined` when it could not be read, and its earlier content then stays loaded.
 */
export interface FolderListing {
  readonly entries: readonly FolderEntry[] | undefined;
  readonly problems: readonly FileProblem[];
}

/** Whether any user may write to a folder. A writable group is accepted, because volumes of Kubernetes need it. */
function isWritableByAll(path: string): boolean {
  return (statSync(path).mode & 0o002) !== 0;
}

/** Lists the files of a folder that can be plugins, by name. Links that lead out of it are refused. */
export function listFolder(folder: PluginDirectory): FolderListing {
  let names: string[];
  let home: string;
  try {
    home = realpathSync(folder.path);
    names = readdirSync(home).sort();
  } catch (error) {
    const reason = getReason(error);
    if (reason === "ENOENT" && !folder.required) return { entries: [], problems: [] };
    const advice = reason === "ENOENT" ? "create it" : "let the gateway's user read it";
    const message = `Cannot read the folder ${folder.label} (${reason}), so what it held before stays; ${advice}`;
    return { entries: undefined, problems: [{ label: folder.label, message }] };
  }
  const entries: FolderEntry[] = [];
  const problems: FileProblem[] = [];
  if (isWritableByAll(home)) {
    const message = `Every user of this machine can write to the folder ${folder.label}, whose code has all rights of the gateway`;
    problems.push({ label: folder.label, message: `${message}; take the right away: chmod o-w ${folder.path}` });
  }
  for (const name of names) {
    if (isIgnored(name)) continue;
    const label = `${folder.label}/${name}`;
    const path = join(home, name);
    const stats = statWithin(path, home);
    if (typeof stats === "string") problems.push({ label, message: `Cannot load ${label}: ${stats}` });
    else if (stats !== undefined) {
      entries.push({ name, path, label, isFolder: stats.isDirectory(), fingerprint: getFingerprint(stats) });
    }
  }
  return { entries, problems };
}

/** Matches files of editors, version control and package managers, and type declarations next to plugins. */
export function isIgnored(name: string): boolean {
  return name.startsWith(".") || name === "node_modules" || /(~|\.d\.ts|\.swp|\.tmp|\.bak)$/.test(name);
}

/** Whether a real path lies in a real folder. */
export function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Follows a path. Returns the reason when it is refused, `undefined` when the file has just been removed. */
function statWithin(path: string, home: string): Stats | string | undefined {
  try {
    if (!lstatSync(path).isSymbolicLink()) return statSync(path);
    if (isWithin(realpathSync(path), home)) return statSync(path);
    return "it is a link that leads out of the folder; put the file itself there";
  } catch (error) {
    const reason = getReason(error);
    if (reason !== "ENOENT") return `it cannot be read (${reason}); let the gateway's user read it`;
    const isLink = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
    return isLink ? "it is a link to nothing; put the file itself there" : undefined;
  }
}

export function getFingerprint({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${ino}:${size}:${mtimeMs}:${ctimeMs}`;
}
