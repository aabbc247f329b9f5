import type { CatalogueDocument, FileRow } from "./api.ts";
import { virtualName } from "./virtual-rows.ts";

/** The files with another row for a model, or without one. It stays in the file and at the place where it was. */
export function setRow(
  files: CatalogueDocument["files"],
  { plugin, id }: { plugin: string; id: string },
  row: FileRow | undefined,
): CatalogueDocument["files"] {
  const result: Record<string, unknown> = {};
  let missing = row;
  for (const [name, file] of Object.entries(files)) {
    if (name === virtualName) {
      result[name] = file;
      continue;
    }
    const { models, ...fields } = readFile(name, file);
    if (fields.plugin !== plugin || !models.some((one) => one.id === id)) {
      result[name] = file;
      continue;
    }
    const rows = models.flatMap((one) => {
      if (one.id !== id) return [one];
      const placed = missing;
      missing = undefined;
      return placed ?? [];
    });
    const isEmpty = rows.length === 0 && fields.unlisted === undefined;
    if (!isEmpty) result[name] = Array.isArray(file) ? rows : { ...(file as object), models: rows };
  }
  if (missing === undefined) return result;
  const name = Object.keys(result).find((name) => readFile(name, result[name]).plugin === plugin);
  const file = name === undefined ? undefined : result[name];
  const models = [...(name === undefined ? [] : readFile(name, file).models), missing];
  // A file of the plugin's name can be for another plugin.
  const fresh = result[plugin] === undefined ? plugin : `${plugin}-rows`;
  if (name === undefined) result[fresh] = fresh === plugin ? { models } : { plugin, models };
  else result[name] = Array.isArray(file) ? models : { ...(file as object), models };
  return result;
}

/** The rows of a file and the plugin they are for. */
export function readFile(
  name: string,
  file: unknown,
): { models: readonly FileRow[]; plugin: string; unlisted?: unknown } {
  const fields = Array.isArray(file) ? { models: file } : (file as { models?: FileRow[]; plugin?: string });
  return { ...fields, models: fields.models ?? [], plugin: "plugin" in fields ? (fields.plugin ?? name) : name };
}
