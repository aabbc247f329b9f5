import {
  type CompiledPrice,
  capabilityForms,
  GatewayError,
  type Model,
  type ProviderPlugin,
} from "../../contract/index.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { expectAllowed, mayUse } from "./allowed-models.ts";
import type { KeyPool, PluginHealth, RouteCircuit } from "./health.ts";
import { type FindOptions, findSuccessor } from "./succession.ts";
import type { Speeds, VirtualModel } from "./virtual-models.ts";

/** One way to serve a model: a plugin, its row for the model, and its keys. */
export interface Route {
  readonly plugin: ProviderPlugin;
  readonly model: Model;
  readonly baseUrl: string;
  /** Whether the operator set it in the environment, so that it may lead to a private address. */
  readonly isBaseUrlGiven?: boolean;
  readonly keys: KeyPool;
  /** Of the plugin's own code, shared by all its routes. */
  readonly health: PluginHealth;
  /** Of the provider's answers for this model. */
  readonly circuitBreaker: RouteCircuit;
}

/** Names of models are shorter; comparing a longer one with all of them would cost for nothing. */
const suggestedLengthMax = 80;

/** A model and the routes that serve it. */
export interface ModelEntry {
  readonly model: Model;
  readonly compiledPrice: CompiledPrice | undefined;
  /** By priority, the first to be tried first. */
  readonly routes: readonly Route[];
}

/** A model that may serve a call. */
export interface Candidate {
  /** What it was asked for by. */
  readonly name: string;
  readonly modelEntry: ModelEntry;
  /** It answers for the model of that name, which has ended. */
  readonly isSuccession?: boolean;
  /** Where its speed is kept; absent unless that decides the order. */
  readonly speeds?: Speeds | undefined;
}

/** What a client calls the model that answers: the name it asked for where that is one of the model's names, else the id. */
export function publicNameOf({ name, modelEntry: { model } }: { name?: string; modelEntry: ModelEntry }): string {
  return name !== undefined && model.aliases?.includes(name) === true ? name : model.id;
}

/** The models that may serve a call, the first to be tried first. */
export type Candidates = readonly [Candidate, ...Candidate[]];

/** All models that can be served. Immutable: a change makes a new registry. */
export class Registry {
  readonly #models: ReadonlyMap<string, ModelEntry>;
  readonly #byName: ReadonlyMap<string, ModelEntry>;
  /** The names that stand for several models, by id. */
  readonly virtualModels: ReadonlyMap<string, VirtualModel>;

  constructor(models: ReadonlyMap<string, ModelEntry>, virtualModels: ReadonlyMap<string, VirtualModel> = new Map()) {
    this.#models = models;
    this.virtualModels = virtualModels;
    const byName = new Map<string, ModelEntry>();
    for (const modelEntry of models.values()) {
      // The first model keeps an alias: a plugin file added later does not redirect a name that clients know.
      for (const alias of modelEntry.model.aliases ?? []) if (!byName.has(alias)) byName.set(alias, modelEntry);
    }
    for (const [id, modelEntry] of models) byName.set(id, modelEntry);
    this.#byName = byName;
  }

  /** Every model, in the order of the catalogue. */
  get modelEntries(): Iterable<ModelEntry> {
    return this.#models.values();
  }

  get size(): number {
    return this.#models.size;
  }

  /** The same models with these virtual ones. */
  withVirtual(virtualModels: ReadonlyMap<string, VirtualModel>): Registry {
    return new Registry(this.#models, virtualModels);
  }

  /** The model of an id or alias. */
  byName(name: string): ModelEntry | undefined {
    return this.#byName.get(name);
  }

  /**
   * The model of a request, or the one that answers for it since it has ended.
   *
   * @throws {GatewayError} `model_not_found` when it is unknown, has ended or has another capability,
   * `model_not_allowed` when the key or its account may not use it.
   */
  find(name: string, { capability, caller, openedAt, virtual }: FindOptions): ModelEntry {
    const asked = this.#byName.get(name);
    if (asked === undefined) {
      // Other gateways' names begin with the provider.
      const known = name.slice(name.lastIndexOf("/") + 1);
      const near = this.#byName.has(known) ? undefined : this.suggest(known, caller);
      const hint = this.#byName.has(known)
        ? `'${known}' does`
        : near === undefined
          ? "GET /models lists what does"
          : `did you mean '${near}'?`;
      const sentence = `The model '${name}' does not exist here; ${hint}`;
      throw new GatewayError("model_not_found", sentence, { param: "model" });
    }
    const modelEntry = findSuccessor(asked, openedAt, (other) => this.#byName.get(other));
    if (modelEntry.model.capability !== capability) {
      const sentence = `The model '${name}' is served at ${capabilityForms[modelEntry.model.capability].endpoint}, not at ${capabilityForms[capability].endpoint}`;
      throw new GatewayError("model_not_found", sentence, { param: "model" });
    }
    expectAllowed(caller, modelEntry.model.id, virtual);
    return modelEntry;
  }

  /** The name that a misspelt one was most likely meant to be, of those that the caller may use. */
  suggest(name: string, caller: FindOptions["caller"]): string | undefined {
    if (name.length > suggestedLengthMax) return undefined;
    const names = [...this.#byName].filter(([, { model }]) => mayUse(caller, model.id)).map(([each]) => each);
    return didYouMean(name, names);
  }
}

/** Lower is tried first. */
export function getPriority({ priority }: Model): number {
  return priority ?? 100;
}

/** The share among routes of one priority; 0 is tried only after the others. */
export function getWeight({ weight }: Model): number {
  return weight ?? 1;
}

export function isReady({ circuitBreaker, health }: Route, nowMs: number, account?: string): boolean {
  return circuitBreaker.isReady(nowMs, account) && health.isReady(nowMs, account);
}

/**
 * The order in which one call tries the routes: by priority, among equals drawn by weight. Routes with an open circuit
 * come last, because a last resort is better than a refusal. `random` gives a number from 0 to 1.
 */
export function orderRoutes(
  routes: readonly Route[],
  nowMs: number,
  random: (of: Route) => number,
  account?: string,
): readonly Route[] {
  if (routes.length === 1) return routes;
  const drawn = routes.map((route) => {
    const weight = getWeight(route.model);
    // Each place is drawn with the chance weight / sum of the weights left (Efraimidis and Spirakis, 2006).
    const draw = weight === 0 ? Number.NEGATIVE_INFINITY : Math.log(random(route)) / weight;
    return { route, draw, ready: isReady(route, nowMs, account), priority: getPriority(route.model) };
  });
  drawn.sort((a, b) => {
    if (a.ready !== b.ready) return a.ready ? -1 : 1;
    if (a.priority !== b.priority) return a.priority - b.priority;
    return a.draw === b.draw ? 0 : b.draw - a.draw;
  });
  return drawn.map(({ route }) => route);
}
