import { isDeepStrictEqual } from "node:util";
import { Type } from "@sinclair/typebox";
import { changeCatalogue } from "../catalogue.ts";
import { entriesOf } from "./plan-entries.ts";
import { defineSection, type Planning, type Step } from "./section.ts";

/** The operator's files of models. They are one document: what it does not have is removed. */
export const catalogue = defineSection({
  schema: Type.Record(Type.String(), Type.Unknown(), { description: "The operator's files by name without .json" }),
  area: "catalogue",
  read(deps) {
    const { virtual: _, ...files } = deps.catalogue.read().files;
    return files;
  },
  plan: (planning, files, { virtual_models: virtual }) =>
    planFiles(planning, { files, virtual: virtual as unknown[] | undefined }),
});

/** The virtual models, which are also a file of the operator. */
export const virtualModels = defineSection({
  schema: entriesOf(Type.Unknown()),
  area: "catalogue",
  read: (deps) => toRows(deps.catalogue.read().files.virtual),
  // If the document has the other files too, the virtual models are planned with them.
  plan: (planning, virtual, document) =>
    document.catalogue === undefined ? planFiles(planning, { files: undefined, virtual }) : [],
});

/** The rows of a file or a manifest. */
export function toRows(file: unknown): unknown[] {
  const rows = Array.isArray(file) ? file : (file as { models?: unknown } | undefined)?.models;
  return Array.isArray(rows) ? rows : [];
}

interface Target {
  /** Absent: they stay as they are. */
  readonly files: Readonly<Record<string, unknown>> | undefined;
  readonly virtual: unknown[] | undefined;
}

/** @throws {GatewayError} `invalid_request` */
function planFiles({ deps, admin, providers: planned }: Planning, { files: written, virtual }: Target): Step[] {
  const { files, revision } = deps.catalogue.read();
  const { virtual: virtualFile, ...others } = files;
  const rows = virtual ?? toRows(virtualFile);
  const isSameVirtual = virtual === undefined || isDeepStrictEqual(virtual, toRows(virtualFile));
  const virtualModelsFile = isSameVirtual ? virtualFile : rows.length === 0 ? undefined : { models: rows };
  const target = {
    ...(written ?? others),
    ...(virtualModelsFile !== undefined && { virtual: virtualModelsFile }),
  };
  const change = changeCatalogue(deps, target, { planned });
  if (change.files.length === 0) return [];
  const names = new Set(change.files.map((name) => name.replace(/\.json$/, "")));
  const fields = Object.fromEntries(
    [...names].map((name) => [name, { before: files[name] ?? null, after: (target as typeof files)[name] ?? null }]),
  );
  return [{ id: "catalogue", action: "change", fields, run: () => change.write(admin.accountId, revision) }];
}
