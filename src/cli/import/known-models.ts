import type { Model } from "../../contract/index.ts";
import type { PluginSnapshot } from "../../providers/index.ts";
import { type PlannedModel, type Rates, toRates } from "./plan.ts";

/** The models of this gateway, also of providers that have no key yet. */
export interface KnownModels {
  /** A model by its id, an alias or its name at the provider; `plugin`: only one of that plugin. */
  find(name: string, plugin?: string): Model | undefined;
}

export function indexModels({ plugins, registry }: Pick<PluginSnapshot, "plugins" | "registry">): KnownModels {
  const byPlugin = new Map<string, Map<string, Model>>();
  const byName = new Map<string, Model>();
  for (const { name: plugin, models } of plugins) {
    const own = new Map<string, Model>();
    // An id comes before an alias, and that before a name of the provider.
    const levels = [
      (model: Model) => [model.id],
      (model: Model) => model.aliases ?? [],
      (model: Model) => [model.upstreamId],
    ];
    for (const namesOf of levels) {
      for (const model of models) {
        for (const name of namesOf(model)) {
          if (!own.has(name)) own.set(name, model);
          if (!byName.has(name)) byName.set(name, model);
        }
      }
    }
    byPlugin.set(plugin, own);
  }
  return {
    find: (name, plugin) =>
      plugin === undefined ? (registry.byName(name)?.model ?? byName.get(name)) : byPlugin.get(plugin)?.get(name),
  };
}

/** How a name of the other gateway is served here by these models. */
export function planModel(
  name: string,
  targets: readonly { readonly model: string; readonly weight?: number | undefined }[],
  {
    known: models,
    theirs,
    added = new Map(),
  }: { known: KnownModels; theirs?: Rates | undefined; added?: ReadonlyMap<string, Rates | undefined> },
): PlannedModel {
  const unique = [...new Map(targets.map((target) => [target.model, target])).values()];
  const [first] = unique;
  if (first === undefined) return { name, targets: [], theirs, kind: "missing" };
  const own = models.find(name);
  const model = models.find(first.model);
  const ours = model === undefined ? added.get(first.model) : toRates(model);
  // A virtual model cannot have the name of a model: that model serves it.
  if (own !== undefined) return { name, targets: [{ model: own.id }], theirs, ours: toRates(own), kind: "served" };
  if (added.has(name)) return { name, targets: [{ model: name }], theirs, ours, kind: "served" };
  return { name, targets: unique, theirs, ours, kind: "virtual" };
}
