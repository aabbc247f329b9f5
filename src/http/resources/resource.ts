/** Declarations of managed things, from which their routes, their section of the configuration document and their commands are made. */
import type { TProperties } from "@sinclair/typebox";
import type { Administrator } from "../../audit/index.ts";
import { type ColumnsOf, type Fields, type JsonOf, toColumns, toJson } from "../../lib/fields.ts";
import type { AdminKeyArea } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";

/** The dependencies of the functions that read and write things. */
export interface ResourceDeps extends Pick<HttpDeps, "store" | "now"> {
  /** The id of a model by any of its names; an unknown name is returned as it is. */
  modelIdOf(name: string): Promise<string> | string;
}

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
  resolve?(deps: ResourceDeps, columns: Partial<ColumnsOf<Row, F>>): Promise<Partial<ColumnsOf<Row, F>>>;
  /** @param owner Absent: those of all. @param page.after The last one of the page before. */
  list(deps: ResourceDeps, owner: string | undefined, page: { limit: number; after?: Row | undefined }): Promise<Row[]>;
  /** @param owner Absent: of any owner. @throws {GatewayError} `not_found` */
  read(deps: ResourceDeps, owner: string | undefined, id: string): Promise<Row>;
  ownerOf(row: Row): string;
  create(deps: ResourceDeps, by: Administrator, owner: string, columns: Partial<ColumnsOf<Row, F>>): Promise<Row>;
  change(deps: ResourceDeps, by: Administrator, target: Target, columns: Partial<ColumnsOf<Row, F>>): Promise<Row>;
  remove(deps: ResourceDeps, by: Administrator, target: Target): Promise<void>;
  /** Reads what answers say besides the fields. */
  derive(deps: ResourceDeps, rows: readonly Row[]): Promise<(row: Row) => Derived>;
}

interface Target {
  readonly owner: string;
  readonly id: string;
}

/** Reads the fields of a body. @throws {GatewayError} `invalid_request` */
export async function readColumns<Row extends { readonly id: string }, F extends Fields<Row>, Derived extends object>(
  deps: ResourceDeps,
  { fields, resolve }: Resource<Row, F, Derived>,
  body: Readonly<Record<string, unknown>>,
): Promise<Partial<ColumnsOf<Row, F>>> {
  const columns = toColumns<Row, F>(fields, body);
  return (await resolve?.(deps, columns)) ?? columns;
}

/** Returns answers for rows. */
export async function toAnswers<Row extends { readonly id: string }, F extends Fields<Row>, Derived extends object>(
  deps: ResourceDeps,
  { fields, derive }: Resource<Row, F, Derived>,
  rows: readonly Row[],
): Promise<(row: Row) => JsonOf<F> & Derived & { id: string }> {
  const toDerived = await derive(deps, rows);
  return (row) => ({ id: row.id, ...toJson<Row, F>(fields, row), ...toDerived(row) });
}
