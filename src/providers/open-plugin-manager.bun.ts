import { type Config, getCatalogueFolder, getPluginFolders } from "../config/index.ts";
import { isLoopback } from "../contract/index.ts";
import { type Log, monotonicNow, resolveHost, SsrfGuard } from "../kernel/index.ts";
import type { ProviderPlugin } from "../provider/index.ts";
import { loadCode } from "./load-code.bun.ts";
import { PluginManager, type PluginManagerOptions } from "./plugin-manager.ts";
import type { ProviderSettings } from "./provider-settings.ts";

interface Options {
  readonly config: Config;
  /** Plugins that are compiled in. */
  readonly plugins: readonly ProviderPlugin[];
  readonly manifests?: PluginManagerOptions["manifests"];
  readonly createSandbox: PluginManagerOptions["sandbox"]["createSandbox"];
  readonly log: Log;
  /** Whether to list the models of providers whose unlisted models are also sold; default true. */
  readonly asksProviders?: boolean;
  readonly usedModels?: PluginManagerOptions["usedModels"];
}

/**
 * Creates the plugin manager of a configuration, for a server and for commands that list models or plugins.
 *
 * @param settings Settings from the database; absent: only the environment counts.
 */
export function openPluginManager(
  { config, plugins, manifests, createSandbox, log, asksProviders = true, usedModels }: Options,
  now: () => number,
  settings?: ProviderSettings,
): PluginManager {
  const guard = new SsrfGuard(resolveHost, monotonicNow);
  return new PluginManager({
    builtIns: plugins,
    manifests,
    pluginFolders: getPluginFolders(config),
    catalogueFolder: getCatalogueFolder(config),
    sandbox: {
      get setting() {
        return settings?.sandbox.setting ?? config.sandbox;
      },
      isLoopback: isLoopback(config.host),
      createSandbox,
    },
    readCredentials: (plugin) => settings?.credentials(plugin) ?? config.credentials(plugin),
    choices: settings,
    loadCode,
    log,
    now,
    usedModels,
    ...(asksProviders && { fetch, checkHost: (place) => guard.check(place) }),
  });
}
