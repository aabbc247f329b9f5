import type { Model, ProviderPlugin } from "../contract/index.ts";

/** What decides whether answers are simulated. */
export interface SandboxOptions {
  readonly setting: "on" | "off" | "auto";
  /** Whether only this machine can reach the gateway. */
  readonly isLoopback: boolean;
  /** Creates the plugin that simulates these models. */
  createSandbox(models: readonly Model[]): ProviderPlugin;
}

/** The plugins to serve. */
export interface Choice {
  readonly plugins: readonly ProviderPlugin[];
  /** Whether every answer is simulated. */
  readonly sandbox: boolean;
}

/**
 * Real plugins where there are credentials; the sandbox only when asked for, or alone on a loopback address.
 *
 * @returns No plugins when there is nothing to serve.
 */
export function choosePlugins(
  plugins: readonly ProviderPlugin[],
  hasKey: (plugin: ProviderPlugin) => boolean,
  { setting, isLoopback, createSandbox }: SandboxOptions,
): Choice {
  const served = plugins.filter((plugin) => plugin.credential === "none" || hasKey(plugin));
  if (setting === "on") {
    const real = new Set(served.flatMap((plugin) => plugin.models.map((model) => model.id)));
    const rest = plugins.flatMap((plugin) => plugin.models).filter((model) => !real.has(model.id));
    // First, so that a file does not take over a name of a simulated model.
    return { plugins: [createSandbox(rest), ...served], sandbox: served.length === 0 };
  }
  if (served.length > 0 || setting === "off" || !isLoopback) return { plugins: served, sandbox: false };
  return { plugins: [createSandbox(plugins.flatMap((plugin) => plugin.models))], sandbox: true };
}
