import type { ModelNames } from "../../providers/index.ts";
import { type PlannedModel, type Rates, toRates } from "./plan.ts";

/** Unknown names in lists of models that an import reports. */
const unknownMax = 20;

/** How a name of the other gateway is served here by these models. */
export function planModel(
  name: string,
  targets: readonly { readonly model: string; readonly weight?: number | undefined }[],
  {
    known: models,
    theirs,
    added = new Map(),
  }: { known: ModelNames; theirs?: Rates | undefined; added?: ReadonlyMap<string, Rates | undefined> },
): PlannedModel {
  const unique = [...new Map(targets.map((target) => [target.model, target])).values()];
  const [first] = unique;
  if (first === undefined) return { name, targets: [], theirs, kind: "missing" };
  const own = models.findAtProvider(name);
  const model = models.findAtProvider(first.model);
  const ours = model === undefined ? added.get(first.model) : toRates(model);
  // A virtual model cannot have the name of a model: that model serves it.
  if (own !== undefined) return { name, targets: [{ model: own.id }], theirs, ours: toRates(own), kind: "served" };
  if (added.has(name)) return { name, targets: [{ model: name }], theirs, ours, kind: "served" };
  return { name, targets: unique, theirs, ours, kind: "virtual" };
}

/** Reads lists of models of keys and accounts: those that serve a name here, or the name itself, which is noted once. */
export function createListReader(
  models: ModelNames,
  planned: readonly PlannedModel[],
  note: (message: string) => void,
): (names: readonly string[]) => string[] {
  const served = new Map(
    planned.map(({ name, targets, kind }) => [name, kind === "served" ? targets[0]?.model : name]),
  );
  const noted = new Set<string>();
  const onUnknown = (message: string) => {
    if (noted.has(message) || noted.size === unknownMax) return;
    noted.add(message);
    note(`A list of models is kept as it is, but ${message}`);
  };
  // A pattern is noted by itself.
  const isPattern = (name: string) => name.includes("*");
  return (names) =>
    models.toIds(names, {
      onUnknown,
      planned: (name) => served.get(name) ?? models.findAtProvider(name)?.id ?? (isPattern(name) ? name : undefined),
    });
}
