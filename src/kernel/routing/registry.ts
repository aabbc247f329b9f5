import {
  type Caller,
  type Capability,
  type CompiledPrice,
  compilePrice,
  endpointOf,
  GatewayError,
  type Model,
  type ProviderPlugin,
} from "../../contract/index.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";
import { KeyPool } from "./key-pool.ts";
import { PluginHealth } from "./plugin-health.ts";
import { priorityOf, routeBounds } from "./route-order.ts";

/** What an operator gave a plugin: its keys and perhaps another base URL. */
export interface Credential {
  keys: readonly string[];
  baseUrl?: string | undefined;
}

/** One way to serve a model: a plugin, its row for the model, and the keys in hand. */
export interface Route {
  readonly plugin: ProviderPlugin;
  readonly model: Model;
  readonly baseUrl: string;
  readonly keys: KeyPool;
  /** Whether the plugin works, of all its routes together. */
  readonly health: PluginHealth;
  /** Whether the provider answers for this model. */
  readonly circuitBreaker: CircuitBreaker;
}

/** What is known of a plugin's keys and health, carried from one registry to the next. */
interface Known {
  readonly plugin: ProviderPlugin;
  readonly keyText: string;
  readonly keys: KeyPool;
  readonly health: PluginHealth;
  /** By model id. */
  readonly circuits: ReadonlyMap<string, CircuitBreaker>;
}

/** What survives a new registry: keys that rest go on resting, a plugin that cools down goes on cooling. */
export type RegistryMemory = Map<string, Known>;

/** A model as it is sold: one row speaks for it, one or more routes serve it. */
export interface ModelEntry {
  readonly model: Model;
  readonly compiledPrice: CompiledPrice | undefined;
  /** By priority, the first to be tried first. */
  readonly routes: readonly Route[];
}

/** All that can be sold at one moment. Immutable: a change makes a new one. */
export class Registry {
  readonly #offers: ReadonlyMap<string, ModelEntry>;
  readonly #byName: ReadonlyMap<string, ModelEntry>;

  constructor(offers: ReadonlyMap<string, ModelEntry>) {
    this.#offers = offers;
    const byName = new Map<string, ModelEntry>();
    for (const modelEntry of offers.values()) {
      // The first to take a name keeps it: a file dropped in later does not turn a name clients know to another model.
      for (const alias of modelEntry.model.aliases ?? []) if (!byName.has(alias)) byName.set(alias, modelEntry);
    }
    for (const [id, modelEntry] of offers) byName.set(id, modelEntry);
    this.#byName = byName;
  }

  /** Every model on sale, in the order of the catalogue. */
  get offers(): Iterable<ModelEntry> {
    return this.#offers.values();
  }

  get size(): number {
    return this.#offers.size;
  }

  /** The offer of an id or alias. */
  byName(name: string): ModelEntry | undefined {
    return this.#byName.get(name);
  }

  /**
   * The offer a request asks for.
   *
   * @throws {GatewayError} `model_not_found` when it is unknown or has another capability, `model_not_allowed` when
   * the key may not use it.
   */
  find(name: string, capability: Capability, caller: Caller): ModelEntry {
    const modelEntry = this.#byName.get(name);
    if (modelEntry === undefined) {
      const sentence = `The model '${name}' does not exist here; GET /models lists what does`;
      throw new GatewayError("model_not_found", sentence, { param: "model" });
    }
    if (modelEntry.model.capability !== capability) {
      const sentence = `The model '${name}' is served at ${endpointOf[modelEntry.model.capability]}, not at ${endpointOf[capability]}`;
      throw new GatewayError("model_not_found", sentence, { param: "model" });
    }
    if (caller.allowedModels !== undefined && !caller.allowedModels.has(modelEntry.model.id)) {
      const sentence = `This API key may not use the model '${modelEntry.model.id}'; it may use: ${[...caller.allowedModels].join(", ")}`;
      throw new GatewayError("model_not_allowed", sentence, { param: "model" });
    }
    return modelEntry;
  }
}

/** A plugin that was left out, and a sentence why. */
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
 * Makes a registry of plugins that have credentials. A plugin whose row disagrees with an earlier one on what is sold
 * (capability or premium flag) is refused as a whole; the others go on.
 *
 * @param memory What the registry before knew of keys and health; written for the next one.
 */
export function buildRegistry(
  plugins: readonly ProviderPlugin[],
  credentialOf: (pluginName: string) => Credential | undefined,
  memory: RegistryMemory = new Map(),
): RegistryReport {
  const offers = new Map<string, ModelEntry>();
  const refused: Refusal[] = [];
  const names = new Set<string>();
  for (const plugin of plugins) {
    if (names.has(plugin.name)) {
      refused.push({ plugin, sentence: `Plugin '${plugin.name}' stands twice: rename one of the two` });
      continue;
    }
    names.add(plugin.name);
    const credential = credentialOf(plugin.name);
    if (plugin.credential === "key" && (credential === undefined || credential.keys.length === 0)) continue;
    const disagreement = plugin.models.map((model) => disagreementOf(plugin, model, offers)).find(Boolean);
    if (disagreement !== undefined) {
      refused.push({ plugin, sentence: disagreement });
      continue;
    }
    addRoutes(offers, plugin, credential, memory);
  }
  return { registry: new Registry(offers), refused };
}

function addRoutes(
  offers: Map<string, ModelEntry>,
  plugin: ProviderPlugin,
  credential: Credential | undefined,
  memory: RegistryMemory,
): void {
  const { keys, health, circuits } = recall(memory, plugin, credential?.keys ?? []);
  const baseUrl = (credential?.baseUrl ?? plugin.baseUrl).replace(/\/+$/, "");
  for (const model of plugin.models) {
    const circuitBreaker = circuits.get(model.id) as CircuitBreaker;
    const route: Route = { plugin, model, baseUrl, keys, health, circuitBreaker };
    const known = offers.get(model.id);
    if (known === undefined) {
      offers.set(model.id, { model, compiledPrice: model.price && compilePrice(model.price), routes: [route] });
      continue;
    }
    const routes = [...known.routes, route].sort((a, b) => priorityOf(a.model) - priorityOf(b.model));
    offers.set(model.id, { ...known, routes });
  }
}

/** The same keys rest on; a plugin that was changed is well until it shows otherwise. */
function recall(memory: RegistryMemory, plugin: ProviderPlugin, keys: readonly string[]): Known {
  const keyText = keys.join(",");
  const before = memory.get(plugin.name);
  const isSame = before?.plugin.handlers === plugin.handlers;
  const known: Known = {
    plugin,
    keyText,
    keys: before?.keyText === keyText ? before.keys : new KeyPool(keys),
    health: isSame ? before.health : new PluginHealth(),
    circuits: new Map(plugin.models.map(({ id }) => [id, circuitOf(id, isSame ? before : undefined)])),
  };
  memory.set(plugin.name, known);
  return known;
}

function circuitOf(modelId: string, before: Known | undefined): CircuitBreaker {
  const known = before?.circuits.get(modelId);
  return known === undefined ? new CircuitBreaker(routeBounds) : known;
}

function disagreementOf(plugin: ProviderPlugin, model: Model, offers: Map<string, ModelEntry>): string | undefined {
  const known = offers.get(model.id);
  if (known === undefined) return undefined;
  const [first] = known.routes;
  for (const field of ["capability", "premium"] as const) {
    if (known.model[field] === model[field]) continue;
    return `Plugin '${plugin.name}' sells '${model.id}' with ${field} ${model[field]}, but plugin '${first?.plugin.name}' with ${known.model[field]}: make the two rows agree`;
  }
  return undefined;
}
