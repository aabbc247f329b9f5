import { join } from "node:path";
import { createVirtualModel, type Registry, type VirtualModel } from "../kernel/index.ts";
import { shapeChecker } from "../lib/check-shape.ts";
import { suggestName } from "../lib/did-you-mean.ts";
import { isRecord } from "../lib/json.ts";
import { type ProviderPlugin, type VirtualModelRow, VirtualModelRow as VirtualModelSchema } from "../provider/index.ts";
import { PluginError } from "../sdk/errors.ts";
import { type FileProblem, listFolder, type PluginDirectory } from "./plugin-directory.ts";
import { readJsonFile } from "./read-files.ts";

/** The file of the catalogue folder that has them. */
export const virtualFile = "virtual.json";

const checkRow = shapeChecker(VirtualModelSchema);

/**
 * The operator's virtual models: `catalogue/virtual.json` in the home folder, `{ "models": [ … ] }` or the bare array.
 * A refused row does not affect the others, and its last accepted version is still served.
 */
export class VirtualModels {
  readonly #folder: PluginDirectory;
  #fingerprint = "";
  #label = virtualFile;
  #rows: readonly unknown[] = [];
  #error: string | undefined;
  /** Served virtual models by id. */
  #served: ReadonlyMap<string, { row: VirtualModelRow; virtual: VirtualModel }> = new Map();

  constructor(folder: PluginDirectory) {
    this.#folder = folder;
    this.#label = `${folder.label}/${virtualFile}`;
  }

  /** Reads the file if it has changed. */
  refresh(): void {
    const { entries } = listFolder(this.#folder);
    if (entries === undefined) return;
    const fingerprint = entries.find(({ name }) => name === virtualFile)?.fingerprint ?? "";
    if (fingerprint === this.#fingerprint) return;
    this.#fingerprint = fingerprint;
    this.#error = undefined;
    if (fingerprint === "") {
      this.#rows = [];
      return;
    }
    try {
      this.#rows = toRows(readJsonFile(join(this.#folder.path, virtualFile)));
    } catch (error) {
      const reason = (error as Error).message;
      this.#error = `Cannot use ${this.#label}: ${reason}${this.#served.size === 0 ? "" : "; its last version stays in force"}`;
    }
  }

  /**
   * Adds the virtual models to a registry.
   *
   * @param plugins All plugins: models of a plugin without a key are left out until it has a key.
   * @param isAwaited Whether a name may belong to a model that its provider has not listed yet: it is left out until it
   * is listed.
   */
  apply(
    registry: Registry,
    plugins: readonly ProviderPlugin[],
    isAwaited: (name: string) => boolean = () => false,
  ): { registry: Registry; problems: FileProblem[] } {
    const label = this.#label;
    const problems: FileProblem[] = this.#error === undefined ? [] : [{ label, message: this.#error }];
    const names = new Map(plugins.flatMap(({ models }) => models.flatMap(namesOf)));
    for (const { model } of registry.modelEntries) for (const [name, each] of namesOf(model)) names.set(name, each);
    const before = this.#served;
    const served = new Map<string, { row: VirtualModelRow; virtual: VirtualModel }>();
    const ids = new Set(this.#rows.map((row) => (isRecord(row) ? row.id : undefined)));
    for (const [index, value] of this.#rows.entries()) {
      const id = isRecord(value) && typeof value.id === "string" ? value.id : undefined;
      const last = id === undefined ? undefined : before.get(id);
      const duplicate =
        id !== undefined && served.has(id) ? `the id '${id}' is listed twice; remove one row` : undefined;
      const error = duplicate ?? findProblem(value, { known: names, ids, isServed: last !== undefined, isAwaited });
      if (error !== undefined) {
        const suffix = last === undefined ? "" : "; its last version stays in force";
        problems.push({
          label,
          message: `Cannot use ${label}: models[${index}] (${id ?? "no id"}): ${error}${suffix}`,
        });
      }
      const row = error === undefined ? (value as VirtualModelRow) : last?.row;
      if (row === undefined || duplicate !== undefined) continue;
      const virtual = createVirtualModel(row, (name) => registry.byName(name), last?.virtual.speeds);
      served.set(row.id, { row, virtual });
    }
    this.#served = served;
    const virtualModels = new Map([...served].map(([id, { virtual }]) => [id, virtual]));
    return { registry: registry.withVirtual(virtualModels), problems };
  }
}

type KnownModel = ProviderPlugin["models"][number];

function namesOf(model: KnownModel): [string, KnownModel][] {
  return [model.id, ...(model.aliases ?? [])].map((name) => [name, model]);
}

function toRows(value: unknown): unknown[] {
  const { models = undefined, ...others } = isRecord(value) ? value : { models: value };
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new PluginError(`unknown field ${unknown}${suggestName(unknown, ["models"])}`);
  if (!Array.isArray(models)) throw new PluginError('expected { "models": [ … ] } or an array of rows');
  return models;
}

interface TranslationContext {
  readonly known: ReadonlyMap<string, KnownModel>;
  /** The ids of all rows of the file. */
  readonly ids: ReadonlySet<unknown>;
  /** A model that is added later does not take the name of a virtual model that clients know. */
  readonly isServed: boolean;
  readonly isAwaited: (name: string) => boolean;
}

function findProblem(
  row: unknown,
  { known: modelNames, ids, isServed, isAwaited }: TranslationContext,
): string | undefined {
  const shape = checkRow(row);
  if (shape !== undefined) return `${shape.path.replace(/^\./, "")}${shape.path === "" ? "" : ": "}${shape.reason}`;
  const { id, models } = row as VirtualModelRow;
  const names = models.map((member) => (typeof member === "string" ? member : member.model));
  if (!isServed && modelNames.has(id)) return `'${id}' is the name of a model already; choose another id`;
  for (const [index, name] of names.entries()) {
    const place = `models[${index}]`;
    if (name === id) return `${place} is the row itself; list the models that it stands for`;
    if (ids.has(name)) return `${place} '${name}' is a virtual model too; list its member models instead`;
    if (!modelNames.has(name) && !isAwaited(name))
      return `${place} '${name}' is not a model here${suggestName(name, [...modelNames.keys()])}`;
    if (names.indexOf(name) !== index) return `${place} '${name}' is listed twice; remove one`;
  }
  const listed = names.filter((name) => modelNames.has(name));
  const capabilities = new Set(listed.map((name) => modelNames.get(name)?.capability));
  if (capabilities.size > 1) {
    const each = listed.map((name) => `'${name}' is for ${modelNames.get(name)?.capability}`).join(", ");
    return `its models are for different endpoints (${each}); make one row for each`;
  }
  return undefined;
}
