import type { ModelRow } from "../models/api.ts";
import type { CatalogueDocument } from "./api.ts";
import { type RowDraft, toNumber, toPrice } from "./row-draft.ts";
import { readFile } from "./set-row.ts";
import { virtualName } from "./virtual-rows.ts";

/** Prices and limits of a provider's models that have no row of their own. */
export type Terms = Pick<ModelRow, "premium" | "price"> &
  Partial<Pick<ModelRow, "capability" | "contextTokens" | "outputTokensMax">>;

/** The terms that a form makes. What is not a number goes as it was typed: the gateway says what it expected. */
export function toTerms(draft: RowDraft, price: ModelRow["price"]): Terms {
  const [contextTokens, outputTokensMax] = [draft.contextTokens, draft.outputTokensMax].map(toNumber);
  return {
    premium: draft.premium,
    price: toPrice(draft, price) ?? {},
    ...(draft.capability !== "chat" && { capability: draft.capability }),
    ...(contextTokens !== undefined && { contextTokens: contextTokens as number }),
    ...(outputTokensMax !== undefined && { outputTokensMax: outputTokensMax as number }),
  };
}

/** The operator's own terms of a plugin; `null` where those of its manifest are taken away. */
export function getTerms(files: CatalogueDocument["files"], plugin: string): Terms | null | undefined {
  for (const [name, file] of Object.entries(files)) {
    if (name === virtualName) continue;
    const fields = readFile(name, file);
    if (fields.plugin === plugin && fields.unlisted !== undefined) return fields.unlisted as Terms | null;
  }
  return undefined;
}

/** The files with other terms for a plugin, or without any of the operator's. */
export function setTerms(
  files: CatalogueDocument["files"],
  plugin: string,
  terms: Terms | null | undefined,
): CatalogueDocument["files"] {
  const result: Record<string, unknown> = {};
  let missing = terms;
  for (const [name, file] of Object.entries(files)) {
    const isOther = name === virtualName || readFile(name, file).plugin !== plugin;
    if (isOther || (missing === undefined && getTerms({ [name]: file }, plugin) === undefined)) {
      result[name] = file;
      continue;
    }
    const { unlisted: _, ...fields } = Array.isArray(file) ? { models: file } : (file as Record<string, unknown>);
    const isEmpty = missing === undefined && readFile(name, file).models.length === 0;
    if (!isEmpty) result[name] = missing === undefined ? fields : { ...fields, unlisted: missing };
    missing = undefined;
  }
  if (missing === undefined) return result;
  // A file of the plugin's name can be for another plugin.
  const fresh = result[plugin] === undefined ? plugin : `${plugin}-rows`;
  return { ...result, [fresh]: { ...(fresh !== plugin && { plugin }), unlisted: missing } };
}
