import type { Markups, ModelEntry, PolicyRule, Reroute } from "../kernel/index.ts";
import { getForm, type Model, type ProviderPlugin } from "../provider/index.ts";

/** Options that decide whether answers are simulated. */
export interface SandboxOptions {
  readonly setting: "on" | "off" | "auto";
  /** Whether only this machine can reach the gateway. */
  readonly isLoopback: boolean;
  /** Creates the plugin that simulates these models. */
  createSandbox(models: readonly Model[]): ProviderPlugin;
}

/** Administrators' settings of plugins. */
export interface PluginChoices {
  isEnabled(pluginName: string): boolean;
  /** Whether it has stored keys, and this gateway can read none of them. */
  hasUnreadableKeys(pluginName: string): boolean;
  /** The plugin with the order of routes that they chose. */
  reorder(plugin: ProviderPlugin): ProviderPlugin;
  readonly reroutes: readonly Reroute[];
  readonly markups: Markups;
  readonly policyRules: readonly PolicyRule[];
}

interface Conditions {
  hasKey(plugin: ProviderPlugin): boolean;
  /** Whether no administrator has disabled it. */
  isEnabled(plugin: ProviderPlugin): boolean;
  /** Whether this gateway can read none of the keys that are stored for it. */
  hasUnreadableKeys(plugin: ProviderPlugin): boolean;
  /** Whether a file of a provider is refused. */
  readonly isBroken?: boolean;
}

/** The plugins to serve. */
export interface Choice {
  readonly plugins: readonly ProviderPlugin[];
  /** Whether every answer is simulated. */
  readonly sandbox: boolean;
  /** Whether a real provider is configured, although it may have no models yet. */
  readonly isConfigured: boolean;
}

/**
 * Whether the sandbox may simulate a plugin's models. Clouds sell other providers' models under their own names, which are
 * of no use without a real provider. One that an administrator has added sells to callers who expect real answers.
 */
export function isSimulated({ credential, environment }: ProviderPlugin): boolean {
  return getForm(credential) === undefined && environment !== false;
}

/**
 * Chooses real plugins that have credentials; the sandbox only on request, or if no provider is configured and the
 * gateway listens on a loopback address. A provider that is disabled, does not answer, cannot be loaded or has keys that
 * cannot be read is not simulated: its callers expect real answers.
 *
 * @returns No plugins when there is nothing to serve.
 */
export function choosePlugins(
  plugins: readonly ProviderPlugin[],
  { hasKey, isEnabled, hasUnreadableKeys, isBroken = false }: Conditions,
  { setting, isLoopback, createSandbox }: SandboxOptions,
): Choice {
  const real = plugins.filter((plugin) => plugin.credential === "none" || hasKey(plugin));
  const served = real.filter(isEnabled);
  const isUnreadable = plugins.some(hasUnreadableKeys);
  const isConfigured = real.length > 0 || isUnreadable || isBroken;
  const simulated = plugins
    .filter((plugin) => isEnabled(plugin) && isSimulated(plugin) && !hasUnreadableKeys(plugin))
    .flatMap((plugin) => plugin.models);
  if (setting === "on") {
    const modelIds = new Set(served.flatMap((plugin) => plugin.models.map((model) => model.id)));
    const rest = simulated.filter((model) => !modelIds.has(model.id));
    // The sandbox comes first: otherwise a file could take over the name of a simulated model.
    const sandbox = served.length === 0 && !isUnreadable;
    return { plugins: [createSandbox(rest), ...served], sandbox, isConfigured };
  }
  if (isConfigured || setting === "off" || !isLoopback) return { plugins: served, sandbox: false, isConfigured };
  return { plugins: [createSandbox(simulated)], sandbox: true, isConfigured };
}

/** Whether the sandbox answers for a model. */
export function isOfSandbox({ routes }: Pick<ModelEntry, "routes">): boolean {
  return routes.some(({ plugin }) => plugin.name === "sandbox");
}

/** The models that the sandbox answers for: all of them, or those without a real provider with `SANDBOX=on`. */
export function countSimulated({ modelEntries }: { readonly modelEntries: Iterable<ModelEntry> }): number {
  return [...modelEntries].filter(isOfSandbox).length;
}
