import { nameKeyVariables } from "../config/index.ts";
import type { Registry } from "../kernel/index.ts";
import type { ProviderPlugin } from "../provider/index.ts";
import { isSimulated } from "./choose-plugins.ts";
import type { PluginFile } from "./plugin-files.ts";

/** The status of a plugin. */
export type PluginStatus =
  /** Its models can be called. */
  | "serving"
  /** Its newest version was refused; the one before still serves. */
  | "previous"
  /** It is valid, but has no key. */
  | "no_credential"
  /** It has a key or needs none, but no model: its server has not listed any yet, or all of its rows are disabled. */
  | "no_models"
  /** An administrator disabled it. */
  | "disabled"
  /** Its models are answered by the sandbox. */
  | "sandbox"
  /** It was refused, and no version of it serves. */
  | "refused";

/** One line of `modelgate plugin list`. */
export interface PluginState {
  readonly name: string;
  /** `built in`, or the file as messages name it. */
  readonly origin: string;
  readonly status: PluginStatus;
  /** Hash of the serving version's files, eight characters; `null` when it is built in. */
  readonly version: string | null;
  readonly contract: number | null;
  readonly models: number;
  /** Models that have a route through this plugin now. */
  readonly routes: number;
  readonly keys: number;
  /** When the serving version was loaded, milliseconds since 1970. */
  readonly loaded_at: number | null;
  readonly error: string | null;
}

/** How many routes each plugin has, by its name. */
export function countRoutes(registry: Registry): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { routes } of registry.modelEntries) {
    for (const { plugin } of routes) counts.set(plugin.name, (counts.get(plugin.name) ?? 0) + 1);
  }
  return counts;
}

interface PluginFacts {
  readonly plugin: ProviderPlugin;
  /** Absent when the plugin is compiled in. */
  readonly file: PluginFile | undefined;
  readonly routes: number;
  readonly keys: number;
  /** Whether it needs no key, or has one. */
  readonly hasKey: boolean;
  /** Whether the sandbox answers for it. */
  readonly sandbox: boolean;
  readonly enabled: boolean;
  readonly error: string | undefined;
}

/** Describes a plugin that could be loaded. */
export function describePlugin(facts: PluginFacts): PluginState {
  const { plugin, file, routes, keys, sandbox, enabled, error } = facts;
  const active = error === undefined || file === undefined ? "serving" : "previous";
  return {
    name: plugin.name,
    origin: file === undefined ? "built in" : file.source.label,
    status: routes > 0 ? active : toIdleStatus(facts),
    version: file?.version ?? null,
    contract: plugin.contractVersion,
    models: plugin.models.length,
    routes: sandbox || !enabled ? 0 : routes,
    keys,
    loaded_at: file?.loadedAt ?? null,
    error: error ?? null,
  };
}

function toIdleStatus({ plugin, hasKey, sandbox, enabled, error }: PluginFacts): PluginStatus {
  if (error !== undefined) return "refused";
  if (!enabled) return "disabled";
  if (sandbox && isSimulated(plugin)) return "sandbox";
  return hasKey ? "no_models" : "no_credential";
}

/** Describes a file that is not a plugin, or is not accepted. */
export function describeRefused(name: string, origin: string, error: string): PluginState {
  const none = { version: null, contract: null, models: 0, routes: 0, keys: 0, loaded_at: null };
  return { name, origin, status: "refused", ...none, error };
}

export function explainMissingKey(
  plugin: Pick<ProviderPlugin, "name" | "credential" | "environment">,
  origin: string,
): string {
  if (plugin.environment === false) return `Cannot serve ${origin}: it has no key; add one on the page Providers`;
  const variables = nameKeyVariables(plugin);
  const remedy = `add one on the page Providers, set ${variables} and start again, or credential to none in the plugin`;
  return `Cannot serve ${origin}: it has no key; ${remedy}`;
}

export function explainUnreadableKeys(name: string): string {
  const remedy = "start it with the SECRETS_KEY, or the file secrets.key, that encrypted them";
  return `Cannot serve ${name}: this gateway cannot read its stored API keys; ${remedy}`;
}
