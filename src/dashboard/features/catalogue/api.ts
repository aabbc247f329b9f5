import useSWR, { mutate } from "swr";
import { api, fetchJson, request, slowRefresh } from "../../data/api.ts";
import type { ModelRow } from "../models/api.ts";

const getCatalogue = async () => {
  const answer = await request(api.admin.catalogue.get());
  return { ...answer, data: answer.data as unknown as readonly CatalogueModel[] };
};
const getDocument = () => request(api.admin.catalogue.files.get());

/** A row of a file: the fields it names, `null` where it removes one. */
export type FileRow = Readonly<Record<string, unknown>>;
/** The operator's files, and the revision that a change of them must name. */
export type CatalogueDocument = Awaited<ReturnType<typeof getDocument>>;

/** One model of one plugin, with its layers. */
export interface CatalogueModel {
  readonly plugin: string;
  readonly id: string;
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
}

export const useCatalogue = () => useSWR("admin-catalogue", getCatalogue, slowRefresh);
export const useCatalogueDocument = () => useSWR("admin-catalogue-files", getDocument, slowRefresh);

/** Writes all files, unless somebody has changed them since the revision. @throws {ApiError} With what is wrong. */
export async function writeCatalogue({ revision, files }: CatalogueDocument): Promise<void> {
  await writeCatalogueText(JSON.stringify(files), revision);
}

/** {@link writeCatalogue} of the files as a person wrote them, so that an error names the line. */
export async function writeCatalogueText(text: string, revision: string): Promise<void> {
  await fetchJson("/dashboard/api/admin/catalogue/files", undefined, {
    method: "PUT",
    headers: { "content-type": "application/json", "if-match": `"${revision}"` },
    body: `{"files":${text}}`,
  });
  await Promise.all(["admin-catalogue", "admin-catalogue-files", "models"].map((key) => mutate(key)));
}
