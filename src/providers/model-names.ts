import { GatewayError, quoteValue } from "../contract/index.ts";
import { didYouMean, suggestName } from "../lib/did-you-mean.ts";
import type { Model } from "../provider/index.ts";
import type { PluginSnapshot } from "./plugin-manager.ts";

/** Unknown names of one list that are reported one by one. */
const reportedMax = 5;
/**
 * Maximum length of a name that is compared with all names of models. No model has a name as long as that, so the
 * comparison would be wasted.
 */
const nameLengthMax = 80;

interface ListOptions {
  readonly onUnknown: (message: string) => void;
  readonly planned?: ((name: string) => string | undefined) | undefined;
}

/** The models of this gateway by their names, including models of providers that have no key yet. */
export class ModelNames {
  readonly #registry: PluginSnapshot["registry"];
  /** Models by id and alias, as clients write them. */
  readonly #byName = new Map<string, Model>();
  /** Models by any name, including the name at the provider; for all plugins (`""`) and for each. */
  readonly #byPlugin = new Map<string, Map<string, Model>>();

  constructor({ plugins, registry }: Pick<PluginSnapshot, "plugins" | "registry">) {
    this.#registry = registry;
    const all = new Map<string, Model>();
    this.#byPlugin.set("", all);
    for (const { name } of plugins) this.#byPlugin.set(name, new Map());
    // Ids take precedence over aliases, and both over names at a provider.
    const levels = [
      ({ id }: Model) => [id],
      ({ aliases = [] }: Model) => aliases,
      ({ upstreamId }: Model) => [upstreamId],
    ];
    for (const [level, namesOf] of levels.entries()) {
      for (const { name: plugin, models } of plugins) {
        const maps = [all, this.#byPlugin.get(plugin) as Map<string, Model>, ...(level < 2 ? [this.#byName] : [])];
        for (const model of models) {
          for (const name of namesOf(model)) for (const map of maps) if (!map.has(name)) map.set(name, model);
        }
      }
    }
  }

  /**
   * The model that clients mean by a name: the served model of this name, otherwise a model of a provider without a
   * key.
   */
  find(name: string): Model | undefined {
    return this.#registry.byName(name)?.model ?? this.#byName.get(name);
  }

  /** The model that a provider or another gateway means by a name. */
  findAtProvider(name: string, plugin?: string): Model | undefined {
    if (plugin !== undefined) return this.#byPlugin.get(plugin)?.get(name);
    return this.#registry.byName(name)?.model ?? this.#byPlugin.get("")?.get(name);
  }

  isVirtual(name: string): boolean {
    return this.#registry.virtualModels.has(name);
  }

  /**
   * Reads a list of models that a key, an account or a token may use. Names of virtual models are kept, and so are
   * unknown names, because a plugin that is added later may have them.
   *
   * @param options `onUnknown` is called with a message for each of the first five unknown names, and once for the
   * others; `planned` returns the ids of models that are about to be added.
   * @returns The ids, each once.
   */
  toIds(names: readonly string[], { onUnknown, planned }: ListOptions): string[] {
    const ids = new Set<string>();
    const unknown = new Set<string>();
    for (const name of names) {
      const id = planned?.(name) ?? (this.isVirtual(name) ? name : this.find(name)?.id);
      if (id === undefined) unknown.add(name);
      ids.add(id ?? name);
    }
    for (const name of [...unknown].slice(0, reportedMax)) onUnknown(this.describeUnknown(name));
    if (unknown.size > reportedMax) onUnknown(`nor ${unknown.size - reportedMax} more of the names`);
    return [...ids];
  }

  /**
   * Refuses a name that no model can ever have: a limit for it would never apply. Other unknown names are accepted, because a plugin
   * may be added later.
   *
   * @param param The field that has the name.
   * @throws {GatewayError} `invalid_request`
   */
  checkPossible(name: string, param: string): void {
    const isPattern = name.includes("*");
    if ((!isPattern && name.trim() === name) || this.isVirtual(name) || this.find(name) !== undefined) return;
    const problem = isPattern
      ? "is a pattern, but names of models are exact; name each model"
      : "has white space around it; leave that out";
    throw new GatewayError("invalid_request", `${param}: ${quoteValue(name)} ${problem}`, { param });
  }

  /** The end of a message about a name that no model has, with the one that was most likely meant. */
  describeUnknown(name: string): string {
    const names = new Set([...this.#registry.virtualModels.keys(), ...this.#byName.keys()]);
    const near = name.length > nameLengthMax ? undefined : didYouMean(name, [...names]);
    const hint = near === undefined ? "see modelgate models" : `did you mean ${near}?`;
    return `there is no model ${name.slice(0, nameLengthMax)}, ${hint}`;
  }
}

const cached = new WeakMap<PluginSnapshot["registry"], ModelNames>();

/** The names of a snapshot, indexed once. */
export function getModelNames(snapshot: Pick<PluginSnapshot, "plugins" | "registry">): ModelNames {
  const names = cached.get(snapshot.registry) ?? new ModelNames(snapshot);
  cached.set(snapshot.registry, names);
  return names;
}

/**
 * Maps any name of a model to the id that both sides are compared by. With a provider, it is the id of the provider's
 * first row for the same upstream model. A name without a row may belong to a model that is sold without a row.
 *
 * @throws {GatewayError} `invalid_request` for an unknown provider.
 */
export function createBillLookup(
  { plugins, registry }: Pick<PluginSnapshot, "plugins" | "registry">,
  provider: string | undefined,
): (name: string) => string {
  const models = new ModelNames({ plugins, registry });
  // Calls that the sandbox answered stay in the ledger once it is off.
  const names = [...new Set([...plugins.map(({ name }) => name), "sandbox"])];
  if (provider !== undefined && !names.includes(provider)) {
    const message = `provider: No provider is called ${quoteValue(provider)}${suggestName(provider, names)}`;
    throw new GatewayError("invalid_request", message, { param: "provider" });
  }
  // The sandbox answers for models of others, by their names.
  if (provider === undefined || provider === "sandbox") return (name) => models.findAtProvider(name)?.id ?? name;
  const { models: rows = [], unlisted } = plugins.find(({ name }) => name === provider) ?? {};
  const firstIds = new Map(rows.map(({ id, upstreamId }) => [upstreamId, id] as const).reverse());
  const { prefix = "" } = unlisted ?? {};
  return (name) => {
    const model = models.findAtProvider(name, provider);
    if (model !== undefined) return firstIds.get(model.upstreamId) ?? model.id;
    return unlisted === undefined || name.startsWith(prefix) ? name : prefix + name;
  };
}
