import { type Config, getVariablePrefix, isLoopback } from "../../config/index.ts";
import type { Model, ProviderPlugin } from "../../contract/index.ts";
import { createLog } from "../../observability/log.ts";
import type { PluginSnapshot } from "../../plugin-loader/index.ts";
import { openPluginManager } from "../../providers/open-plugin-manager.bun.ts";
import type { CliContext } from "../command.ts";

/** A catalogue row and the plugin that declares it. */
export interface CatalogueRow {
  readonly model: Model;
  readonly plugin: ProviderPlugin;
}

/** The rows of every plugin, in the order of the plugins. */
export function toCatalogueRows(plugins: readonly ProviderPlugin[]): CatalogueRow[] {
  return plugins.flatMap((plugin) => plugin.models.map((model) => ({ model, plugin })));
}

/** Loads what a server with this configuration would serve, drop-in plugins and catalogue files included. */
export function loadSnapshot({ plugins, createSandbox }: CliContext, config: Config): Promise<PluginSnapshot> {
  const log = createLog("silent", () => undefined);
  return openPluginManager({ config, plugins, createSandbox, log }, Date.now).load();
}

/** What answers for a plugin's models in a server with this configuration: the plugin, the sandbox, or why nothing does. */
export function getServedBy(plugin: ProviderPlugin, config: Config, plugins: readonly ProviderPlugin[]): string {
  if (hasCredential(config, plugin)) return plugin.name;
  const isSandboxDefault = isLoopback(config.host) && !plugins.some((other) => hasCredential(config, other));
  if (config.sandbox === "on" || (config.sandbox === "auto" && isSandboxDefault)) return "sandbox";
  return `no: set ${getVariablePrefix(plugin.name)}_API_KEY`;
}

function hasCredential(config: Config, plugin: ProviderPlugin): boolean {
  return plugin.credential === "none" || config.credentials(plugin.name).keys.length > 0;
}
