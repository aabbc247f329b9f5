/** The routes of a managed thing, made from what is declared of it. */
import { type Static, type TObject, type TProperties, Type } from "@sinclair/typebox";
import { type AnyElysia, Elysia } from "elysia";
import type { Administrator } from "../../audit/index.ts";
import {
  answerFields,
  bodyFields,
  type Changeable,
  type ColumnsOf,
  changeFields,
  type Fields,
  type JsonOf,
  type Schemas,
  toColumns,
  toJson,
} from "../../lib/fields.ts";
import type { AdminKeyArea } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type AdminApi, adminRoutes, describeDelete, describeRead, describeWrite, writeOnce } from "./guard.ts";
import { listOf, listParameters, readPage, toList } from "./lists.ts";

/** A managed thing, such as a budget: its fields, what answers say besides, and what is done with it. */
export interface Resource<Row extends { readonly id: string }, F extends Fields<Row>, Derived extends object> {
  /** In sentences: "budget". */
  readonly name: string;
  readonly area: AdminKeyArea;
  /** The parameter of paths that has its id: "budget_id". */
  readonly idName: string;
  readonly fields: F;
  /** The properties of answers that are no fields. */
  readonly derived: TProperties;
  /** The name of what a deletion answers. */
  readonly deleted: string;
  /** Puts names in their stored form, such as the id of a model. */
  resolve?(deps: HttpDeps, columns: Partial<ColumnsOf<Row, F>>): Partial<ColumnsOf<Row, F>>;
  /** @param after The last one of the page before. */
  list(deps: HttpDeps, owner: string, page: { limit: number; after: Row | undefined }): Promise<Row[]>;
  read(deps: HttpDeps, owner: string, id: string): Promise<Row>;
  create(deps: HttpDeps, by: Administrator, owner: string, columns: Partial<ColumnsOf<Row, F>>): Promise<Row>;
  change(deps: HttpDeps, by: Administrator, target: Target, columns: Partial<ColumnsOf<Row, F>>): Promise<Row>;
  remove(deps: HttpDeps, by: Administrator, target: Target): Promise<void>;
  /** Reads what answers say besides the fields. */
  derive(deps: HttpDeps, rows: readonly Row[]): Promise<(row: Row) => Derived>;
}

interface Target {
  readonly owner: string;
  readonly id: string;
}

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

/** Returns answers for rows. */
export async function toAnswers<Row extends { readonly id: string }, F extends Fields<Row>, Derived extends object>(
  deps: HttpDeps,
  { fields, derive }: Resource<Row, F, Derived>,
  rows: readonly Row[],
): Promise<(row: Row) => JsonOf<F> & Derived & { id: string }> {
  const toDerived = await derive(deps, rows);
  return (row) => ({ id: row.id, ...toJson<Row, F>(fields, row), ...toDerived(row) });
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
  const answer = async (row: Row) => (await toAnswers(deps, resource, [row]))(row);
  const read = (body: object) => {
    const columns = toColumns<Row, F>(fields, body as Record<string, unknown>);
    return resource.resolve?.(deps, columns) ?? columns;
  };
  return new Elysia({ prefix: path })
    .use(adminRoutes(deps, api, resource.area))
    .get(
      "",
      async ({ request, params }) => {
        const owner = await ownerOf(deps, params as Record<string, string>, true);
        const { limit, after } = readPage(parseUrl(request).searchParams);
        const last = after === undefined ? undefined : await resource.read(deps, owner, after);
        const rows = await resource.list(deps, owner, { limit: limit + 1, after: last });
        return toList(rows, limit, await toAnswers(deps, resource, rows));
      },
      { detail: describeRead(`List the ${name}s of ${whose}`, listOf(Answer), { query: listParameters }) },
    )
    .post(
      "",
      ({ request, admin, params, body }) =>
        writeOnce(deps, { request, admin, body }, async () => {
          const owner = await ownerOf(deps, params as Record<string, string>, true);
          return await answer(await resource.create(deps, admin, owner, read(body as object)));
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
        return await answer(await resource.read(deps, owner, id));
      },
      { detail: describeRead(`Retrieve a ${name} of ${whose}`, Answer) },
    )
    .post(
      `/:${idName}`,
      ({ request, admin, params, body }) =>
        writeOnce(deps, { request, admin, body }, async () => {
          return await answer(await resource.change(deps, admin, await targetOf(params), read(body as object)));
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
          await resource.remove(deps, admin, target);
          return { id: target.id, object: resource.deleted, deleted: true };
        }),
      { detail: describeDelete(`Delete a ${name} of ${whose}`, resource.deleted) },
    );
}
