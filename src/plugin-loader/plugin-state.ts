import type { ProviderPlugin } from "../contract/index.ts";
import type { Registry } from "../kernel/index.ts";
import type { PluginFile } from "./plugin-files.ts";

/** What became of a plugin. */
export type PluginStatus =
  /** Its models can be asked. */
  | "serving"
  /** Its newest version was refused; the one before goes on serving. */
  | "previous"
  /** It is in order, but has no key. */
  | "no_credential"
  /** Its models are answered by the sandbox. */
  | "sandbox"
  /** It was refused and nothing of it serves. */
  | "refused";

/** One line of `modelgate plugin list`. */
export interface PluginState {
  readonly name: string;
  /** `built in`, or the file as sentences call it. */
  readonly origin: string;
  readonly status: PluginStatus;
  /** Of the serving version's files, eight characters; none when it is built in, which has the gateway's. */
  readonly version: string | null;
  readonly contract: number | null;
  readonly models: number;
  /** Models that have a route by this plugin now. */
  readonly routes: number;
  readonly keys: number;
  /** When the serving version was taken up, milliseconds since 1970. */
  readonly loaded_at: number | null;
  readonly error: string | null;
}

/** What is known of a plugin beside itself. */
export interface Facts {
  readonly keys: number;
  readonly sandbox: boolean;
  readonly error: string | undefined;
}

/** How many routes each plugin has, by its name. */
export function countRoutes(registry: Registry): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { routes } of registry.modelEntries) {
    for (const { plugin } of routes) counts.set(plugin.name, (counts.get(plugin.name) ?? 0) + 1);
  }
  return counts;
}

/** Describes a plugin that could be loaded. */
export function stateOf(
  plugin: ProviderPlugin,
  drop: PluginFile | undefined,
  routes: number,
  facts: Facts,
): PluginState {
  const { keys, sandbox, error } = facts;
  return {
    name: plugin.name,
    origin: drop === undefined ? "built in" : drop.source.label,
    status: statusOf(routes, facts, drop),
    version: drop?.version ?? null,
    contract: plugin.contractVersion,
    models: plugin.models.length,
    routes: sandbox ? 0 : routes,
    keys,
    loaded_at: drop?.loadedAt ?? null,
    error: error ?? null,
  };
}

/** Describes a file that is no plugin, or one that is not let in. */
export function refusedState(name: string, origin: string, error: string): PluginState {
  const none = { version: null, contract: null, models: 0, routes: 0, keys: 0, loaded_at: null };
  return { name, origin, status: "refused", ...none, error };
}

function statusOf(routes: number, { sandbox, error }: Facts, drop: PluginFile | undefined): PluginStatus {
  if (routes > 0) return error === undefined || drop === undefined ? "serving" : "previous";
  if (error !== undefined) return "refused";
  return sandbox ? "sandbox" : "no_credential";
}
