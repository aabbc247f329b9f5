import { compilePrice, type Model, type ModelParts, type ProviderPlugin } from "../../contract/index.ts";
import { type CircuitBreakerOptions, type CircuitState, KeyPool, PluginHealth, RouteCircuit } from "./health.ts";
import { findOwners, findTakenName } from "./model-names.ts";
import { getPriority, getWeight, type ModelEntry, Registry, type Route } from "./registry.ts";

/** Five failures in half a minute, at least half of the attempts: a provider that is down is avoided quickly. */
export const routeCircuitOptions: CircuitBreakerOptions = {
  failuresMin: 5,
  windowMs: 30_000,
  openMs: 15_000,
  openMsMax: 240_000,
};

/** What an operator configured for a plugin: its keys and perhaps another base URL. */
export interface Credential {
  keys: readonly string[];
  baseUrl?: string | undefined;
}

/** What is known of a plugin's keys and health, carried from one registry to the next. */
interface PluginState {
  readonly plugin: ProviderPlugin;
  readonly keyText: string;
  readonly keys: KeyPool;
  readonly health: PluginHealth;
  /** By model id. */
  readonly circuits: ReadonlyMap<string, RouteCircuit>;
}

/** What survives a new registry: paused keys, open circuits, and which model each name is for. */
export interface RegistryMemory extends Map<string, PluginState> {
  /** The registry in use. */
  registry?: Registry;
}

/** A plugin that was left out, and why. */
export interface Refusal {
  readonly plugin: ProviderPlugin;
  readonly sentence: string;
}

/** A registry and what was left out of it. */
export interface RegistryReport {
  registry: Registry;
  refused: Refusal[];
}

/**
 * Creates a registry of the plugins that have credentials. A plugin whose row disagrees with an earlier one (capability
 * or premium flag), or has a name that is another model's, is refused as a whole; the others are not affected.
 *
 * @param memory The state of keys and circuits from the registry before; updated for the next one.
 * @param labelOf What sentences call a plugin: its file.
 */
export function buildRegistry(
  plugins: readonly ProviderPlugin[],
  credentialOf: (pluginName: string) => Credential | undefined,
  memory: RegistryMemory = new Map(),
  labelOf: (pluginName: string) => string = (name) => `plugin '${name}'`,
): RegistryReport {
  const models = new Map<string, ModelEntry>();
  const refused: Refusal[] = [];
  const names = new Set<string>();
  const hasKeys = ({ name, credential }: ProviderPlugin) => credential === "none" || !!credentialOf(name)?.keys.length;
  const owners = findOwners(plugins.filter(hasKeys), (name) => memory.registry?.byName(name)?.model.id);
  for (const plugin of plugins) {
    if (names.has(plugin.name)) {
      refused.push({ plugin, sentence: `Plugin '${plugin.name}' exists twice: rename one of the two` });
      continue;
    }
    names.add(plugin.name);
    if (!hasKeys(plugin)) continue;
    const disagreement = plugin.models
      .map((model) => findDisagreement(plugin, model, models) ?? findTakenName(plugin, model, owners, labelOf))
      .find(Boolean);
    if (disagreement !== undefined) {
      refused.push({ plugin, sentence: disagreement });
      continue;
    }
    addRoutes(models, plugin, credentialOf(plugin.name), memory);
  }
  return { registry: new Registry(models), refused };
}

function addRoutes(
  models: Map<string, ModelEntry>,
  plugin: ProviderPlugin,
  credential: Credential | undefined,
  memory: RegistryMemory,
): void {
  const { keys, health, circuits } = recall(memory, plugin, credential?.keys ?? []);
  const baseUrl = (credential?.baseUrl ?? plugin.baseUrl).replace(/\/+$/, "");
  const isBaseUrlGiven = credential?.baseUrl !== undefined;
  for (const model of plugin.models) {
    const circuitBreaker = circuits.get(model.id) as RouteCircuit;
    const route: Route = {
      plugin: toOwnPlugin(plugin, model),
      model,
      baseUrl,
      isBaseUrlGiven,
      keys,
      health,
      circuitBreaker,
    };
    const known = models.get(model.id);
    if (known === undefined) {
      models.set(model.id, { model, compiledPrice: model.price && compilePrice(model.price), routes: [route] });
      continue;
    }
    const routes = [...known.routes, route].sort((a, b) => getPriority(a.model) - getPriority(b.model));
    models.set(model.id, { ...known, routes });
  }
}

/** The plugins of a provider that speaks several protocols, by the parts that differ. */
const ownPlugins = new WeakMap<ProviderPlugin, Map<ModelParts, ProviderPlugin>>();

/** The plugin as it serves a model. */
function toOwnPlugin(plugin: ProviderPlugin, model: Model): ProviderPlugin {
  const parts = plugin.forModel?.(model);
  if (parts === undefined) return plugin;
  const known = ownPlugins.get(plugin) ?? new Map<ModelParts, ProviderPlugin>();
  ownPlugins.set(plugin, known);
  const own = known.get(parts) ?? Object.freeze({ ...plugin, ...parts });
  known.set(parts, own);
  return own;
}

/** The same keys keep their state; a changed plugin starts with closed circuits. */
function recall(memory: RegistryMemory, plugin: ProviderPlugin, keys: readonly string[]): PluginState {
  const keyText = keys.join(",");
  const before = memory.get(plugin.name);
  const isSame = before?.plugin.handlers === plugin.handlers;
  const state: PluginState = {
    plugin,
    keyText,
    keys: before?.keyText === keyText ? before.keys : new KeyPool(keys),
    health: isSame ? before.health : new PluginHealth(),
    circuits: new Map(plugin.models.map(({ id }) => [id, recallCircuit(id, isSame ? before : undefined)])),
  };
  memory.set(plugin.name, state);
  return state;
}

function recallCircuit(modelId: string, before: PluginState | undefined): RouteCircuit {
  const known = before?.circuits.get(modelId);
  return known === undefined ? new RouteCircuit(routeCircuitOptions) : known;
}

function findDisagreement(plugin: ProviderPlugin, model: Model, models: Map<string, ModelEntry>): string | undefined {
  const known = models.get(model.id);
  if (known === undefined) return undefined;
  const [first] = known.routes;
  for (const field of ["capability", "premium"] as const) {
    if (known.model[field] === model[field]) continue;
    return `Plugin '${plugin.name}' sells '${model.id}' with ${field} ${model[field]}, but plugin '${first?.plugin.name}' with ${known.model[field]}: make the two rows agree`;
  }
  return undefined;
}

/** One route of a model as a caller may see it: no keys and no addresses. */
export interface RouteState {
  plugin: string;
  priority: number;
  weight: number;
  state: CircuitState;
}

/** The routes of a model, the first to be tried first. */
export function describeRoutes({ routes }: ModelEntry, nowMs: number): RouteState[] {
  return routes.map(({ plugin, model, circuitBreaker, health, keys }) => {
    const isWithoutKey = keys.size > 0 && keys.readyAt(nowMs) === 0;
    const state = health.stateAt(nowMs) === "open" || isWithoutKey ? "open" : circuitBreaker.stateAt(nowMs);
    return { plugin: plugin.name, priority: getPriority(model), weight: getWeight(model), state };
  });
}
