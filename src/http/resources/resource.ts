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
  /** The same for a model whose calls are counted. @throws For a virtual model, whose calls are counted at the models that serve them. */
  countedModelIdOf(name: string): Promise<string> | string;
  /** The name by which people know the model of an id. */
  modelNameOf(id: string): Promise<string> | string;
}

/** Where routes of a thing are, and whose things they are about. */
export interface Mount {
  /** Such as `/organization/projects/:project_id/budgets`. */
  readonly path: string;
  /** `project`: of the project in the path; `gateway`: those that are about each account. */
  readonly owner: "project" | "gateway";
  /** Descriptions of the routes that create and change one. */
  readonly creates: string;
  readonly changes: string;
}

/** The section of a thing in the configuration document. */
export interface Listed<Row, F extends Fields<Row>> {
  readonly section: string;
  readonly description?: string;
  /** The fields by which an entry is found. No two entries of an account have all of them the same. */
  readonly identity: readonly (keyof F & string)[];
  /** The name in place of an account, in the label of an entry that is about each; absent: none. */
  readonly each?: string;
  /** The name of an entry by those fields, for people. */
  label(entry: Readonly<Record<string, unknown>>): string;
  /** Whether the document has it in another place. */
  isElsewhere?(row: Row): boolean;
  /** The columns as they are in force, such as without what has ended. */
  inForce?(columns: Partial<ColumnsOf<Row, F>>, now: number): Partial<ColumnsOf<Row, F>>;
  /** The fields of an entry that have the id of a key; absent: none. */
  keyFields?(entry: Readonly<Record<string, unknown>>): readonly (keyof F & string)[];
  /**
   * @param columns The columns of a new one, or those that identify the `present` one with its changes.
   * @throws {GatewayError} for one that cannot be.
   */
  check?(columns: Partial<ColumnsOf<Row, F>>, place: { owner: string | undefined; now: number; present?: Row }): void;
}

export type Verb = "list" | "show" | "create" | "change" | "remove";

/** The commands of a thing, with examples of their flags. */
export interface Commands {
  /** Absent: all. */
  readonly verbs?: readonly Verb[];
  readonly create: string;
  readonly change: string;
}

/** A managed thing, such as a budget: its fields, and what is done with it. All else is made from that. */
export interface Resource<Row extends { readonly id: string }, F extends Fields<Row>, Derived extends object> {
  /** In sentences and commands: "budget". */
  readonly name: string;
  readonly area: AdminKeyArea;
  /** The parameter of paths that has its id: "budget_id". */
  readonly idName: string;
  readonly fields: F;
  /** The properties of answers that are no fields. */
  readonly derived: TProperties;
  /** The name of what a deletion answers. */
  readonly deleted: string;
  readonly mounts: readonly Mount[];
  readonly document: Listed<Row, F>;
  readonly commands: Commands;
  /** The owner of those that are about each account. */
  readonly eachOwner: string;
  ownerOf(row: Row): string;
  /** Puts names in their stored form, such as the id of a model. */
  resolve?(deps: ResourceDeps, columns: Partial<ColumnsOf<Row, F>>): Promise<Partial<ColumnsOf<Row, F>>>;
  /** @param owners Absent: those of all. @param page.after The last one of the page before. */
  list(
    deps: ResourceDeps,
    owners: readonly string[] | undefined,
    page: { limit: number; after?: Row | undefined },
  ): Promise<Row[]>;
  /** @param owner Absent: of any owner. @throws {GatewayError} `not_found` */
  read(deps: ResourceDeps, owner: string | undefined, id: string): Promise<Row>;
  create(deps: ResourceDeps, by: Administrator, owner: string, columns: Partial<ColumnsOf<Row, F>>): Promise<Row>;
  change(deps: ResourceDeps, by: Administrator, target: Target, columns: Partial<ColumnsOf<Row, F>>): Promise<Row>;
  remove(deps: ResourceDeps, by: Administrator, target: Target): Promise<void>;
  /** Reads what answers say besides the fields. */
  derive(deps: ResourceDeps, rows: readonly Row[]): Promise<(row: Row) => Derived>;
}

/** A thing of the list of all: it is taken up by what works with any of them. */
export interface AnyResource {
  visit<Result>(visitor: ResourceVisitor<Result>): Result;
}

export type ResourceVisitor<Result> = <
  Row extends { readonly id: string },
  F extends Fields<Row>,
  Derived extends object,
>(
  resource: Resource<Row, F, Derived>,
) => Result;

/** The parts of a declaration that types are made from. */
interface Literals<Mounts extends readonly Mount[], Id extends string, Section extends string> {
  readonly mounts: Mounts;
  readonly idName: Id;
  readonly document: { readonly section: Section };
}

/** Declares a thing whose rows, fields and answers have these types. */
export const defineResource =
  <Row extends { readonly id: string }, F extends Fields<Row>, Derived extends object>() =>
  <const Mounts extends readonly Mount[], const Id extends string, const Section extends string>(
    resource: Resource<Row, F, Derived> & Literals<Mounts, Id, Section>,
  ): Resource<Row, F, Derived> & Literals<Mounts, Id, Section> & AnyResource => ({
    ...resource,
    visit: (visitor) => visitor<Row, F, Derived>(resource),
  });

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
