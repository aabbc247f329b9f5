import { isRecord } from "../lib/json.ts";
import type { Row } from "./overrides.ts";
import { virtualFile } from "./virtual-models.ts";

/** The operator's files by name without `.json`, each `{ "models": [ … ] }` or the bare array of rows. */
export type CatalogueFiles = Readonly<Record<string, unknown>>;

/** The name of the file of virtual models among them. */
export const virtualName = virtualFile.slice(0, -5);

/** The files with another row for a model, or without one. It stays in the file and at the place where it was. */
export function setRow(
  files: CatalogueFiles,
  { plugin, id }: { plugin: string; id: string },
  row: Row | undefined,
): CatalogueFiles {
  const isIt = (one: unknown) => isRecord(one) && one.id === id;
  const result: Record<string, unknown> = {};
  let missing = row;
  for (const [name, file] of Object.entries(files)) {
    const { models, ...fields } = readFile(name, file);
    if (fields.plugin !== plugin || !models.some(isIt)) {
      result[name] = file;
      continue;
    }
    const rows = models.flatMap((one) => {
      if (!isIt(one)) return [one];
      const placed = missing;
      missing = undefined;
      return placed ?? [];
    });
    const isEmpty = rows.length === 0 && fields.unlisted === undefined;
    if (!isEmpty) result[name] = Array.isArray(file) ? rows : { ...(file as object), models: rows };
  }
  if (missing === undefined) return result;
  const name = Object.keys(result).find((name) => readFile(name, result[name]).plugin === plugin);
  if (name === undefined) return { ...result, ...toNewFile(result, plugin, { models: [missing] }) };
  const file = result[name];
  const models = [...readFile(name, file).models, missing];
  return { ...result, [name]: Array.isArray(file) ? models : { ...(file as object), models } };
}

/**
 * The operator's own terms for the unlisted models of a plugin; `null` if the operator removed the terms of its
 * manifest.
 */
export function getTerms(files: CatalogueFiles, plugin: string): unknown {
  return Object.entries(files)
    .map(([name, file]) => readFile(name, file))
    .find((fields) => fields.plugin === plugin && fields.unlisted !== undefined)?.unlisted;
}

/** Returns the files with new terms for the unlisted models of a plugin, or without the operator's terms. */
export function setTerms(files: CatalogueFiles, plugin: string, terms: unknown): CatalogueFiles {
  const result: Record<string, unknown> = {};
  let missing = terms;
  for (const [name, file] of Object.entries(files)) {
    const isOther = readFile(name, file).plugin !== plugin;
    if (isOther || (missing === undefined && getTerms({ [name]: file }, plugin) === undefined)) {
      result[name] = file;
      continue;
    }
    const { models } = readFile(name, file);
    const { unlisted: _, ...fields } = isRecord(file) ? file : { models };
    const isEmpty = missing === undefined && models.length === 0;
    if (!isEmpty) result[name] = missing === undefined ? fields : { ...fields, unlisted: missing };
    missing = undefined;
  }
  return missing === undefined ? result : { ...result, ...toNewFile(result, plugin, { unlisted: missing }) };
}

/** A file of a plugin, which has no other: one of its name can be for another plugin. */
function toNewFile(files: CatalogueFiles, plugin: string, content: object): CatalogueFiles {
  if (files[plugin] === undefined) return { [plugin]: content };
  let name = `${plugin}-rows`;
  for (let number = 2; files[name] !== undefined; number++) name = `${plugin}-rows-${number}`;
  return { [name]: { plugin, ...content } };
}

interface CatalogueFile {
  readonly models: readonly unknown[];
  /** Absent: virtual models, which are no plugin's. */
  readonly plugin: string | undefined;
  readonly unlisted?: unknown;
}

/** The rows of a file and the plugin they are for. A file that a person wrote may have any form. */
function readFile(name: string, file: unknown): CatalogueFile {
  if (name === virtualName) return { models: [], plugin: undefined };
  const { models, plugin, unlisted } = isRecord(file) ? file : { models: file };
  return {
    models: Array.isArray(models) ? models : [],
    plugin: typeof plugin === "string" ? plugin : name,
    ...(unlisted !== undefined && { unlisted }),
  };
}
