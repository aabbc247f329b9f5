import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { GatewayError, quoteValue } from "../../contract/index.ts";
import { changeCatalogue, readCatalogue, readCatalogueBody } from "../dashboard-api/catalogue.ts";
import type { HttpDeps } from "../deps.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type AdminApi, adminRoutes, describeRead, describeWrite, writeOnce } from "./guard.ts";
import { listOf, listParameters, pickPage, readFlag, readPage, toList } from "./lists.ts";

const FileChange = formBody({
  content: Type.Unknown({ description: 'The whole file, such as `{"models": [{"id": …}]}`' }),
  revision: Type.Optional(
    Type.String({ maxLength: 100, description: "Of the catalogue as it was read; another one now is a `conflict`" }),
  ),
});
const FileObject = Type.Object({
  id: Type.String({ description: "The name of a plugin whose models it changes, or `virtual`" }),
  object: Type.Literal("organization.catalogue.file"),
  content: Type.Unknown(),
  revision: Type.String({ description: "Of the whole catalogue" }),
});
const changes = Type.Array(Type.String(), { description: "What becomes of which model, in messages" });
const ChangedFile = Type.Intersect([FileObject, Type.Object({ dry_run: Type.Boolean(), changes })]);
const DeletedFile = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.catalogue.file.deleted"),
  deleted: Type.Boolean(),
  dry_run: Type.Boolean(),
  changes,
});
const dryRun = {
  dry_run: { description: "Only say what would change", schema: { type: "boolean", default: false } },
};

/** The operator's own files of models, prices and virtual models, one by one. The document has them as a whole. */
export function organizationCatalogueController(deps: HttpDeps, api: AdminApi) {
  return new Elysia({ prefix: "/organization/catalogue" })
    .use(adminRoutes(deps, api, "catalogue", readCatalogueBody))
    .get(
      "",
      ({ request }) => {
        const query = parseUrl(request).searchParams;
        const { files, revision } = readCatalogue(deps);
        const page = pickPage(Object.keys(files).sort(), query, (name) => name);
        return toList(page, readPage(query).limit, (id) => toFile(id, files[id], revision));
      },
      {
        detail: describeRead("List the operator's files of models and prices", listOf(FileObject), {
          query: listParameters,
        }),
      },
    )
    .get(
      "/:file_id",
      ({ params: { file_id: id } }) => {
        const { files, revision } = readCatalogue(deps);
        return toFile(id, expectFile(files, id), revision);
      },
      { detail: describeRead("Retrieve a file of models and prices", FileObject) },
    )
    .post(
      "/:file_id",
      ({ request, admin, body, params: { file_id: id } }) =>
        writeOnce(deps, { request, admin, body }, async () => {
          const isDryRun = readFlag(parseUrl(request).searchParams, "dry_run");
          const { files, revision } = readCatalogue(deps);
          const change = changeCatalogue(deps, { ...files, [id]: body.content });
          const expected = body.revision ?? revision;
          const written = isDryRun ? revision : await change.write(admin.accountId, expected);
          return { ...toFile(id, body.content, written), dry_run: isDryRun, changes: [...change.models] };
        }),
      {
        body: FileChange,
        detail: describeWrite("Create or replace a file of models and prices", ChangedFile, {
          description: "It is in force when it is answered, at the gateway that answers.",
          query: dryRun,
        }),
      },
    )
    .delete(
      "/:file_id",
      ({ request, admin, params: { file_id: id } }) =>
        writeOnce(deps, { request, admin }, async () => {
          const isDryRun = readFlag(parseUrl(request).searchParams, "dry_run");
          const { files, revision } = readCatalogue(deps);
          expectFile(files, id);
          const { [id]: _, ...rest } = files;
          const change = changeCatalogue(deps, rest);
          if (!isDryRun) await change.write(admin.accountId, revision);
          const deleted = { id, object: "organization.catalogue.file.deleted" as const, deleted: !isDryRun };
          return { ...deleted, dry_run: isDryRun, changes: [...change.models] };
        }),
      { detail: describeWrite("Delete a file of models and prices", DeletedFile, { query: dryRun }) },
    );
}

function toFile(id: string, content: unknown, revision: string): Static<typeof FileObject> {
  return { id, object: "organization.catalogue.file", content, revision };
}

/** @throws {GatewayError} `not_found` */
function expectFile(files: Readonly<Record<string, unknown>>, id: string): unknown {
  if (Object.hasOwn(files, id)) return files[id];
  throw new GatewayError("not_found", `The catalogue has no file ${quoteValue(id)}`);
}
