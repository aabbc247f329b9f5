import { basename } from "node:path";
import { suggestName } from "../lib/did-you-mean.ts";
import { isRecord } from "../lib/json.ts";
import type { ModelRow, ProviderPlugin } from "../provider/index.ts";
import { PluginError } from "../sdk/errors.ts";
import { definePlugin } from "../sdk/index.ts";
import { type FileProblem, type FolderEntry, listFolder, type PluginDirectory } from "./plugin-directory.ts";
import { readJsonFile } from "./read-files.ts";
import { virtualFile } from "./virtual-models.ts";

/** A row as a file has it: the fields it names. */
export type Row = Readonly<Record<string, unknown>>;

/** Rows of one file that change or extend the models of a plugin. */
export interface RowFile {
  readonly label: string;
  readonly plugin: string;
  readonly rows: readonly Row[];
  readonly unlisted: unknown;
  /** Whether it is part of a file of `catalogue update`: the operator's own rows go over it. */
  readonly isUpdate: boolean;
}

interface KnownFile {
  readonly label: string;
  readonly fingerprint: string;
  /** The last version that could be read. */
  readonly files: readonly RowFile[];
  readonly error: string | undefined;
}

/**
 * The operator's own catalogue: `catalogue/<plugin>.json` in the home folder, `{ "models": [ … ] }` or the bare array.
 * A row with a known id replaces the fields it names (`null` removes one); any other row adds a model. A file of
 * `catalogue update` has the rows of several plugins, `{ "serial": 1, "plugins": { "openai": { "models": [ … ] } } }`.
 */
export class Overrides {
  readonly #folder: PluginDirectory;
  #files: ReadonlyMap<string, KnownFile> = new Map();
  #folderProblems: readonly FileProblem[] = [];
  #lastGood = new WeakMap<RowFile, RowFile>();
  #applied = new WeakMap<ProviderPlugin, { key: readonly RowFile[]; plugin: ProviderPlugin }>();

  constructor(folder: PluginDirectory) {
    this.#folder = folder;
  }

  /** A text that differs whenever something in the folder does. Reads no file. */
  fingerprint(): string {
    const { entries = [], problems } = listFolder(this.#folder);
    const parts = entries.map(({ label, fingerprint }) => `${label} ${fingerprint}`);
    return [...parts, ...problems.map(({ message }) => message)].join("\n");
  }

  /** Reads new and changed files. */
  refresh(): void {
    const { entries, problems } = listFolder(this.#folder);
    this.#folderProblems = problems;
    if (entries === undefined) return;
    const before = this.#files;
    const files = entries.filter(({ name, isFolder }) => !isFolder && name.endsWith(".json") && name !== virtualFile);
    this.#files = new Map(
      files.map((entry) => {
        const fileBefore = before.get(entry.path);
        return [
          entry.path,
          fileBefore?.fingerprint === entry.fingerprint ? fileBefore : this.#read(entry, fileBefore?.files ?? []),
        ];
      }),
    );
  }

  /** Adds the operator's rows to the plugins. A file with invalid rows is left out, or its last valid version is used. */
  apply(plugins: readonly ProviderPlugin[]): { plugins: ProviderPlugin[]; problems: FileProblem[] } {
    const files = this.files;
    const errors = [...this.#files.values()].flatMap(({ label, error }) =>
      error === undefined ? [] : [{ label, message: error }],
    );
    const problems: FileProblem[] = [...this.#folderProblems, ...errors];
    const names = plugins.map(({ name }) => name);
    for (const { label, plugin } of files) {
      if (names.includes(plugin)) continue;
      const message = `Cannot use ${label}: there is no provider ${plugin}${suggestName(plugin, names)}`;
      problems.push({ label, message });
    }
    const byPlugin = Object.groupBy(files, ({ plugin }) => plugin);
    const changed = plugins.map((plugin) => this.#applyTo(plugin, byPlugin[plugin.name] ?? [], problems));
    return { plugins: changed, problems: [...problems, ...findLostSuccessors(files, changed)] };
  }

  /** In the order they are applied: rows of a signed file first. */
  get files(): readonly RowFile[] {
    const all = [...this.#files.values()].flatMap(({ files }) => files);
    return all.toSorted((a, b) => Number(b.isUpdate) - Number(a.isUpdate));
  }

  /** The files that change the rows of a plugin. */
  labelsOf(pluginName: string): string[] {
    return [...this.#files.values()].flatMap(({ files }) =>
      files.filter(({ plugin }) => plugin === pluginName).map(({ label }) => label),
    );
  }

  /** An error in a plugin's rows, with the files that changed them. */
  blame(pluginName: string, message: string): string {
    const labels = this.labelsOf(pluginName);
    return labels.length === 0 ? message : `Cannot use ${labels.join(" and ")}: ${message}`;
  }

  #read({ path, name, label, fingerprint }: FolderEntry, before: readonly RowFile[]): KnownFile {
    try {
      const files = toRowFiles(readJsonFile(path), label, basename(name, ".json"));
      for (const file of files) {
        const last = before.find(({ plugin }) => plugin === file.plugin);
        if (last !== undefined) this.#lastGood.set(file, last);
      }
      return { label, fingerprint, files, error: undefined };
    } catch (error) {
      return { label, fingerprint, files: before, error: explain(label, (error as Error).message, before[0]) };
    }
  }

  #applyTo(plugin: ProviderPlugin, files: readonly RowFile[], problems: FileProblem[]): ProviderPlugin {
    if (files.length === 0) return plugin;
    const cached = this.#applied.get(plugin);
    if (
      cached !== undefined &&
      cached.key.length === files.length &&
      cached.key.every((file, i) => file === files[i])
    ) {
      return cached.plugin;
    }
    let result = plugin;
    let isComplete = true;
    for (const file of files) {
      try {
        result = merge(result, file);
      } catch (error) {
        isComplete = false;
        const before = this.#lastGood.get(file);
        problems.push({
          label: file.label,
          message: explain(file.label, toReason(error as Error, result, file), before),
        });
        if (before !== undefined) result = tryMerge(result, before);
      }
    }
    if (isComplete) this.#applied.set(plugin, { key: files, plugin: result });
    return result;
  }
}

/** Finds rows with a successor that does not exist: nothing would answer for their model. */
function findLostSuccessors(files: readonly RowFile[], plugins: readonly ProviderPlugin[]): FileProblem[] {
  // The ids of models sold without a row are unknown here.
  if (plugins.some(({ unlisted }) => unlisted !== undefined)) return [];
  const named = files.flatMap((file) =>
    file.rows.flatMap(({ id, successor }, index) =>
      typeof successor === "string" ? [{ file, id, successor, place: `${pathOf(file)}[${index}].successor` }] : [],
    ),
  );
  if (named.length === 0) return [];
  const names = new Set(plugins.flatMap(({ models }) => models.flatMap(({ id, aliases = [] }) => [id, ...aliases])));
  return named.flatMap(({ file: { label }, id, successor, place }) => {
    if (names.has(successor) && successor !== id) return [];
    const reason =
      successor === id
        ? "it is the model itself; name another"
        : `there is no model '${successor}'${suggestName(successor, [...names])}`;
    return [{ label, message: `Cannot use ${label}: ${place} (${id}): ${reason}` }];
  });
}

function pathOf({ isUpdate, plugin }: RowFile): string {
  return isUpdate ? `plugins.${plugin}.models` : "models";
}

/** Error of a row with its place in the file; the check has seen it among all rows of the plugin. */
function toReason({ message }: Error, plugin: ProviderPlugin, file: RowFile): string {
  const { rows } = file;
  const modelIds = plugin.models.map(({ id }) => id);
  const ids = [...new Set([...modelIds, ...rows.map(({ id }) => id as string)])];
  let added: string | undefined;
  const reason = message
    .replace(/^Cannot load the plugin \S+: (Cannot (read|sell) )?/, "")
    .replace(/models\[(\d+)\]/g, (place, index) => {
      const row = rows.findLastIndex(({ id }) => id === ids[Number(index)]);
      if (row === -1) return place;
      if (Number(index) >= modelIds.length) added ??= ids[Number(index)];
      return `${pathOf(file)}[${row}]`;
    });
  if (added === undefined || !reason.includes("): it is missing")) return reason;
  return `${reason}; ${plugin.name} has no model of this id, so the row adds one${suggestName(added, modelIds)}`;
}

function explain(label: string, reason: string, before: RowFile | undefined): string {
  return `Cannot use ${label}: ${reason}${before === undefined ? "" : "; its last version stays in force"}`;
}

/** @param name The file's name without its ending, which is the plugin's unless the file names another. */
function toRowFiles(value: unknown, label: string, name: string): RowFile[] {
  if (!isRecord(value) || !isRecord(value.plugins)) return [toRowFile(value, label, name)];
  return Object.entries(value.plugins).map(([plugin, rows]) => ({ ...toRowFile(rows, label, plugin), isUpdate: true }));
}

function toRowFile(value: unknown, label: string, name: string): RowFile {
  const fields = isRecord(value) ? value : { models: value };
  const { models: rows = fields.unlisted === undefined ? undefined : [], plugin = name, unlisted, ...others } = fields;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw new PluginError(`unknown field ${unknown}${suggestName(unknown, ["models", "plugin", "unlisted"])}`);
  }
  if (typeof plugin !== "string") {
    throw new PluginError(`plugin is ${JSON.stringify(plugin)}, expected a provider's name, such as ${name}`);
  }
  if (!Array.isArray(rows)) throw new PluginError('expected { "models": [ … ] } or an array of rows');
  for (const [index, row] of rows.entries()) {
    if (!isRecord(row) || typeof row.id !== "string") throw new PluginError(`models[${index}] has no id; add it`);
  }
  return { label, plugin, rows, unlisted, isUpdate: false };
}

function merge(plugin: ProviderPlugin, file: RowFile): ProviderPlugin {
  const models = new Map<string, Record<string, unknown>>(plugin.models.map((model) => [model.id, model]));
  for (const row of file.rows) models.set(row.id as string, mergeRow(models.get(row.id as string), row, file.isUpdate));
  return definePlugin({
    ...plugin,
    ...(file.unlisted !== undefined && { unlisted: (file.unlisted ?? undefined) as ProviderPlugin["unlisted"] }),
    models: [...models.values()] as unknown as ModelRow[],
  });
}

/** A row with the fields that another names in their place; `null` removes one. */
export function mergeRow(current: object | undefined, row: Row, isUpdate: boolean): Row {
  // An operator who names a successor wants it to answer.
  const succession = !isUpdate && typeof row.successor === "string" ? { whenRetired: "successor" } : {};
  const merged: Record<string, unknown> = { ...current, ...succession, ...row };
  for (const [field, value] of Object.entries(merged)) if (value === null) delete merged[field];
  return merged;
}

function tryMerge(plugin: ProviderPlugin, file: RowFile): ProviderPlugin {
  try {
    return merge(plugin, file);
  } catch {
    // The plugin has changed too; without the file it is at least as its author wrote it.
    return plugin;
  }
}
