import { type Static, Type } from "@sinclair/typebox";
import { recordAudit } from "../../audit/index.ts";
import { GatewayError, nullable, quoteValue } from "../../contract/index.ts";
import { inTransaction } from "../../db/index.ts";
import { describeRoutes } from "../../kernel/index.ts";
import type { ApiAdministrator } from "../../keys/index.ts";
import { getDisplayName, type Model } from "../../provider/index.ts";
import {
  explainUnserved,
  getTerms,
  type PlannedProviders,
  parseFile,
  setRow,
  setTerms,
} from "../../providers/index.ts";
import { PluginError } from "../../sdk/errors.ts";
import type { HttpDeps } from "../deps.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { declaredBytes, readBodyText, toWellFormedJson } from "../lifecycle/read-body.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type AdminApi, adminRoutes, describeRead, describeWrite } from "./guard.ts";
import { invalid, listOf, listParameters, pickPage, readFlag, readPage, toList, toListParameters } from "./lists.ts";

/** The largest catalogue that is taken, in bytes: several thousand rows. */
const catalogueBytesMax = 4 * 1024 * 1024;
/** How much of what changed the audit log keeps, in characters. */
const changesMax = 4000;
/** Maximum number of models on a page; a gateway may have several hundred. */
const modelsMax = 1000;

const expectedRevision = {
  maxLength: 100,
  description: "Revision of the catalogue that was read; if it has changed since, the request is a `conflict`",
};
const revision = Type.Optional(Type.String(expectedRevision));
const Files = Type.Record(Type.String(), Type.Unknown(), {
  description: "Your files by name without `.json`: the name of the plugin whose models the file changes, or `virtual`",
});
const Fields = Type.Record(Type.String(), Type.Unknown());
const CatalogueChange = formBody({
  revision: Type.String({
    maxLength: 100,
    description: "Revision of the catalogue that was edited; `*` overwrites any revision",
  }),
  files: Files,
});
const FileChange = formBody({
  content: Type.Unknown({ description: 'The whole file, such as `{"models": [{"id": …}]}`' }),
  revision,
});
const ModelChange = formBody({
  row: Type.Record(Type.String(), Type.Unknown(), {
    description: "The fields that you set, which replace the fields set earlier; `null` removes a field",
  }),
  revision,
});
const UnlistedChange = formBody({
  terms: nullable(
    Type.Record(Type.String(), Type.Unknown(), {
      description: "`premium`, `price` and other fields for all unlisted models; `null`: unlisted models are not sold",
    }),
  ),
  revision,
});

const CatalogueObject = Type.Object({ revision: Type.String(), files: Files });
const change = {
  revision: Type.String({ description: "Revision of the whole catalogue" }),
  files: Type.Array(Type.String(), { description: "The files that it writes or removes" }),
  changes: Type.Array(Type.String(), { description: "Effects on models, as messages" }),
  dry_run: Type.Boolean(),
};
const FileObject = Type.Object({
  id: Type.String({ description: "The name of a plugin whose models it changes, or `virtual`" }),
  object: Type.Literal("organization.catalogue.file"),
  content: Type.Unknown(),
  revision: change.revision,
});
const model = {
  id: Type.String({ description: "`<provider>:<model>`, such as `openai:gpt-4.1`" }),
  object: Type.Literal("organization.catalogue.model"),
  plugin: Type.String(),
  model: Type.String(),
  name: Type.String({ description: "The name that clients write; its other names are `model` and `row.aliases`" }),
  row: Type.Record(Type.String(), Type.Unknown(), { description: "All layers combined: the active values" }),
  base: nullable(Type.Record(Type.String(), Type.Unknown(), { description: "The plugin's own row" })),
  signed: nullable(Type.Record(Type.String(), Type.Unknown(), { description: "The row of a signed price file" })),
  own: nullable(Type.Record(Type.String(), Type.Unknown(), { description: "What you say" })),
  own_files: Type.Array(Type.String(), { description: "Your files with fields of the model" }),
  routes: Type.Array(
    Type.Object({
      plugin: Type.String(),
      priority: Type.Integer(),
      weight: Type.Integer(),
      state: Type.Union([Type.Literal("closed"), Type.Literal("half_open"), Type.Literal("open")]),
    }),
    { description: "The providers that answer calls of it" },
  ),
  unserved_reason: nullable(
    Type.String({ description: "Why its provider answers no calls, such as for want of a key; `null` if it does" }),
  ),
};
const ModelObject = Type.Object(model);
const ModelList = Type.Intersect([
  listOf(ModelObject),
  Type.Object({
    warnings: Type.Array(Type.String(), { description: "Errors, with file and position" }),
    shared: Type.Boolean({
      description: "Whether other gateways may use the database; each gateway has its own files",
    }),
  }),
]);
const unlisted = {
  id: Type.String({ description: "The provider" }),
  object: Type.Literal("organization.catalogue.unlisted"),
  terms: nullable(Fields),
  own: Type.Boolean({ description: "Whether these are your terms, not the plugin's" }),
};
const toDeleted = (object: string) =>
  Type.Object({
    id: Type.String(),
    object: Type.Literal(`${object}.deleted`),
    deleted: Type.Boolean(),
    ...change,
  });
const dryRun = {
  dry_run: {
    description: "Only report the changes, without applying them",
    schema: { type: "boolean", default: false },
  },
};
/** Parameters of a deletion. It has no body, so its revision is a parameter. */
const deletion = {
  ...dryRun,
  revision: { description: expectedRevision.description, schema: { type: "string" } },
};

/** Models, prices and virtual models: what is in force and where it comes from, and the operator's own files, which change it. */
export function organizationCatalogueController(deps: HttpDeps, api: AdminApi) {
  return [
    ...catalogueDocumentController(deps, api),
    ...catalogueModelsController(deps, api),
    ...unlistedModelsController(deps, api),
    ...catalogueFilesController(deps, api),
  ];
}

const catalogueRoutes = <const Path extends string>(deps: HttpDeps, api: AdminApi, path: Path) =>
  adminRoutes(deps, api, { path, area: "catalogue", readBody: readCatalogueBody });

/** The operator's files as one document. */
function catalogueDocumentController(deps: HttpDeps, api: AdminApi) {
  const route = catalogueRoutes(deps, api, "/organization/catalogue");
  return [
    route.get("", () => readCatalogue(deps), {
      detail: describeRead("Retrieve the operator's files of models and prices as one document", CatalogueObject),
    }),
    route.put("", ({ request, admin, body }) => writeFiles(deps, { request, admin, ...body, param: "files" }), {
      body: CatalogueChange,
      detail: describeWrite("Replace the operator's files of models and prices", Type.Object(change), {
        description:
          "Replaces all files: a file that is absent from the body is removed. The body is checked as a whole. If a row cannot " +
          "be sold, nothing is written, and the error names the file and the position.",
        query: dryRun,
      }),
    }),
  ];
}

/** Models one by one, with the layers of each. */
function catalogueModelsController(deps: HttpDeps, api: AdminApi) {
  const route = catalogueRoutes(deps, api, "/organization/catalogue/models");
  return [
    route.get(
      "",
      ({ request }) => {
        const query = parseUrl(request).searchParams;
        const page = pickPage(listModels(deps), query, ({ id }) => id, modelsMax);
        const { warnings } = deps.snapshot();
        return {
          ...toList(page, readPage(query, modelsMax).limit, (entry) => entry),
          warnings,
          shared: deps.store.shared,
        };
      },
      {
        detail: describeRead("List the models of all providers, with where each field comes from", ModelList, {
          description: "Includes disabled models, and models of providers without a key.",
          query: toListParameters(modelsMax),
        }),
      },
    ),
    route.get("/:catalogue_model_id", ({ params: { catalogue_model_id: id } }) => expectModel(deps, id), {
      detail: describeRead("Retrieve a model with where each field comes from", ModelObject),
    }),
    route.post(
      "/:catalogue_model_id",
      async ({ request, admin, body, params: { catalogue_model_id: id } }) => {
        const place = readPlace(deps, id);
        const { id: named = place.id, ...fields } = body.row;
        if (named !== place.id) throw invalid("row.id", `row.id must be ${quoteValue(place.id)}`);
        const files = setRow(readCatalogue(deps).files, place, { id: place.id, ...fields });
        const written = await writeFiles(deps, { request, admin, files, revision: body.revision, param: "row" });
        const model = listModels(deps).find((model) => model.id === id);
        // A model that a dry run would add is not there.
        return { ...(model ?? { id, object: "organization.catalogue.model" as const }), ...written };
      },
      {
        body: ModelChange,
        detail: describeWrite(
          "Set your fields of a model, or add a model",
          Type.Object({
            ...Type.Partial(ModelObject).properties,
            id: model.id,
            object: model.object,
            ...change,
          }),
          {
            description:
              "The fields are written to your file of its provider, and are active as soon as the request is answered.",
            query: dryRun,
          },
        ),
      },
    ),
    route.delete(
      "/:catalogue_model_id",
      async ({ request, admin, params: { catalogue_model_id: id } }) => {
        if (expectModel(deps, id).own === null)
          throw new GatewayError("not_found", `You have not set any fields of ${quoteValue(id)}`);
        const files = setRow(readCatalogue(deps).files, readPlace(deps, id), undefined);
        const revision = readRevision(request);
        const written = await writeFiles(deps, { request, admin, files, revision, param: "row" });
        const deleted = { id, object: "organization.catalogue.model.deleted" as const, deleted: !written.dry_run };
        return { ...deleted, ...written };
      },
      {
        detail: describeWrite("Remove your fields of a model", toDeleted("organization.catalogue.model"), {
          description: "The model gets the values of its plugin and signed files; a model that you added is removed.",
          query: deletion,
        }),
      },
    ),
  ];
}

/** Prices and limits of providers' models that have no row; the models are in the list of models once they are found. */
function unlistedModelsController(deps: HttpDeps, api: AdminApi) {
  const find = (id: string) => {
    const plugin = deps.snapshot().plugins.find(({ name }) => name === id);
    if (plugin === undefined) throw new GatewayError("not_found", `No provider is called ${quoteValue(id)}`);
    return { id, object: "organization.catalogue.unlisted" as const, terms: plugin.unlisted ?? null };
  };
  const route = catalogueRoutes(deps, api, "/organization/catalogue/unlisted");
  return [
    route.get(
      "",
      ({ request }) => {
        const query = parseUrl(request).searchParams;
        const names = deps.snapshot().plugins.map(({ name }) => name);
        const page = pickPage(names.sort(), query, (name) => name);
        const { files } = readCatalogue(deps);
        return toList(page, readPage(query).limit, (name) => ({ ...find(name), own: getTerms(files, name) != null }));
      },
      {
        detail: describeRead(
          "List the providers with their prices for unlisted models",
          listOf(Type.Object(unlisted)),
          { query: listParameters },
        ),
      },
    ),
    route.post(
      "/:provider_id",
      async ({ request, admin, body, params: { provider_id: id } }) => {
        find(id);
        const files = setTerms(readCatalogue(deps).files, id, body.terms);
        const written = await writeFiles(deps, { request, admin, files, revision: body.revision, param: "terms" });
        return { ...find(id), own: getTerms(readCatalogue(deps).files, id) != null, ...written };
      },
      {
        body: UnlistedChange,
        detail: describeWrite(
          "Set the prices of a provider's unlisted models, or stop selling them",
          Type.Object({ ...unlisted, ...change }),
          { description: "The provider's models are listed at once, and then every hour.", query: dryRun },
        ),
      },
    ),
    route.delete(
      "/:provider_id",
      async ({ request, admin, params: { provider_id: id } }) => {
        find(id);
        const { files } = readCatalogue(deps);
        if (getTerms(files, id) === undefined) {
          throw new GatewayError("not_found", `You have no terms for the unlisted models of ${id}`);
        }
        const rest = setTerms(files, id, undefined);
        const revision = readRevision(request);
        const written = await writeFiles(deps, { request, admin, files: rest, revision, param: "terms" });
        const deleted = { id, object: "organization.catalogue.unlisted.deleted" as const, deleted: !written.dry_run };
        return { ...deleted, ...written };
      },
      {
        detail: describeWrite(
          "Remove your terms for a provider's unlisted models",
          toDeleted("organization.catalogue.unlisted"),
          { description: "The terms of its plugin apply again, if there are any.", query: deletion },
        ),
      },
    ),
  ];
}

/** The operator's files one by one. */
function catalogueFilesController(deps: HttpDeps, api: AdminApi) {
  const route = catalogueRoutes(deps, api, "/organization/catalogue/files");
  return [
    route.get(
      "/:file_id",
      ({ params: { file_id: id } }) => {
        const { files, revision } = readCatalogue(deps);
        return toFile(id, expectFile(files, id), revision);
      },
      {
        detail: describeRead("Retrieve a file of models and prices", FileObject),
      },
    ),
    route.post(
      "/:file_id",
      async ({ request, admin, body, params: { file_id: id } }) => {
        const files = { ...readCatalogue(deps).files, [id]: body.content };
        const written = await writeFiles(deps, { request, admin, files, revision: body.revision, param: "content" });
        return { ...toFile(id, body.content, written.revision), ...written };
      },
      {
        body: FileChange,
        detail: describeWrite(
          "Create or replace a file of models and prices",
          Type.Object({ ...FileObject.properties, ...change }),
          {
            description: "It is active as soon as the request is answered, on the gateway that answers.",
            query: dryRun,
          },
        ),
      },
    ),
    route.delete(
      "/:file_id",
      async ({ request, admin, params: { file_id: id } }) => {
        const { files } = readCatalogue(deps);
        expectFile(files, id);
        const { [id]: _, ...rest } = files;
        const revision = readRevision(request);
        const written = await writeFiles(deps, { request, admin, files: rest, revision, param: "content" });
        const deleted = { id, object: "organization.catalogue.file.deleted" as const, deleted: !written.dry_run };
        return { ...deleted, ...written };
      },
      {
        detail: describeWrite("Delete a file of models and prices", toDeleted("organization.catalogue.file"), {
          query: deletion,
        }),
      },
    ),
  ];
}

/** All models with their layers, also those that are disabled. */
function listModels({ catalogue, kernel, snapshot }: HttpDeps) {
  const { plugins, states } = snapshot();
  const statuses = new Map(states.map(({ name, status }) => [name, status]));
  const unserved = new Map(plugins.map((plugin) => [plugin.name, explainUnserved(plugin, statuses.get(plugin.name))]));
  return catalogue.layers().map(({ id: model, base, signed, own, ownFiles, ...layers }) => {
    const modelEntry = kernel.registry.byName(model);
    return {
      id: `${layers.plugin}:${model}`,
      object: "organization.catalogue.model" as const,
      ...layers,
      model,
      name: getDisplayName({ upstreamId: model, ...(layers.row as Partial<Model>), id: model }),
      base: base ?? null,
      signed: signed ?? null,
      own: own ?? null,
      own_files: ownFiles,
      routes: modelEntry?.model.id === model ? describeRoutes(modelEntry, kernel.now()) : [],
      unserved_reason: unserved.get(layers.plugin) ?? null,
    };
  });
}

/** @throws {GatewayError} `not_found` */
function expectModel(deps: HttpDeps, id: string) {
  const model = listModels(deps).find((model) => model.id === id);
  if (model !== undefined) return model;
  throw new GatewayError("not_found", `There is no model ${quoteValue(id)}; ids are <provider>:<model>`);
}

/** The provider and the model that an id names; the model need not be there. @throws {GatewayError} `not_found` */
function readPlace({ snapshot }: HttpDeps, id: string): { plugin: string; id: string } {
  const [, plugin, model] = /^([^:]*):(.+)$/.exec(id) ?? [];
  if (model !== undefined && snapshot().plugins.some(({ name }) => name === plugin)) {
    return { plugin: plugin as string, id: model };
  }
  throw new GatewayError("not_found", `No provider has the model ${quoteValue(id)}; ids are <provider>:<model>`);
}

function toFile(id: string, content: unknown, revision: string): Static<typeof FileObject> {
  return { id, object: "organization.catalogue.file", content, revision };
}

/** @throws {GatewayError} `not_found` */
function expectFile(files: Readonly<Record<string, unknown>>, id: string): unknown {
  if (Object.hasOwn(files, id)) return files[id];
  throw new GatewayError("not_found", `There is no file ${quoteValue(id)}`);
}

/** The operator's files with their revision. @throws {GatewayError} `invalid_request` when one cannot be read. */
function readCatalogue(deps: HttpDeps) {
  return refusing(() => deps.catalogue.read(), "files");
}

/** The revision that a deletion expects, if it names one. */
function readRevision(request: Request): string | undefined {
  return parseUrl(request).searchParams.get("revision") ?? undefined;
}

/** Writes the files, unless the request is a dry run. @throws {GatewayError} `invalid_request`, `conflict` */
async function writeFiles(
  deps: HttpDeps,
  {
    request,
    admin,
    files,
    revision,
    param,
  }: {
    request: Request;
    admin: ApiAdministrator;
    files: Readonly<Record<string, unknown>>;
    /** The revision of the files that were edited; absent: of those that are there. */
    revision?: string | undefined;
    param: string;
  },
) {
  const isDryRun = readFlag(parseUrl(request).searchParams, "dry_run");
  const now = readCatalogue(deps).revision;
  const expected = revision ?? now;
  if (isDryRun && expected !== "*" && expected !== now) throw overtaken();
  const change = changeCatalogue(deps, files, { param });
  const written = isDryRun ? now : await change.write(admin.accountId, expected);
  return { files: [...change.files], revision: written, dry_run: isDryRun, changes: [...change.models] };
}

/**
 * Checks all files of the catalogue together. `write` then writes them with an audit entry, and returns the new
 * revision once the files are in use.
 *
 * @param param The field of the request that contains the files, for errors.
 * @throws {GatewayError} `invalid_request` for the files; `write` throws `conflict` when the files no longer have the
 * expected revision.
 */
export function changeCatalogue(
  deps: HttpDeps,
  files: Readonly<Record<string, unknown>>,
  { param = "files", planned }: { param?: string; planned?: PlannedProviders } = {},
) {
  const change = refusing(() => deps.catalogue.check(files, planned), param);
  const write = async (by: string, expected: string): Promise<string> => {
    await inTransaction(deps.store, async (scope) => {
      const detail = { files: change.files.join(", "), changes: shorten(change.models) };
      const entry = { accountId: by, action: "catalogue.change", subject: "catalogue", detail };
      if (change.files.length > 0) await recordAudit(scope, entry, deps.now());
      // Nothing can come between the check and the files.
      if (expected !== "*" && expected !== readCatalogue(deps).revision) throw overtaken();
      refusing(() => change.write(), param);
    });
    await deps.catalogue.reload();
    return deps.catalogue.read().revision;
  };
  return { files: change.files, models: change.models, write };
}

/** @throws {GatewayError} `payload_too_large`, or `invalid_request` with the line and column. */
export async function readCatalogueBody(deps: HttpDeps, request: Request): Promise<unknown> {
  declaredBytes(request, catalogueBytesMax);
  const text = await readBodyText(deps, request, catalogueBytesMax);
  if (text === "") return null;
  return refusing(() => parseFile(toWellFormedJson(text), "body"), "body", "Cannot read the body as JSON: ");
}

/** An error in the files is an error of the request. */
function refusing<T>(work: () => T, param: string, before = ""): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof PluginError)) throw error;
    throw new GatewayError("invalid_request", `${before}${error.message}`, { param, cause: error });
  }
}

function overtaken(): GatewayError {
  const message = "Models and prices have changed since you read them: read them again and repeat your change";
  return new GatewayError("conflict", message, { param: "revision" });
}

function shorten(lines: readonly string[]): string {
  const text = lines.join("\n");
  return text.length <= changesMax ? text : `${text.slice(0, changesMax)}… (${lines.length} models in all)`;
}
