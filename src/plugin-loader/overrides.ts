import type { ProviderPlugin } from "../contract/index.ts";
import { suggestName } from "../sdk/did-you-mean.ts";
import { definePlugin, isRecord, PluginError } from "../sdk/index.ts";
import { explainUpgrade, upgradeText } from "./contract-upgrade.ts";
import type { DropFault, PluginDirectory } from "./plugin-directory.ts";
import { listFolder } from "./plugin-directory.ts";
import { readJson, readText } from "./read-files.ts";

/** Rows of one file that change or extend what a plugin sells. */
interface RowFile {
  readonly label: string;
  readonly plugin: string;
  readonly rows: readonly Record<string, unknown>[];
}

interface Seen {
  readonly label: string;
  readonly stamp: string;
  /** The last version that could be read. */
  readonly file: RowFile | undefined;
  readonly error: string | undefined;
}

/**
 * The operator's own catalogue: `catalogue/<plugin>.json` in the home folder, `{ "models": [ … ] }` or the bare array.
 * A row of a known id replaces the fields it names (`null` takes one away), any other is a model more.
 */
export class Overrides {
  readonly #folder: PluginDirectory;
  #seen: ReadonlyMap<string, Seen> = new Map();
  #folderFaults: readonly DropFault[] = [];
  #lastGood = new WeakMap<RowFile, RowFile>();
  #applied = new WeakMap<ProviderPlugin, { key: readonly RowFile[]; plugin: ProviderPlugin }>();

  constructor(folder: PluginDirectory) {
    this.#folder = folder;
  }

  /** A text that differs whenever something in the folder does. Reads nothing. */
  stamp(): string {
    const { found, faults } = listFolder(this.#folder);
    const parts = (found ?? []).map(({ label, stamp }) => `${label} ${stamp}`);
    return [...parts, ...faults.map(({ sentence }) => sentence)].join("\n");
  }

  /** Reads what is new or changed. */
  refresh(): void {
    const { found, faults } = listFolder(this.#folder);
    this.#folderFaults = faults;
    if (found === undefined) return;
    const before = this.#seen;
    const files = found.filter(({ name, isFolder }) => !isFolder && name.endsWith(".json"));
    this.#seen = new Map(
      files.map(({ name, path, label, stamp }) => {
        const known = before.get(path);
        if (known?.stamp === stamp) return [path, known];
        return [path, this.#read({ path, label, stamp, stem: name.slice(0, -".json".length) }, known?.file)];
      }),
    );
  }

  /**
   * The plugins with the operator's rows. A file whose rows do not fit is left out, or stays at its last version that
   * did; the faults say so.
   */
  apply(plugins: readonly ProviderPlugin[]): { plugins: ProviderPlugin[]; faults: DropFault[] } {
    const files = [...this.#seen.values()].flatMap(({ file }) => (file === undefined ? [] : [file]));
    const errors = [...this.#seen.values()].flatMap(({ label, error }) =>
      error === undefined ? [] : [{ label, sentence: error }],
    );
    const faults: DropFault[] = [...this.#folderFaults, ...errors];
    const names = plugins.map(({ name }) => name);
    for (const { label, plugin } of files) {
      if (names.includes(plugin)) continue;
      const sentence = `Cannot use ${label}: there is no plugin ${plugin}${suggestName(plugin, names)}`;
      faults.push({ label, sentence });
    }
    const changed = plugins.map((plugin) =>
      this.#applyTo(
        plugin,
        files.filter((file) => file.plugin === plugin.name),
        faults,
      ),
    );
    return { plugins: changed, faults };
  }

  /** The files that change the rows of a plugin. */
  labelsOf(pluginName: string): string[] {
    return [...this.#seen.values()].flatMap(({ file }) => (file?.plugin === pluginName ? [file.label] : []));
  }

  #read(found: { path: string; label: string; stamp: string; stem: string }, before: RowFile | undefined): Seen {
    try {
      const outdated = explainUpgrade(upgradeText(readText(found.path), "json").changes, found.label);
      if (outdated !== undefined) throw new PluginError(outdated);
      const file = toRowFile(readJson(found.path), found);
      if (before !== undefined) this.#lastGood.set(file, before);
      return { label: found.label, stamp: found.stamp, file, error: undefined };
    } catch (error) {
      const kept = before === undefined ? "" : "; its last version stays in force";
      const sentence = `Cannot use ${found.label}: ${(error as Error).message}${kept}`;
      return { label: found.label, stamp: found.stamp, file: before, error: sentence };
    }
  }

  #applyTo(plugin: ProviderPlugin, files: readonly RowFile[], faults: DropFault[]): ProviderPlugin {
    if (files.length === 0) return plugin;
    const known = this.#applied.get(plugin);
    if (known !== undefined && known.key.length === files.length && known.key.every((file, i) => file === files[i])) {
      return known.plugin;
    }
    let result = plugin;
    let whole = true;
    for (const file of files) {
      try {
        result = merge(result, file);
      } catch (error) {
        whole = false;
        const before = this.#lastGood.get(file);
        const kept = before === undefined ? "" : "; its last version stays in force";
        const reason = (error as Error).message.replace(/^Cannot load the plugin \S+: (Cannot (read|sell) )?/, "");
        faults.push({ label: file.label, sentence: `Cannot use ${file.label}: ${reason}${kept}` });
        if (before !== undefined) result = mergeOrNot(result, before);
      }
    }
    if (whole) this.#applied.set(plugin, { key: files, plugin: result });
    return result;
  }
}

function toRowFile(value: unknown, { label, stem }: { label: string; stem: string }): RowFile {
  const rows = isRecord(value) ? value.models : value;
  let plugin = stem;
  if (isRecord(value)) {
    const stranger = Object.keys(value).find((field) => field !== "models" && field !== "plugin");
    if (stranger !== undefined) {
      throw new PluginError(`unknown field ${stranger}${suggestName(stranger, ["models", "plugin"])}`);
    }
    if (typeof value.plugin === "string") plugin = value.plugin;
    else if (value.plugin !== undefined) {
      throw new PluginError(`plugin is ${JSON.stringify(value.plugin)}, expected a plugin's name, such as ${stem}`);
    }
  }
  if (!Array.isArray(rows)) throw new PluginError('expected { "models": [ … ] } or an array of rows');
  for (const [index, row] of rows.entries()) {
    if (!isRecord(row) || typeof row.id !== "string") throw new PluginError(`models[${index}] has no id; add it`);
  }
  return { label, plugin, rows };
}

function merge(plugin: ProviderPlugin, file: RowFile): ProviderPlugin {
  const models = new Map<string, Record<string, unknown>>(plugin.models.map((model) => [model.id, model]));
  for (const row of file.rows) {
    const merged = { ...models.get(row.id as string), ...row };
    for (const [field, value] of Object.entries(merged)) if (value === null) delete merged[field];
    models.set(row.id as string, merged);
  }
  return definePlugin({ ...plugin, models: [...models.values()] as unknown as ProviderPlugin["models"] });
}

function mergeOrNot(plugin: ProviderPlugin, file: RowFile): ProviderPlugin {
  try {
    return merge(plugin, file);
  } catch {
    // Its plugin has changed too; without the file it is at least what its author sells.
    return plugin;
  }
}
