import { type Config, isLoopback } from "../config.ts";
import type { Model, ProviderPlugin } from "../contract/index.ts";

/** A catalogue row and the plugin that declares it. */
export interface Row {
  readonly model: Model;
  readonly plugin: ProviderPlugin;
}

/** The rows of every provider; the sandbox repeats other plugins' rows and is left out. */
export function rowsOf(plugins: readonly ProviderPlugin[]): Row[] {
  const providers = plugins.filter(({ name }) => name !== "sandbox");
  return providers.flatMap((plugin) => plugin.models.map((model) => ({ model, plugin })));
}

/** Whether a server of this configuration answers with the sandbox: asked for, or nothing else to answer with. */
export function isSandboxed(config: Config, plugins: readonly ProviderPlugin[]): boolean {
  if (config.sandbox !== "auto") return config.sandbox === "on";
  return (
    isLoopback(config.host) && !plugins.some((plugin) => plugin.name !== "sandbox" && hasCredential(config, plugin))
  );
}

/** Whether a plugin can ask its provider. */
export function hasCredential(config: Config, plugin: ProviderPlugin): boolean {
  return plugin.credential === "none" || config.credentials(plugin.name).keys.length > 0;
}
