import { existsSync, statSync } from "node:fs";
import { basename, dirname, extname, join, resolve } from "node:path";
import type { ProviderPlugin } from "../provider/index.ts";
import { indexFiles } from "../providers/find-sources.ts";
import { loadCode } from "../providers/load-code.bun.ts";
import { loadSource } from "../providers/load-source.ts";
import { UsageError } from "./command.ts";

/** A plugin given by its path on the command line. */
export interface LoadedPlugin {
  readonly plugin: ProviderPlugin;
  /** The file that was loaded, absolute. */
  readonly entry: string;
  /** A folder may contain fixtures. */
  readonly isFolder: boolean;
}

/**
 * Loads a plugin as the gateway does.
 *
 * @throws {UsageError} When there is no such plugin.
 * @throws {PluginError} When it is invalid; one message with file, position and remedy.
 */
export async function loadPluginAt(path: string): Promise<LoadedPlugin> {
  const whole = resolve(path);
  if (!existsSync(whole))
    throw new UsageError(`There is no ${path}, expected a plugin: name.json, name.ts, name.js or a folder`);
  const folder = statSync(whole).isDirectory()
    ? whole
    : indexFiles.includes(basename(whole))
      ? dirname(whole)
      : undefined;
  const index =
    folder === undefined ? undefined : indexFiles.map((file) => join(folder, file)).find((file) => existsSync(file));
  if (folder !== undefined && index === undefined)
    throw new UsageError(`${path} has no index file, expected one of ${indexFiles.join(", ")}`);
  const entry = index ?? whole;
  const ending = extname(entry);
  const name = folder === undefined ? basename(entry, ending) : basename(folder);
  const kind = ending === ".json" ? "manifest" : "code";
  const label = folder === undefined ? basename(entry) : `${name}/${basename(entry)}`;
  const loaded = await loadSource({ name, label, entry, kind, root: folder, fingerprint: "" }, loadCode);
  if (loaded.plugin === undefined) throw new UsageError(`${path} is a policy, expected a plugin of a provider`);
  return { plugin: loaded.plugin, entry, isFolder: folder !== undefined };
}
