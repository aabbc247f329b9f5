/** The routes of a managed thing, made from what is declared of it. */
import { type Static, type TObject, type TProperties, Type } from "@sinclair/typebox";
import { GatewayError } from "../../contract/index.ts";
import type { ModelEntry } from "../../kernel/index.ts";
import {
  type ApiFields,
  answerFields,
  apiFields,
  type Changeable,
  type ColumnsOf,
  changeFields,
  type Fields,
  type JsonOf,
  requestFields,
  type Schemas,
} from "../../lib/fields.ts";
import { getDisplayName, isEnded } from "../../provider/index.ts";
import type { Served } from "../../providers/index.ts";
import type { HttpDeps } from "../deps.ts";
import { displayNameOf, idOfCountedModel, idOfRuledModel, modelNamesOf } from "../forms/read-fields.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import type { Below, Endpoint, Intersection, Route } from "../lifecycle/route.ts";
import { formBody } from "../lifecycle/validate.ts";
import type { Declared } from "../resources/index.ts";
import {
  type AnyResource,
  type Mount,
  oneOf,
  pluralOf,
  type Resource,
  type ResourceDeps,
  readColumns,
  secretOf,
  type Target,
  toAnswers,
} from "../resources/resource.ts";
import { type AdminApi, adminRoutes, describeDelete, describeRead, describeWrite } from "./guard.ts";
import { invalid, listOf, listParameters, readPage, toList } from "./lists.ts";
import { readProject } from "./projects.ts";

/** Dependencies of things at a gateway that runs. */
export function toResourceDeps(deps: HttpDeps): ResourceDeps {
  const { store, now, config, secrets } = deps;
  const served = toServed(deps);
  return {
    store,
    now,
    config,
    secrets,
    findModel: (name) => deps.kernel.registry.byName(name)?.model.id,
    findProvider: (name) => deps.snapshot().plugins.find((plugin) => plugin.name === name)?.name,
    served,
    readServed: () => served,
    hasPolicy: (name) => deps.snapshot().policies.has(name),
    modelIdOf: (name) => idOfRuledModel(deps, name),
    countedModelIdOf: (name) => idOfCountedModel(deps, name),
    modelNameOf: (id) => displayNameOf(deps, id),
  };
}

/** The models that this gateway serves now. */
export function toServed(deps: HttpDeps): Served {
  const namesOf = ({ routes }: ModelEntry) => routes.map(({ plugin }) => plugin.name);
  const pluginOf = (name: string) => deps.snapshot().plugins.find((plugin) => plugin.name === name);
  return {
    describeModel(name) {
      const model = modelNamesOf(deps).find(name);
      const entry = model && deps.kernel.registry.byName(model.id);
      const providers = entry === undefined ? [] : namesOf(entry);
      if (model === undefined) return undefined;
      const { id, capability } = model;
      return { id, name: getDisplayName(model), capability, providers, hasEnded: isEnded(model, deps.now()) };
    },
    // Also while it is disabled.
    capabilitiesOf(provider) {
      const entries = [...deps.kernel.registry.modelEntries].filter((entry) => namesOf(entry).includes(provider));
      const models = [...(pluginOf(provider)?.models ?? []), ...entries.map(({ model }) => model)];
      return new Set(models.map(({ capability }) => capability));
    },
    hasProvider: (name) => pluginOf(name) !== undefined,
    listRoutes: () => [...deps.kernel.registry.modelEntries].map(namesOf),
  };
}

/** The types of the routes of all declared things, for the dashboard. */
export type ResourceApi = Intersection<ResourceApiOf<Declared>>;

/** The types of the routes of a declared thing. */
export type ResourceApiOf<Thing> = Thing extends {
  readonly mounts: readonly { readonly path: infer Path extends string }[];
  readonly idName: infer Id extends string;
  readonly verbs: readonly (infer V)[];
  readonly actions?: infer Actions;
  readonly fields: infer F extends Fields<never>;
  readonly secret?: infer Secret extends TProperties;
  derive(...args: never[]): Promise<(row: never) => infer Derived>;
}
  ? Intersection<
      Path extends string
        ? Below<Path, Endpoints<V, Id, keyof NonNullable<Actions>, ApiFields<F>, Derived, Static<TObject<Secret>>>>
        : never
    >
  : never;

/** The endpoints of the verbs and actions of a thing. */
type Endpoints<V, Id extends string, Action extends PropertyKey, F extends Fields<never>, Derived, Secret> = {
  get: Endpoint<unknown, unknown, ReturnType<typeof toList<never, AnswerOf<F, Derived>>>>;
} & Where<"create", V, { post: Endpoint<Static<TObject<Schemas<F>>>, unknown, AnswerOf<F, Derived> & Secret> }> & {
    [Name in `:${Id}`]: { get: Endpoint<unknown, unknown, AnswerOf<F, Derived>> } & Where<
      "change",
      V,
      { post: Endpoint<Static<TObject<Changeable<F>>>, unknown, AnswerOf<F, Derived>> }
    > &
      Where<"remove", V, { delete: Endpoint<unknown, unknown, { id: string; object: string; deleted: boolean }> }> & {
        [Name in Action]: { post: Endpoint<unknown, unknown, AnswerOf<F, Derived>> };
      };
  };

type Where<Wanted, V, Api> = Wanted extends V ? Api : unknown;

type AnswerOf<F extends Fields<never>, Derived> = { id: string } & JsonOf<F> & Derived;

/** Makes the routes of declared resources. {@link ResourceApi} has their types. */
export function declaredRoutes(deps: HttpDeps, api: AdminApi, resources: readonly AnyResource[]): Route[] {
  return resources.flatMap(({ visit }) =>
    visit((resource) => resource.mounts.flatMap((mount) => resourceRoutes(deps, api, resource, mount))),
  );
}

/** The routes of a thing. */
function resourceRoutes<Row extends { readonly id: string }, F extends Fields<Row>, Derived extends object>(
  deps: HttpDeps,
  api: AdminApi,
  resource: Resource<Row, F, Derived>,
  { path, owner: kind, whole, example, changeExample, ...texts }: Mount<Row, Partial<ColumnsOf<Row, F>>>,
): Route[] {
  const { name, idName, create, change, remove, deleted = "", secret = {}, actions = {} } = resource;
  const fields: Fields<Row> = apiFields<Fields<Row>>(resource.fields);
  const whose = kind === "project" ? "a project" : "the gateway";
  /** The owner in the path, which a thing of it has to have. */
  const ownerIn = (params: unknown) =>
    kind === "project" ? ((params as { project_id?: string }).project_id ?? "") : resource.eachOwner;
  const readOwner = async (params: unknown) =>
    kind === "project" ? (await readProject(deps, ownerIn(params))).id : resource.eachOwner;
  const targetOf = (params: unknown): Target => {
    return { owner: ownerIn(params), id: (params as Readonly<Record<string, string>>)[idName] ?? "" };
  };
  const Answer = Type.Object({ id: Type.String(), ...answerFields(fields), ...resource.derived });
  const resourceDeps = toResourceDeps(deps);
  const serve = async () => {
    if (resource.isServedBy) await deps.providers.apply();
  };
  const answer = async (row: Row) => (await toAnswers(resourceDeps, resource, [row], fields))(row);
  const read = (body: unknown) => readColumns(resourceDeps, resource, body as Record<string, unknown>, fields);
  const readOne = async (params: unknown) => {
    const { owner, id } = targetOf(params);
    if (id === whole?.id) return await whole.read(resourceDeps, await readOwner(params));
    return await resource.read(resourceDeps, owner, id);
  };
  const readLast = (owner: string, after: string) =>
    resource.read(resourceDeps, owner, after).catch((error) => {
      if (!(error instanceof GatewayError) || error.code !== "not_found") throw error;
      throw invalid("after", `No ${name} in this list has the id in after`);
    });
  const described = (description: string | undefined) => (description === undefined ? {} : { description });
  const route = adminRoutes(deps, api, { path, area: resource.area });
  const routes: Route[] = [
    route.get(
      "",
      async ({ request, params }) => {
        const owner = await readOwner(params);
        const { limit, after } = readPage(parseUrl(request).searchParams);
        const first = whole !== undefined && after === undefined ? [await whole.read(resourceDeps, owner)] : [];
        const last = after === undefined || after === whole?.id ? undefined : await readLast(owner, after);
        const listed = await resource.list(resourceDeps, [owner], { limit: limit + 1, after: last });
        const rows = [...first, ...listed];
        return toList(rows, limit, await toAnswers(resourceDeps, resource, rows, fields));
      },
      {
        detail: describeRead(`List the ${pluralOf(name)} of ${whose}`, listOf(Answer), {
          query: listParameters,
          ...described(texts.lists),
        }),
      },
    ),
    route.get(`/:${idName}`, async ({ params }) => answer(await readOne(params)), {
      detail: describeRead(`Retrieve ${oneOf(name)} of ${whose}`, Answer),
    }),
    ...Object.entries(actions).map(([action, { summary, description, run }]) =>
      route.post(
        `/:${idName}/${action}`,
        async ({ admin, params }) => {
          // The id of one that is there: a code, which a command takes as well, would be in the logs of proxies.
          const { id } = await readOne(params);
          return await answer(await run(resourceDeps, admin, id));
        },
        { detail: describeWrite(summary, Answer, { description }) },
      ),
    ),
  ];
  if (change !== undefined) {
    routes.push(
      route.post(
        `/:${idName}`,
        async ({ admin, params, body }) => {
          const target = targetOf(params);
          const columns = await read(body);
          const changed =
            target.id === whole?.id
              ? await whole.change(resourceDeps, admin, await readOwner(params), columns)
              : await change(resourceDeps, admin, target, columns);
          await serve();
          return await answer(changed);
        },
        {
          body: formBody(changeFields<Fields<Row>>(fields)),
          detail: describeWrite(`Change ${oneOf(name)} of ${whose}`, Answer, described(texts.changes)),
          example: changeExample,
        },
      ),
    );
  }
  if (create !== undefined) {
    const Created = Type.Object({ ...Answer.properties, ...secret });
    routes.push(
      route.post(
        "",
        async ({ admin, params, body }) => {
          const owner = await readOwner(params);
          const made = await create(resourceDeps, admin, owner, await read(body));
          await serve();
          return { ...(await answer(made)), ...secretOf(resource, made) };
        },
        {
          body: formBody(requestFields<Fields<Row>>(fields)),
          detail: describeWrite(`Create ${oneOf(name)} of ${whose}`, Created, described(texts.creates)),
          example,
        },
      ),
    );
  }
  if (remove !== undefined) {
    routes.push(
      route.delete(
        `/:${idName}`,
        async ({ admin, params }) => {
          const target = targetOf(params);
          await remove(resourceDeps, admin, target);
          await serve();
          return { id: target.id, object: deleted, deleted: true };
        },
        { detail: describeDelete(`Delete ${oneOf(name)} of ${whose}`, deleted) },
      ),
    );
  }
  return routes;
}
