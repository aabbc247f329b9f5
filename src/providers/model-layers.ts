import type { Model, ProviderPlugin } from "../provider/index.ts";
import { mergeRow, type Row, type RowFile } from "./overrides.ts";

/** One model of one plugin, and where its fields come from. */
export interface ModelLayers {
  readonly plugin: string;
  readonly id: string;
  /** The plugin's own row; absent when a file adds the model, or the provider lists it and it has no row. */
  readonly base: Model | undefined;
  /** The fields that a signed price file names. */
  readonly signed: Row | undefined;
  /** The fields that the operator's own files name. */
  readonly own: Row | undefined;
  /** The operator's files that name it. */
  readonly ownFiles: readonly string[];
  /** All of them together. */
  readonly row: Row;
}

/**
 * Every model of the plugins with its layers, also those that are disabled.
 *
 * @param plugins As their authors wrote them.
 * @param files In the order they are applied.
 * @param merged The plugins with the rows of the files, and with unlisted models.
 */
export function listLayers(
  plugins: readonly ProviderPlugin[],
  files: readonly RowFile[],
  merged: readonly ProviderPlugin[],
): ModelLayers[] {
  return plugins.flatMap(({ name, models }) => {
    const layers = new Map<string, ModelLayers>();
    const add = (id: string, change: Partial<ModelLayers>) => {
      const none = { base: undefined, signed: undefined, own: undefined, ownFiles: [], row: {} };
      layers.set(id, { plugin: name, id, ...(layers.get(id) ?? none), ...change });
    };
    for (const model of models) add(model.id, { base: model, row: model });
    for (const { rows, isUpdate, label } of files.filter(({ plugin }) => plugin === name)) {
      for (const row of rows) {
        const id = row.id as string;
        const layer = layers.get(id);
        const ownFiles = [...(layer?.ownFiles ?? []), label];
        const change = isUpdate
          ? { signed: { ...layer?.signed, ...row } }
          : { own: { ...layer?.own, ...row }, ownFiles };
        add(id, { ...change, row: mergeRow(layer?.row, row, isUpdate) });
      }
    }
    // The rows that are served: a file with refused rows changes nothing.
    for (const model of merged.find((plugin) => plugin.name === name)?.models ?? []) add(model.id, { row: model });
    return [...layers.values()];
  });
}

/** The plugin as it is sold. */
export function withoutDisabled(plugin: ProviderPlugin): ProviderPlugin {
  const models = plugin.models.filter(({ disabled }) => disabled !== true);
  return models.length === plugin.models.length ? plugin : Object.freeze({ ...plugin, models });
}
