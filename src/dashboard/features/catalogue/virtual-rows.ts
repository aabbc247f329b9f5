import type { CatalogueDocument } from "./api.ts";

/** The file of the operator's virtual models. */
export const virtualName = "virtual";

/** A name that stands for several models. */
export interface VirtualRow {
  readonly id: string;
  readonly models: readonly (string | { readonly model: string; readonly weight?: number })[];
  readonly strategy?: string;
}

export function readVirtual(files: CatalogueDocument["files"]): readonly VirtualRow[] {
  const file = files[virtualName] as readonly VirtualRow[] | { models?: readonly VirtualRow[] } | undefined;
  return (Array.isArray(file) ? file : (file as { models?: readonly VirtualRow[] } | undefined)?.models) ?? [];
}

/** Returns the file with the row of a virtual model set or removed; `undefined` if the file has no models left. */
export function setVirtual(
  files: CatalogueDocument["files"],
  id: string,
  row: VirtualRow | undefined,
): { models: readonly VirtualRow[] } | undefined {
  const rows = readVirtual(files);
  const isKnown = rows.some((one) => one.id === id);
  const models = rows.flatMap((one) => (one.id === id ? (row ?? []) : one));
  if (!isKnown && row !== undefined) models.push(row);
  return models.length === 0 ? undefined : { models };
}
