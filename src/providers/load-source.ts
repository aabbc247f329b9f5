import type { ProviderPlugin } from "../provider/index.ts";
import type { PluginDefinition } from "../sdk/define-plugin.ts";
import { PluginError } from "../sdk/errors.ts";
import { definePlugin } from "../sdk/index.ts";
import { readManifest } from "./manifest.ts";
import type { PluginSource } from "./plugin-directory.ts";
import { readJsonFile } from "./read-files.ts";

/**
 * Runs a plugin's code, including the files next to it.
 *
 * @returns Its default export.
 * @throws {PluginError} When it cannot be read, translated or run; with the position, without the file's name.
 */
export type LoadCode = (source: PluginSource) => Promise<unknown>;

/**
 * Loads and checks one plugin.
 *
 * @throws {PluginError} One message with the file, the position and what to do.
 */
export async function loadSource(source: PluginSource, loadCode: LoadCode): Promise<ProviderPlugin> {
  try {
    if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(source.name)) {
      throw new PluginError("its name must be kebab-case, such as my-provider; rename it");
    }
    const plugin =
      source.kind === "manifest"
        ? readManifest(readJsonFile(source.entry), source.name)
        : await loadDefined(source, loadCode);
    if (plugin.name === source.name) return plugin;
    throw new PluginError(`it calls itself ${plugin.name}, but the file says ${source.name}; make the two agree`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const bare = reason.replace(/^Cannot load the plugin( \S+)?: /, "").replace(/^Cannot (read|sell) /, "");
    throw new PluginError(`Cannot load ${source.label}: ${bare}`, { cause: error });
  }
}

async function loadDefined(source: PluginSource, loadCode: LoadCode): Promise<ProviderPlugin> {
  const value = await loadCode(source);
  if (value === undefined) throw new PluginError("it has no default export; write export default definePlugin({ … })");
  return definePlugin(value as PluginDefinition);
}
