/**
 * The models, their routes, the keys that may use them, and the order of the models that a call tries. A change of
 * plugins, keys or settings builds a new registry. A registry never changes: a call ends on the one that it began with.
 */
import {
  type Caller,
  type Capability,
  type CompiledPrice,
  capabilityForms,
  compilePrice,
  GatewayError,
  withMarkup,
} from "../../contract/index.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import {
  getDisplayName,
  isEnded,
  type Model,
  type ModelParts,
  membersMax,
  type Policy,
  type ProviderPlugin,
} from "../../provider/index.ts";
import { type PolicyRule, PolicyRules } from "../policies/policy-rules.ts";
import {
  type CircuitBreakerOptions,
  type CircuitState,
  cacheOwnerOf,
  KeyPool,
  PluginHealth,
  RouteCircuit,
} from "./circuits.ts";
import { type Reroute, Reroutes, type UnservedModel } from "./reroutes.ts";
import { orderMembers, type Speeds, type VirtualModel } from "./virtual-models.ts";

type Lists = Pick<Caller, "allowedModels" | "accountModels">;

/**
 * Whether the lists of both the key and its account allow a model.
 *
 * @param virtual The virtual model that the request named: a list with its name allows all its members.
 */
export function mayUse({ allowedModels, accountModels }: Lists, id: string, virtual?: string): boolean {
  return has(allowedModels, id, virtual) && has(accountModels, id, virtual);
}

/** Models of a list that an error names. */
const listedMax = 20;

/**
 * @param options `name` is what the client asked for, and `nameOf` what it may write for an id; absent: the ids.
 * @throws {GatewayError} `model_not_allowed`, naming what the list has that lacks it.
 */
export function expectAllowed(
  caller: Lists & Pick<Partial<Caller>, "token">,
  id: string,
  {
    virtual,
    name = id,
    nameOf = String,
  }: { virtual?: string | undefined; name?: string; nameOf?: (id: string) => string } = {},
): void {
  if (mayUse(caller, id, virtual)) return;
  const { allowedModels, accountModels, token } = caller;
  const ofKey = token === undefined ? "API key" : "token";
  const [who, list] = has(allowedModels, id, virtual) ? ["account", accountModels] : [ofKey, allowedModels];
  const names = [...(list ?? [])];
  const rest = names.length > listedMax ? ` and ${names.length - listedMax} more` : "";
  const listed = names.length === 0 ? "no model" : `${names.slice(0, listedMax).map(nameOf).join(", ")}${rest}`;
  const message = `This ${who} may not use the model '${name}'; it may use: ${listed}`;
  throw new GatewayError("model_not_allowed", message, { param: "model" });
}

function has(list: ReadonlySet<string> | undefined, id: string, virtual: string | undefined): boolean {
  return list === undefined || list.has(id) || (virtual !== undefined && list.has(virtual));
}

/** Fields of a call that select its model. */
export interface FindOptions {
  readonly capability: Capability;
  readonly caller: Caller;
  /** Milliseconds since 1970. */
  readonly openedAt: number;
  /** The id of the virtual model that the request named. */
  readonly virtual?: string | undefined;
}

/** Maximum length of a chain of successors; a longer chain is a circle. */
const successionMax = 8;

/**
 * The model that answers for a requested model: the model itself or, once it has ended, the successor that its row
 * sets.
 *
 * @throws {GatewayError} `model_not_found` naming the successor, when the model has ended and nothing answers for it.
 */
function findSuccessor<Entry extends { readonly model: Model }>(
  requested: Entry,
  nowMs: number,
  byName: (name: string) => Entry | undefined,
): Entry {
  let entry = requested;
  for (let step = 0; isEnded(entry.model, nowMs); step++) {
    const { successor, whenRetired } = entry.model;
    const next = whenRetired === "successor" && successor !== undefined ? byName(successor) : undefined;
    if (next === undefined || step === successionMax) throw describeEnd(entry.model);
    entry = next;
  }
  return entry;
}

/** Why a model is no longer served, and what to ask for instead. */
function describeEnd({ id, retiredOn, successor }: Model): GatewayError {
  const advice = successor === undefined ? "GET /models lists the available models" : `use '${successor}' instead`;
  const message = `The model '${id}' was retired by its provider on ${retiredOn}; ${advice}`;
  return new GatewayError("model_not_found", message, { param: "model" });
}

/** One way to serve a model: a plugin, its row for the model, and its keys. */
export interface Route {
  readonly plugin: ProviderPlugin;
  readonly model: Model;
  readonly baseUrl: string;
  /** Whether the operator set the base URL in the environment; it may then lead to a private address. */
  readonly isBaseUrlGiven?: boolean;
  readonly keys: KeyPool;
  /** Health of the plugin's own code, shared by all its routes. */
  readonly health: PluginHealth;
  /** Circuit breaker of the provider's answers for this model. */
  readonly circuitBreaker: RouteCircuit;
}

/**
 * Maximum length of a name to suggest a model for. Names of models are shorter, so comparing a longer name with all of
 * them is wasted work.
 */
const suggestedLengthMax = 80;

/** A model and the routes that serve it. */
export interface ModelEntry {
  readonly model: Model;
  /** The price for accounts without a markup of their own: with the markup of the model, its provider or the gateway. */
  readonly compiledPrice: CompiledPrice | undefined;
  /** The markup of that price, in basis points, without compiling it; absent: none. */
  readonly markupBasisPoints?: number;
  /** Routes by priority; the first is tried first. */
  readonly routes: readonly Route[];
}

/** The price of a model for an account. */
export function priceFor(
  { compiledPrice }: Pick<ModelEntry, "compiledPrice">,
  { markupBasisPoints }: Pick<Caller, "markupBasisPoints">,
): CompiledPrice | undefined {
  if (compiledPrice === undefined || markupBasisPoints === undefined) return compiledPrice;
  return withMarkup(compiledPrice, markupBasisPoints);
}

/** The markups for accounts without their own, in basis points. */
export interface Markups {
  /** Absent: none. */
  readonly gateway: number | undefined;
  /** The name of each provider with its markup. */
  readonly providers: ReadonlyMap<string, number>;
}

/** The provider whose price is in force for a model. */
function pricedBy({ model, routes }: Pick<ModelEntry, "model" | "routes">): string | undefined {
  return (routes.find((route) => route.model === model) ?? routes[0])?.plugin.name;
}

/** A model that may serve a call. */
export interface Candidate {
  /** Name that the client requested. */
  readonly name: string;
  readonly modelEntry: ModelEntry;
  /** It answers for the model of that name, which has ended. */
  readonly isSuccession?: boolean;
  /** It answers for another model by the operator's order. */
  readonly isReroute?: boolean;
  /** Where its speed is kept; absent unless that decides the order. */
  readonly speeds?: Speeds | undefined;
}

/**
 * Name of the answering model for the client: the name that was requested if that is one of the model's names, else the
 * id.
 */
export function publicNameOf({ name, modelEntry: { model } }: { name?: string; modelEntry: ModelEntry }): string {
  return name !== undefined && model.aliases?.includes(name) === true ? name : model.id;
}

/**
 * The error for a name that nothing serves now, although it is known: its provider lacks a key, or does not answer yet.
 * `undefined` for a name that nobody knows, or that the caller may not use.
 */
export type ExplainAbsence = (name: string, caller: Caller) => GatewayError | undefined;

/** The models that may serve a call, the first to be tried first. */
export type Candidates = readonly [Candidate, ...Candidate[]];

/** The parts of a registry besides its models. */
interface RegistryParts {
  readonly virtualModels?: ReadonlyMap<string, VirtualModel>;
  readonly explainAbsence?: ExplainAbsence | undefined;
  readonly reroutes?: Reroutes;
  readonly unserved?: ReadonlyMap<string, UnservedModel>;
  readonly policies?: PolicyRules | undefined;
}

/** All models that can be served. Immutable: a change makes a new registry. */
export class Registry {
  readonly #models: ReadonlyMap<string, ModelEntry>;
  readonly #byName: ReadonlyMap<string, ModelEntry>;
  /** The names that stand for several models, by id. */
  readonly virtualModels: ReadonlyMap<string, VirtualModel>;
  readonly #explainAbsence: ExplainAbsence | undefined;
  readonly #reroutes: Reroutes;
  /** Models that nothing serves now, by their names: a re-route may answer for them. */
  readonly #unserved: ReadonlyMap<string, UnservedModel>;
  /** The policies of calls; absent: no call has one. */
  readonly policies: PolicyRules | undefined;

  constructor(
    models: ReadonlyMap<string, ModelEntry>,
    {
      virtualModels = new Map(),
      explainAbsence,
      reroutes = new Reroutes(),
      unserved = new Map(),
      policies,
    }: RegistryParts = {},
  ) {
    this.#models = models;
    this.virtualModels = virtualModels;
    this.#explainAbsence = explainAbsence;
    this.#reroutes = reroutes;
    this.#unserved = unserved;
    this.policies = policies;
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

  /** Returns a registry with the same models and these virtual models. */
  withVirtual(virtualModels: ReadonlyMap<string, VirtualModel>): Registry {
    return this.#with({ virtualModels });
  }

  /** Returns a registry with the same models and the errors for known models that are not served. */
  withAbsence(explainAbsence: ExplainAbsence): Registry {
    return this.#with({ explainAbsence });
  }

  /**
   * Returns a registry with the same models and these re-routes.
   *
   * @param plugins All plugins: a re-route may answer for a model whose provider is disabled or has no key.
   */
  withReroutes(reroutes: readonly Reroute[], plugins: readonly ProviderPlugin[]): Registry {
    const unserved = new Map<string, UnservedModel>();
    if (reroutes.length > 0) {
      for (const { name: provider, models } of plugins) {
        for (const model of models) {
          for (const name of [model.id, ...(model.aliases ?? [])]) {
            const providers = [...(unserved.get(name)?.providers ?? []), provider];
            if (!this.#byName.has(name)) unserved.set(name, { model: unserved.get(name)?.model ?? model, providers });
          }
        }
      }
    }
    return this.#with({ reroutes: new Reroutes(reroutes), unserved });
  }

  /** Returns a registry with the same models, whose prices have these markups. */
  withMarkups({ gateway, providers }: Markups): Registry {
    if (gateway === undefined && providers.size === 0) return this;
    const models = [...this.#models].map(([id, entry]) => {
      const basisPoints = providers.get(pricedBy(entry) ?? "") ?? gateway;
      return [id, createEntry(entry.model, entry.routes, basisPoints)] as const;
    });
    return this.#with({}, new Map(models));
  }

  /** Returns a registry with the same models, whose calls have these policies. */
  withPolicies(rules: readonly PolicyRule[], policies: ReadonlyMap<string, Policy>): Registry {
    return rules.length === 0 ? this : this.#with({ policies: new PolicyRules(rules, policies) });
  }

  #with(parts: RegistryParts, models = this.#models): Registry {
    const { virtualModels, policies } = this;
    const own = { virtualModels, policies, explainAbsence: this.#explainAbsence, reroutes: this.#reroutes };
    return new Registry(models, { ...own, unserved: this.#unserved, ...parts });
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
    const requested = this.#byName.get(name);
    if (requested === undefined) throw this.describeUnknown(name, caller);
    const modelEntry = findSuccessor(requested, openedAt, (other) => this.#byName.get(other));
    const { also } = capabilityForms[capability];
    if (modelEntry.model.capability !== (also?.of ?? capability)) {
      const message = `The model '${name}' is served at ${capabilityForms[modelEntry.model.capability].endpoint}, not at ${capabilityForms[capability].endpoint}`;
      throw new GatewayError("model_not_found", message, { param: "model" });
    }
    const { id } = modelEntry.model;
    if (!mayUse(caller, id, virtual)) {
      const nameOf = (listed: string) => {
        const model = this.#byName.get(listed)?.model;
        return model === undefined ? listed : getDisplayName(model);
      };
      const shownName = modelEntry === requested ? name : nameOf(id);
      expectAllowed(caller, id, { virtual, name: shownName, nameOf });
    }
    if (also !== undefined && !isServedAlso(modelEntry, capability)) {
      const able = [...this.#models.values()].filter((other) => isServedAlso(other, capability));
      const names = able.slice(0, namedMax).map(({ model }) => getDisplayName(model));
      const advice = names.length === 0 ? "no other model here is either" : `models that are: ${names.join(", ")}`;
      const message = `The model '${name}' is not served at ${capabilityForms[capability].endpoint}; ${advice}`;
      throw new GatewayError("model_not_found", message, { param: "model" });
    }
    return modelEntry;
  }

  /**
   * The models that answer a request for a model, in the order of tries: first its re-route's, then the model
   * itself, which serves what they cannot.
   *
   * @throws {GatewayError} As {@link find} does. The lists of the key and its account are about the requested model.
   */
  resolve(name: string, options: FindOptions): readonly Candidate[] {
    const requested = this.#byName.get(name);
    if (requested === undefined) {
      const unserved = this.#unserved.get(name);
      const target =
        unserved && this.#findTarget(this.#findReroute(unserved.model.id, unserved.providers, options), options);
      if (unserved === undefined || target === undefined) throw this.describeUnknown(name, options.caller);
      expectAllowed(options.caller, unserved.model.id, { virtual: options.virtual, name });
      return [target];
    }
    const modelEntry = this.find(name, options);
    const own: Candidate = { name, modelEntry, isSuccession: modelEntry !== requested };
    if (this.#reroutes.isEmpty) return [own];
    const { id } = modelEntry.model;
    const providers = modelEntry.routes.map(({ plugin }) => plugin.name);
    const reroute = this.#findReroute(id, providers, options);
    if (reroute === undefined) return [own];
    const target = this.#findTarget(reroute, options);
    const targets = target === undefined || target.modelEntry.model.id === id ? [] : [target];
    if (reroute.subject === "model") return [...targets, own];
    const [kept, avoided] = this.#splitRoutes(modelEntry, options);
    const others = kept.some((route) => canServe(route, options.capability))
      ? [{ ...own, modelEntry: { ...modelEntry, routes: kept } }]
      : [];
    return [...others, ...targets, { ...own, modelEntry: { ...modelEntry, routes: avoided } }];
  }

  /** The re-route of a model: its own, or one of its providers'. */
  #findReroute(id: string, providers: readonly string[], { openedAt }: FindOptions): Reroute | undefined {
    const own = this.#reroutes.find("model", id, openedAt);
    if (own !== undefined) return own;
    const ofProviders = providers.flatMap((name) => this.#reroutes.find("provider", name, openedAt) ?? []);
    return ofProviders.find(({ toModel }) => toModel !== undefined) ?? ofProviders[0];
  }

  /** The model that a re-route names; `undefined` if it cannot serve the endpoint now. It is not re-routed again. */
  #findTarget(reroute: Reroute | undefined, options: FindOptions): Candidate | undefined {
    const modelEntry = reroute?.toModel === undefined ? undefined : this.#models.get(reroute.toModel);
    if (modelEntry === undefined || isEnded(modelEntry.model, options.openedAt)) return undefined;
    const { model } = modelEntry;
    const { also } = capabilityForms[options.capability];
    const isServed =
      also === undefined ? model.capability === options.capability : isServedAlso(modelEntry, options.capability);
    if (!isServed) return undefined;
    const [kept] = this.#splitRoutes(modelEntry, options);
    const routes = kept.length === 0 ? modelEntry.routes : kept;
    return { name: getDisplayName(model), modelEntry: { ...modelEntry, routes }, isReroute: true };
  }

  /** The routes of a model, and apart from them the routes of re-routed providers. */
  #splitRoutes({ routes }: ModelEntry, { openedAt }: FindOptions): [Route[], Route[]] {
    const isAvoided = ({ plugin }: Route) => this.#reroutes.find("provider", plugin.name, openedAt) !== undefined;
    return [routes.filter((route) => !isAvoided(route)), routes.filter(isAvoided)];
  }

  /** The error for a name that no model has: why its model is not served, or which name was most likely meant. */
  describeUnknown(name: string, caller: Caller): GatewayError {
    const absence = this.#explainAbsence?.(name, caller);
    if (absence !== undefined) return absence;
    // Other gateways' names begin with the provider.
    const suffix = name.slice(name.lastIndexOf("/") + 1);
    const near = this.#byName.has(suffix) ? undefined : this.#suggest(suffix, caller);
    const hint = this.#byName.has(suffix)
      ? `'${suffix}' does`
      : near === undefined
        ? "GET /models lists the available models"
        : `did you mean '${near}'?`;
    const message = `The model '${name}' does not exist here; ${hint}`;
    return new GatewayError("model_not_found", message, { param: "model" });
  }

  /** The name that a misspelt one was most likely meant to be, of those that the caller may use. */
  #suggest(name: string, caller: Caller): string | undefined {
    if (name.length > suggestedLengthMax) return undefined;
    const names = [...this.#byName].filter(([, { model }]) => mayUse(caller, model.id)).map(([each]) => each);
    return didYouMean(name, names);
  }
}

/** How many other models an error names. */
const namedMax = 3;

/** Whether a model is served at a further endpoint: one of its plugins can, and by its row the model can too. */
function isServedAlso({ model, routes }: ModelEntry, capability: Capability): boolean {
  const { also } = capabilityForms[capability];
  if (also === undefined || model.capability !== also.of) return false;
  return (
    (model.features?.includes(also.feature) ?? also.declared !== true) &&
    routes.some((route) => canServe(route, capability))
  );
}

export function canServe({ plugin }: Pick<Route, "plugin">, capability: Capability): boolean {
  return plugin.handlers[capability] !== undefined;
}

/** Lower is tried first. */
function getPriority({ priority }: Model): number {
  return priority ?? 100;
}

/** The share among routes of one priority; 0 is tried only after the others. */
function getWeight({ weight }: Model): number {
  return weight ?? 1;
}

function isReady({ circuitBreaker, health }: Route, nowMs: number, account?: string): boolean {
  return circuitBreaker.isReady(nowMs, account) && health.isReady(nowMs, account);
}

/** How long a route takes no call of an account, in milliseconds: it keeps failing, and one call at a time finds out whether it still does. */
export function pausedForMs({ circuitBreaker, health }: Route, nowMs: number, account: string): number {
  return Math.max(circuitBreaker.pausedForMs(nowMs, account), health.pausedForMs(nowMs, account));
}

/**
 * Sorts the routes in the order one call tries them: by priority, and routes of equal priority drawn by weight. Routes
 * with an open circuit come last. `random` returns a number from 0 to 1.
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

/** The model that a name is for, and the plugin that says so. */
interface Owner {
  readonly id: string;
  readonly plugin: string;
}

/** The model of each id and alias: the one that has it now, by `currentId`, else the first one's. */
function findOwners(
  plugins: readonly ProviderPlugin[],
  currentId: (name: string) => string | undefined,
): Map<string, Owner> {
  const owners = new Map<string, Owner>();
  for (const plugin of plugins) {
    for (const { id, aliases = [] } of plugin.models) {
      for (const name of [id, ...aliases]) {
        const owner = owners.get(name);
        const isKept = owner?.id !== id && currentId(name) === id;
        if (owner === undefined || isKept) owners.set(name, { id, plugin: plugin.name });
      }
    }
  }
  return owners;
}

/** A file that is added must not redirect a name that clients know. */
function findTakenName(
  plugin: ProviderPlugin,
  { id, aliases = [] }: Model,
  owners: ReadonlyMap<string, Owner>,
  labelOf: (pluginName: string) => string,
): string | undefined {
  for (const name of [id, ...aliases]) {
    const owner = owners.get(name);
    if (owner === undefined || owner.id === id) continue;
    const own = name === id ? "the id" : "an alias";
    const description = name === owner.id ? "the id of a model" : `an alias of '${owner.id}'`;
    return `Plugin '${plugin.name}' has '${name}' as ${own} of a model, but it is ${description} in ${labelOf(owner.plugin)}: rename one of the two`;
  }
  return undefined;
}

/** Five failures in half a minute, at least half of the attempts: a provider that is down is avoided quickly. */
export const routeCircuitOptions: CircuitBreakerOptions = {
  failuresMin: 5,
  windowMs: 30_000,
  openMs: 15_000,
  openMsMax: 240_000,
};

/** An operator's configuration of a plugin: its keys and perhaps another base URL. */
export interface Credential {
  keys: readonly string[];
  baseUrl?: string | undefined;
}

/** How long a route takes no call of anybody, in milliseconds; 0 while it takes some. */
export function openForMs({ circuitBreaker, health, keys }: Route, nowMs: number): number {
  return Math.max(circuitBreaker.openForMs(nowMs), health.openForMs(nowMs), keys.openForMs(nowMs));
}

/** State of a plugin's keys and health, carried from one registry to the next. */
interface PluginState {
  readonly plugin: ProviderPlugin;
  readonly keyText: string;
  readonly keys: KeyPool;
  readonly health: PluginHealth;
  /** Circuit breakers by model id. */
  readonly circuits: ReadonlyMap<string, RouteCircuit>;
}

/** State that survives a new registry: paused keys, open circuits, and which model each name is for. */
export interface RegistryMemory extends Map<string, PluginState> {
  /** The registry in use. */
  registry?: Registry;
}

/** A plugin that was left out, and why. */
export interface Refusal {
  readonly plugin: ProviderPlugin;
  readonly message: string;
}

/** A registry and what was left out of it. */
export interface RegistryReport {
  registry: Registry;
  refused: Refusal[];
}

/**
 * Creates a registry of the plugins that have credentials. A plugin is refused as a whole if one of its rows disagrees
 * with an earlier row (capability or premium flag), or has a name of another model. The other plugins are not affected.
 *
 * @param memory The state of keys and circuits from the previous registry; updated for the next one.
 * @param labelOf Returns the name of a plugin in messages: its file.
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
      refused.push({ plugin, message: `Plugin '${plugin.name}' exists twice: rename one of the two` });
      continue;
    }
    names.add(plugin.name);
    if (!hasKeys(plugin)) continue;
    const disagreement = plugin.models
      .map((model) => findDisagreement(plugin, model, models) ?? findTakenName(plugin, model, owners, labelOf))
      .find(Boolean);
    if (disagreement !== undefined) {
      refused.push({ plugin, message: disagreement });
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
    const candidate = models.get(model.id);
    if (candidate === undefined) {
      models.set(model.id, createEntry(model, [route]));
      continue;
    }
    const routes = [...candidate.routes, route].sort((a, b) => getPriority(a.model) - getPriority(b.model));
    models.set(model.id, createEntry(candidate.model, routes));
  }
}

function createEntry(model: Model, routes: readonly Route[], markup = 0): ModelEntry {
  const { markupPercent } = model.price ?? {};
  const markupBasisPoints = markupPercent === undefined ? markup : markupPercent * 100;
  return {
    model,
    markupBasisPoints,
    // Compiled at its first use: most models are never called.
    get compiledPrice() {
      return model.price && withMarkup(compilePrice(model.price), markupBasisPoints);
    },
    routes,
  };
}

/** The plugins of a provider that speaks several protocols, by the parts that differ. */
const ownPlugins = new WeakMap<ProviderPlugin, Map<ModelParts, ProviderPlugin>>();

/** The plugin as it serves a model. */
function toOwnPlugin(plugin: ProviderPlugin, model: Model): ProviderPlugin {
  const parts = plugin.forModel?.(model);
  if (parts === undefined) return plugin;
  const variants = ownPlugins.get(plugin) ?? new Map<ModelParts, ProviderPlugin>();
  ownPlugins.set(plugin, variants);
  const own = variants.get(parts) ?? Object.freeze({ ...plugin, ...parts });
  variants.set(parts, own);
  return own;
}

/** Restores the state of a plugin. Unchanged keys keep their state; a changed plugin starts with closed circuits. */
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

/** The circuits that an operator closes: those of a plugin, or of one of its models. */
export interface ResumedRoutes {
  readonly plugin: string;
  /** The id of a model; absent: all. */
  readonly model?: string | undefined;
  /** The index of the key that is accepted again; absent: all. */
  readonly key?: number | undefined;
}

/** Takes routes back into use that were paused after failures. */
export function resumeRoutes(memory: RegistryMemory, { plugin, model, key }: ResumedRoutes): void {
  const state = memory.get(plugin);
  if (state === undefined) return;
  state.health.resume();
  state.keys.resume(key);
  for (const [id, circuit] of state.circuits) if (model === undefined || id === model) circuit.resume();
}

function recallCircuit(modelId: string, before: PluginState | undefined): RouteCircuit {
  const circuit = before?.circuits.get(modelId);
  return circuit === undefined ? new RouteCircuit(routeCircuitOptions) : circuit;
}

function findDisagreement(plugin: ProviderPlugin, model: Model, models: Map<string, ModelEntry>): string | undefined {
  const candidate = models.get(model.id);
  if (candidate === undefined) return undefined;
  const [first] = candidate.routes;
  for (const field of ["capability", "premium"] as const) {
    if (candidate.model[field] === model[field]) continue;
    return `Plugin '${plugin.name}' sells '${model.id}' with ${field} ${model[field]}, but plugin '${first?.plugin.name}' with ${candidate.model[field]}: make the two rows agree`;
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

/** The facts of a request that decide which models may serve it. */
export interface CandidateQuery {
  /** The requested model: an id, an alias or a virtual model. */
  readonly model: string;
  /** The models that the client listed, the first to be tried first; absent for a single one. */
  readonly models?: readonly string[] | undefined;
  readonly capability: Capability;
  readonly caller: Caller;
  /** Milliseconds since 1970. */
  readonly openedAt: number;
  readonly session?: string | undefined;
  readonly isStream: boolean;
}

/** The parts of the kernel that decide the order of models. */
interface Chooser {
  readonly registry: Registry;
  readonly now: () => number;
  readonly random?: (() => number) | undefined;
}

/**
 * Finds the models that may serve a request, in the order they are tried: the named model, the members of a virtual
 * model, or the models of a list of names. Models whose routes are all paused come last.
 *
 * @throws {GatewayError} `model_not_found` or `model_not_allowed`, for a list also when one of its names is at fault.
 */
export function findCandidates(chooser: Chooser, query: CandidateQuery): Candidates {
  const { registry } = chooser;
  const { model: name, models } = query;
  const resolve = (member: string, virtual?: VirtualModel): readonly Candidate[] => {
    const candidates = registry.resolve(member, { ...query, virtual: virtual?.id });
    if (virtual?.strategy !== "fastest") return candidates;
    return candidates.map((each) => (each.isReroute === true ? each : { ...each, speeds: virtual.speeds }));
  };
  if (models === undefined && !registry.virtualModels.has(name)) return sortPaused(chooser, query, resolve(name));
  const candidates = new Map<string, Candidate>();
  let refusal: unknown;
  for (const each of models ?? [name]) {
    const virtual = registry.virtualModels.get(each);
    const names = virtual === undefined ? [each] : order(chooser, virtual, query);
    for (const member of names) {
      try {
        for (const candidate of resolve(member, virtual)) {
          const { model, routes } = candidate.modelEntry;
          // A re-route of a provider tries one model twice: without its routes, and by them.
          const key = [model.id, ...routes.map(({ plugin }) => plugin.name)].join(" ");
          if (!candidates.has(key)) candidates.set(key, candidate);
        }
      } catch (error) {
        const memberCandidate = registry.byName(member);
        const hasEnded = memberCandidate !== undefined && isEnded(memberCandidate.model, query.openedAt);
        const isAway = error instanceof GatewayError && error.code === "unavailable";
        if (virtual === undefined && !hasEnded && !isAway) throw error;
        refusal ??= error;
      }
    }
  }
  if (candidates.size === 0) throw refusal;
  return sortPaused(chooser, query, [...candidates.values()].slice(0, membersMax));
}

/** Puts models whose routes are all paused last. */
function sortPaused(chooser: Chooser, { caller }: CandidateQuery, candidates: readonly Candidate[]): Candidates {
  if (candidates.length === 1) return candidates as unknown as Candidates;
  const nowMs = chooser.now();
  const paused = ({ modelEntry }: Candidate) =>
    Number(!modelEntry.routes.some((route) => isReady(route, nowMs, caller.accountId)));
  const [first, ...others] = candidates.toSorted((a, b) => paused(a) - paused(b));
  if (first === undefined) throw new TypeError("A call has no model to try");
  return [first, ...others];
}

function order(
  { now, random = Math.random }: Chooser,
  virtual: VirtualModel,
  { session, caller, isStream }: CandidateQuery,
) {
  return orderMembers(virtual, { nowMs: now(), isStream, owner: cacheOwnerOf({ session, caller }), random });
}
