import { useRef } from "react";
import useSWR, { mutate } from "swr";
import { ApiError, fetchJson, organization, readPages, request, slowRefresh } from "../../data/api.ts";
import type { ModelRow } from "../models/api.ts";

const { catalogue } = organization;

/** The models with what else the page shows of them. */
async function getModels() {
  let about: { warnings: readonly string[]; shared: boolean } = { warnings: [], shared: false };
  const data = await readPages(async (query) => {
    const page = await request(catalogue.models.get({ query: { ...query, limit: 1000 } }));
    about = page;
    return page;
  });
  return { data: data as unknown as readonly CatalogueModel[], warnings: about.warnings, shared: about.shared };
}

const getDocument = () => request(catalogue.get());
const getUnlisted = async () =>
  (await readPages((query) => request(catalogue.unlisted.get({ query })))) as unknown as readonly UnlistedTerms[];

/** A row of a file: the fields it names, `null` where it removes one. */
export type FileRow = Readonly<Record<string, unknown>>;
/** The operator's files, and the revision that a change of them must name. */
export type CatalogueDocument = Awaited<ReturnType<typeof getDocument>>;

/** One model of one plugin, with its layers. */
export interface CatalogueModel {
  /** The plugin and the model. */
  readonly id: string;
  readonly plugin: string;
  readonly model: string;
  /** The name that clients write. */
  readonly name: string;
  readonly base: ModelRow | null;
  readonly signed: FileRow | null;
  readonly own: FileRow | null;
  readonly own_files: readonly string[];
  /** All layers together: what is in force. */
  readonly row: Partial<ModelRow>;
  readonly routes: readonly {
    readonly plugin: string;
    readonly priority: number;
    readonly weight: number;
    readonly state: "closed" | "half_open" | "open";
  }[];
  /** Why its provider answers no calls; `null` if it does. */
  readonly unserved_reason: string | null;
}

/** Prices and limits of a provider's models that have no row of their own. */
export type Terms = Pick<ModelRow, "premium" | "price"> &
  Partial<Pick<ModelRow, "capability" | "contextTokens" | "outputTokensMax">>;

/** The terms of one provider, as they are in force; `null`: only models with a row are sold. */
export interface UnlistedTerms {
  /** The provider. */
  readonly id: string;
  readonly terms: Terms | null;
  readonly own: boolean;
}

export const useCatalogue = () => useSWR("admin-catalogue", getModels, slowRefresh);
export const useCatalogueDocument = () => useSWR("admin-catalogue-files", getDocument, slowRefresh);
export const useUnlisted = () => useSWR("admin-catalogue-unlisted", getUnlisted, slowRefresh);

async function refresh(): Promise<void> {
  const keys = ["admin-catalogue", "admin-catalogue-files", "admin-catalogue-unlisted", "models"];
  await Promise.all(keys.map((key) => mutate(key)));
}

/**
 * Saves what a form changes of the document that it was opened with. After somebody else's change the form keeps what was typed,
 * and is saved on top of that change when it is sent again.
 */
export function useSave(opened: CatalogueDocument) {
  const latest = useRef(opened);
  return async (write: (document: CatalogueDocument) => Promise<unknown>): Promise<void> => {
    try {
      await write(latest.current);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409 || error.param !== "revision") throw error;
      latest.current = await getDocument();
      await refresh();
      const message =
        "Somebody has changed models and prices since this form was opened. Your entries are kept: look at them, and save again";
      throw new ApiError(error.status, { error: { message, code: error.code } });
    }
  };
}

/** Sets the operator's row of a model, or takes it back. @throws {ApiError} With what is wrong. */
export async function writeRow(
  plugin: string,
  model: string,
  row: FileRow | undefined,
  revision: string,
): Promise<void> {
  // Eden leaves a segment of the path as it is, and many names of models have a slash.
  const one = catalogue.models({ catalogue_model_id: encodeURIComponent(`${plugin}:${model}`) });
  await (row === undefined
    ? request(one.delete(undefined, { query: { revision } }))
    : request(one.post({ row: { ...row }, revision })));
  await refresh();
}

/**
 * Sets the operator's terms for a provider's unlisted models. `null` stops their sale; absent restores the plugin's
 * terms.
 */
export async function writeTerms(plugin: string, terms: Terms | null | undefined, revision: string): Promise<void> {
  const one = catalogue.unlisted({ provider_id: plugin });
  await (terms === undefined
    ? request(one.delete(undefined, { query: { revision } }))
    : request(one.post({ terms: terms === null ? null : { ...terms }, revision })));
  await refresh();
}

/** Writes one of the files, or removes it. @throws {ApiError} With what is wrong. */
export async function writeFile(name: string, content: unknown, revision: string): Promise<void> {
  const file = catalogue.files({ file_id: name });
  await (content === undefined
    ? request(file.delete(undefined, { query: { revision } }))
    : request(file.post({ content, revision })));
  await refresh();
}

/**
 * Writes all files exactly as a person typed them, so an error names the right line. @throws {ApiError} With what is
 * wrong.
 */
export async function writeText(text: string, revision: string): Promise<void> {
  await fetchJson("/v1/organization/catalogue", undefined, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: `{"revision":${JSON.stringify(revision)},"files":${text}}`,
  });
  await refresh();
}
