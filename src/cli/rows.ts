import { type Config, getVariablePrefix, isLoopback } from "../config/index.ts";
import type { Model, ProviderPlugin } from "../contract/index.ts";

/** A catalogue row and the plugin that declares it. */
export interface Row {
  readonly model: Model;
  readonly plugin: ProviderPlugin;
}

/** The rows of every plugin, in the plugins' order. */
export function rowsOf(plugins: readonly ProviderPlugin[]): Row[] {
  return plugins.flatMap((plugin) => plugin.models.map((model) => ({ model, plugin })));
}

/** Who answers for a plugin's models in a server of this configuration: itself, the sandbox, or none and why. */
export function servedBy(plugin: ProviderPlugin, config: Config, plugins: readonly ProviderPlugin[]): string {
  if (hasCredential(config, plugin)) return plugin.name;
  const alone = isLoopback(config.host) && !plugins.some((other) => hasCredential(config, other));
  if (config.sandbox === "on" || (config.sandbox === "auto" && alone)) return "sandbox";
  return `no: set ${getVariablePrefix(plugin.name)}_API_KEY`;
}

function hasCredential(config: Config, plugin: ProviderPlugin): boolean {
  return plugin.credential === "none" || config.credentials(plugin.name).keys.length > 0;
}
