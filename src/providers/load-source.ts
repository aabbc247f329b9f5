import type { Policy, ProviderPlugin } from "../provider/index.ts";
import type { PluginDefinition } from "../sdk/define-plugin.ts";
import { isPolicy } from "../sdk/define-policy.ts";
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

/** The definition in a file: a plugin of a provider, or a policy. */
export type Loaded =
  | { readonly plugin: ProviderPlugin; readonly policy?: undefined }
  | { readonly policy: Policy; readonly plugin?: undefined };

/**
 * Loads and checks one plugin or policy.
 *
 * @throws {PluginError} One message with the file, the position and what to do.
 */
export async function loadSource(source: PluginSource, loadCode: LoadCode): Promise<Loaded> {
  try {
    if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(source.name)) {
      throw new PluginError("its name must be kebab-case, such as my-provider; rename it");
    }
    const loaded: Loaded =
      source.kind === "manifest"
        ? { plugin: readManifest(readJsonFile(source.entry), source.name) }
        : await loadDefined(source, loadCode);
    const { name } = loaded.policy ?? loaded.plugin;
    if (name === source.name) return loaded;
    throw new PluginError(`it calls itself ${name}, but the file says ${source.name}; make the two agree`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const bare = reason.replace(/^Cannot load the (plugin|policy)( \S+)?: /, "").replace(/^Cannot (read|sell) /, "");
    throw new PluginError(`Cannot load ${source.label}: ${bare}`, { cause: error });
  }
}

async function loadDefined(source: PluginSource, loadCode: LoadCode): Promise<Loaded> {
  const value = await loadCode(source);
  if (value === undefined)
    throw new PluginError("it has no default export; write export default definePlugin({ … }), or definePolicy");
  return isPolicy(value) ? { policy: value } : { plugin: definePlugin(value as PluginDefinition) };
}
