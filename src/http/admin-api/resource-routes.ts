/** The routes of a managed thing, made from what is declared of it. */
import { type Static, type TObject, Type } from "@sinclair/typebox";
import {
  type ApiFields,
  answerFields,
  apiFields,
  bodyFields,
  type Changeable,
  type ColumnsOf,
  changeFields,
  type Fields,
  type JsonOf,
  type Schemas,
} from "../../lib/fields.ts";
import type { HttpDeps } from "../deps.ts";
import { displayNameOf, idOfCountedModel, idOfModel } from "../forms/read-fields.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import type { Below, Endpoint, Intersection, Route } from "../lifecycle/route.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type Declared, resources } from "../resources/index.ts";
import {
  type Mount,
  type Resource,
  type ResourceDeps,
  readColumns,
  type Target,
  toAnswers,
} from "../resources/resource.ts";
import { type AdminApi, adminRoutes, describeDelete, describeRead, describeWrite } from "./guard.ts";
import { listOf, listParameters, readPage, toList } from "./lists.ts";
import { readProject } from "./projects.ts";

/** Dependencies of things at a gateway that runs. */
export function toResourceDeps(deps: HttpDeps): ResourceDeps {
  const { store, now, config } = deps;
  return {
    store,
    now,
    config,
    modelIdOf: (name) => idOfModel(deps, name),
    countedModelIdOf: (name) => idOfCountedModel(deps, name),
    modelNameOf: (id) => displayNameOf(deps, id),
  };
}

/** The types of the routes of all declared things, for the dashboard. */
export type ResourceApi = Intersection<ApiOf<Declared>>;

type ApiOf<Thing> = Thing extends {
  readonly mounts: readonly { readonly path: infer Path extends string }[];
  readonly idName: infer Id extends string;
  readonly fields: infer F extends Fields<never>;
  readonly deleted?: infer Deleted;
  derive(...args: never[]): Promise<(row: never) => infer Derived>;
}
  ? Intersection<
      Path extends string
        ? Below<Path, Endpoints<Id, ApiFields<F>, Derived> & Changes<NonNullable<Deleted>, Id, ApiFields<F>, Derived>>
        : never
    >
  : never;

type Endpoints<Id extends string, F extends Fields<never>, Derived> = {
  get: Endpoint<unknown, unknown, ReturnType<typeof toList<never, AnswerOf<F, Derived>>>>;
} & {
  [Name in `:${Id}`]: {
    get: Endpoint<unknown, unknown, AnswerOf<F, Derived>>;
    post: Endpoint<Static<TObject<Changeable<F>>>, unknown, AnswerOf<F, Derived>>;
  };
};

/** A thing that is never deleted is not created either. */
type Changes<Deleted, Id extends string, F extends Fields<never>, Derived> = [Deleted] extends [never]
  ? unknown
  : { post: Endpoint<Static<TObject<Schemas<F>>>, unknown, AnswerOf<F, Derived>> } & {
      [Name in `:${Id}`]: { delete: Endpoint<unknown, unknown, { id: string; object: string; deleted: boolean }> };
    };

type AnswerOf<F extends Fields<never>, Derived> = { id: string } & JsonOf<F> & Derived;

/** Makes the routes of declared things. Their types are those of {@link ResourceApi}. */
export function declaredRoutes(deps: HttpDeps, api: AdminApi): Route[] {
  return resources.flatMap(({ visit }) =>
    visit((resource) => resource.mounts.flatMap((mount) => resourceRoutes(deps, api, resource, mount))),
  );
}

/** The routes of a thing. */
function resourceRoutes<Row extends { readonly id: string }, F extends Fields<Row>, Derived extends object>(
  deps: HttpDeps,
  api: AdminApi,
  resource: Resource<Row, F, Derived>,
  { path, owner: kind, whole, ...texts }: Mount<Row, Partial<ColumnsOf<Row, F>>>,
): Route[] {
  const { name, idName, create, remove, deleted = "" } = resource;
  const fields: Fields<Row> = apiFields<Fields<Row>>(resource.fields);
  const whose = kind === "project" ? "a project" : "the gateway";
  /** The owner in the path, which a thing of it has to have. */
  const ownerIn = (params: unknown) =>
    kind === "project" ? ((params as { project_id?: string }).project_id ?? "") : resource.eachOwner;
  const readOwner = async (params: unknown) =>
    kind === "project" ? (await readProject(deps, ownerIn(params))).id : resource.eachOwner;
  const targetOf = (params: unknown) => {
    return { owner: ownerIn(params), id: (params as Readonly<Record<string, string>>)[idName] ?? "" };
  };
  const Answer = Type.Object({ id: Type.String(), ...answerFields(fields), ...resource.derived });
  const resourceDeps = toResourceDeps(deps);
  const answer = async (row: Row) => (await toAnswers(resourceDeps, resource, [row], fields))(row);
  const read = (body: unknown) => readColumns(resourceDeps, resource, body as Record<string, unknown>, fields);
  const readOne = async ({ owner, id }: Target) =>
    id === whole?.id ? await whole.read(resourceDeps, owner) : await resource.read(resourceDeps, owner, id);
  const route = adminRoutes(deps, api, { path, area: resource.area });
  const routes: Route[] = [
    route.get(
      "",
      async ({ request, params }) => {
        const owner = await readOwner(params);
        const { limit, after } = readPage(parseUrl(request).searchParams);
        const first = whole !== undefined && after === undefined ? [await whole.read(resourceDeps, owner)] : [];
        const last =
          after === undefined || after === whole?.id ? undefined : await resource.read(resourceDeps, owner, after);
        const listed = await resource.list(resourceDeps, [owner], { limit: limit + 1, after: last });
        const rows = [...first, ...listed];
        return toList(rows, limit, await toAnswers(resourceDeps, resource, rows, fields));
      },
      {
        detail: describeRead(`List the ${name}s of ${whose}`, listOf(Answer), {
          query: listParameters,
          ...(texts.lists !== undefined && { description: texts.lists }),
        }),
      },
    ),
    route.get(`/:${idName}`, async ({ params }) => answer(await readOne(targetOf(params))), {
      detail: describeRead(`Retrieve a ${name} of ${whose}`, Answer),
    }),
    route.post(
      `/:${idName}`,
      async ({ admin, params, body }) => {
        const target = targetOf(params);
        const columns = await read(body);
        return await answer(
          target.id === whole?.id
            ? await whole.change(resourceDeps, admin, await readOwner(params), columns)
            : await resource.change(resourceDeps, admin, target, columns),
        );
      },
      {
        body: formBody(changeFields<Fields<Row>>(fields)),
        detail: describeWrite(`Change a ${name} of ${whose}`, Answer, { description: texts.changes }),
      },
    ),
  ];
  if (create !== undefined) {
    routes.push(
      route.post(
        "",
        async ({ admin, params, body }) => {
          const owner = await readOwner(params);
          return await answer(await create(resourceDeps, admin, owner, await read(body)));
        },
        {
          body: formBody(bodyFields<Fields<Row>>(fields)),
          detail: describeWrite(
            `Create a ${name} of ${whose}`,
            Answer,
            texts.creates === undefined ? {} : { description: texts.creates },
          ),
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
          return { id: target.id, object: deleted, deleted: true };
        },
        { detail: describeDelete(`Delete a ${name} of ${whose}`, deleted) },
      ),
    );
  }
  return routes;
}
