/** The routes of a managed thing, made from what is declared of it. */
import { type Static, type TObject, Type } from "@sinclair/typebox";
import { type AnyElysia, Elysia } from "elysia";
import {
  answerFields,
  bodyFields,
  type Changeable,
  changeFields,
  type Fields,
  type JsonOf,
  type Schemas,
} from "../../lib/fields.ts";
import type { HttpDeps } from "../deps.ts";
import { idOfModel } from "../forms/read-fields.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type Resource, type ResourceDeps, readColumns, toAnswers } from "../resources/resource.ts";
import { type AdminApi, adminRoutes, describeDelete, describeRead, describeWrite, writeOnce } from "./guard.ts";
import { listOf, listParameters, readPage, toList } from "./lists.ts";

/** Where routes of a thing are, and whose things they are about. */
export interface Mount {
  readonly path: string;
  /** In sentences: "a project". */
  readonly whose: string;
  /** Described below the summary of the route that creates one. */
  readonly creates: string;
  readonly changes: string;
  /** The owner in the path. @param isExpected Whether one that does not exist is a 404. */
  ownerOf(deps: HttpDeps, params: Readonly<Record<string, string>>, isExpected: boolean): Promise<string> | string;
}

/** Dependencies of things at a gateway that runs. */
export function toResourceDeps(deps: HttpDeps): ResourceDeps {
  const { store, now } = deps;
  return { store, now, modelIdOf: (name) => idOfModel(deps, name) };
}

/** An endpoint, as the types of its client have it. */
interface Endpoint<Body, Response> {
  body: Body;
  params: unknown;
  query: unknown;
  headers: unknown;
  response: { 200: Response };
}

/** `"/a/:b"` as nested members. */
type Below<Path extends string, Value> = Path extends `/${infer Rest}`
  ? Below<Rest, Value>
  : Path extends `${infer Head}/${infer Tail}`
    ? { [Name in Head]: Below<Tail, Value> }
    : { [Name in Path]: Value };

/** The types of the routes of a thing, for the dashboard. */
export type ResourceApi<
  Path extends string,
  Id extends string,
  F extends Fields<never>,
  Derived extends object,
> = Below<
  Path,
  {
    get: Endpoint<unknown, ReturnType<typeof toList<never, AnswerOf<F, Derived>>>>;
    post: Endpoint<Static<TObject<Schemas<F>>>, AnswerOf<F, Derived>>;
  } & {
    [Name in `:${Id}`]: {
      get: Endpoint<unknown, AnswerOf<F, Derived>>;
      post: Endpoint<Static<TObject<Changeable<F>>>, AnswerOf<F, Derived>>;
      delete: Endpoint<unknown, { id: string; object: string; deleted: boolean }>;
    };
  }
>;

type AnswerOf<F extends Fields<never>, Derived> = { id: string } & JsonOf<F> & Derived;

/** The five routes of a thing. Their types are those of {@link ResourceApi}. */
export function resourceRoutes<Row extends { readonly id: string }, F extends Fields<Row>, Derived extends object>(
  deps: HttpDeps,
  api: AdminApi,
  resource: Resource<Row, F, Derived>,
  { path, whose, ownerOf, ...texts }: Mount,
): AnyElysia {
  const { name, fields, idName } = resource;
  const targetOf = async (params: unknown) => {
    const named = params as Readonly<Record<string, string>>;
    return { owner: await ownerOf(deps, named, false), id: named[idName] ?? "" };
  };
  const Answer = Type.Object({ id: Type.String(), ...answerFields(fields), ...resource.derived });
  const resourceDeps = toResourceDeps(deps);
  const answer = async (row: Row) => (await toAnswers(resourceDeps, resource, [row]))(row);
  const read = (body: unknown) => readColumns(resourceDeps, resource, body as Record<string, unknown>);
  return new Elysia({ prefix: path })
    .use(adminRoutes(deps, api, resource.area))
    .get(
      "",
      async ({ request, params }) => {
        const owner = await ownerOf(deps, params as Record<string, string>, true);
        const { limit, after } = readPage(parseUrl(request).searchParams);
        const last = after === undefined ? undefined : await resource.read(resourceDeps, owner, after);
        const rows = await resource.list(resourceDeps, owner, { limit: limit + 1, after: last });
        return toList(rows, limit, await toAnswers(resourceDeps, resource, rows));
      },
      { detail: describeRead(`List the ${name}s of ${whose}`, listOf(Answer), { query: listParameters }) },
    )
    .post(
      "",
      ({ request, admin, params, body }) =>
        writeOnce(deps, { request, admin, body }, async () => {
          const owner = await ownerOf(deps, params as Record<string, string>, true);
          return await answer(await resource.create(resourceDeps, admin, owner, await read(body)));
        }),
      {
        body: formBody(bodyFields(fields)),
        detail: describeWrite(`Create a ${name} of ${whose}`, Answer, { description: texts.creates }),
      },
    )
    .get(
      `/:${idName}`,
      async ({ params }) => {
        const { owner, id } = await targetOf(params);
        return await answer(await resource.read(resourceDeps, owner, id));
      },
      { detail: describeRead(`Retrieve a ${name} of ${whose}`, Answer) },
    )
    .post(
      `/:${idName}`,
      ({ request, admin, params, body }) =>
        writeOnce(deps, { request, admin, body }, async () => {
          return await answer(await resource.change(resourceDeps, admin, await targetOf(params), await read(body)));
        }),
      {
        body: formBody(changeFields(fields)),
        detail: describeWrite(`Change a ${name} of ${whose}`, Answer, { description: texts.changes }),
      },
    )
    .delete(
      `/:${idName}`,
      ({ request, admin, params }) =>
        writeOnce(deps, { request, admin }, async () => {
          const target = await targetOf(params);
          await resource.remove(resourceDeps, admin, target);
          return { id: target.id, object: resource.deleted, deleted: true };
        }),
      { detail: describeDelete(`Delete a ${name} of ${whose}`, resource.deleted) },
    );
}
