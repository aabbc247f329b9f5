/**
 * Declarations of managed resources. Their routes, their section of the configuration document and their commands are
 * made from them.
 */
import type { TProperties } from "@sinclair/typebox";
import type { Administrator } from "../../audit/index.ts";
import { type ColumnsOf, type Fields, toColumns, toJson } from "../../lib/fields.ts";
import type { Served } from "../../providers/index.ts";
import type { AdminKeyArea } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";

/** The dependencies of the functions that read and write things. */
export interface ResourceDeps extends Pick<HttpDeps, "store" | "now" | "secrets"> {
  /** Limits where none are set, the issuers of the environment, and the settings of modules. */
  readonly config: Pick<
    HttpDeps["config"],
    "requestsPerMinute" | "tokensPerMinute" | "concurrentCalls" | "jwtIssuers" | "of"
  >;
  /** The id of a model by any of its names; an unknown name is returned as it is. */
  modelIdOf(name: string): Promise<string> | string;
  /**
   * Returns the id of a model whose calls are counted; an unknown name is returned as it is.
   *
   * @throws For a virtual model: its calls are counted at the models that serve them.
   */
  countedModelIdOf(name: string): Promise<string> | string;
  /** The id of a model or provider that is here; `undefined` for another. */
  findModel(name: string): Promise<string | undefined> | string | undefined;
  findProvider(name: string): string | undefined;
  /** The models that are served; absent where they are not known before something is written, as in a command. */
  readonly served?: Served | undefined;
  /** Reads the models that the gateway serves that runs; `undefined` without one. */
  readServed(): Promise<Served | undefined> | Served | undefined;
  /** Whether the gateway that runs has a file with the policy of this name; `undefined` without a gateway. */
  hasPolicy(name: string): boolean | undefined;
  /** Returns the display name of a model. */
  modelNameOf(id: string): Promise<string> | string;
}

/** Where routes of a thing are, and whose things they are about. */
export interface Mount<Row = never, Columns = never> {
  /** Such as `/organization/projects/:project_id/budgets`. */
  readonly path: string;
  /** `project`: of the project in the path; `gateway`: those that are about each account. */
  readonly owner: "project" | "gateway";
  /** Descriptions of the routes. */
  readonly lists?: string;
  readonly creates?: string;
  readonly changes?: string;
  /** The body of a creation, for the OpenAPI document. */
  readonly example?: object;
  /** The body of a change. */
  readonly changeExample?: object;
  /** An entry that each owner has in addition to the entries of the list; it comes first. Absent: no such entry. */
  readonly whole?: Whole<Row, Columns>;
}

interface Whole<Row, Columns> {
  readonly id: string;
  read(deps: ResourceDeps, owner: string): Promise<Row>;
  change(deps: ResourceDeps, by: Administrator, owner: string, columns: Columns): Promise<Row>;
}

/** The section of a thing in the configuration document. */
export interface Listed<Row, F extends Fields<Row>> {
  readonly section: string;
  readonly description?: string;
  /** The fields that identify an entry. No two entries of an account have the same values in all of them. */
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
  check?(columns: Partial<ColumnsOf<Row, F>>, place: Place<Row>): void;
}

interface Place<Row> {
  readonly by: Administrator;
  /** Absent: the document makes the account. */
  readonly owner: string | undefined;
  readonly now: number;
  readonly present?: Row;
  /** The names of the providers that there are here, and of those that the document adds. */
  readonly providers: readonly string[];
}

export type Verb = "list" | "show" | "create" | "change" | "remove";

/** The commands of a thing, with examples of their flags. */
export interface Commands {
  /** Absent: all verbs of the thing have a command. */
  readonly verbs?: readonly Verb[];
  /** The word in front of them; absent: the name of the thing. */
  readonly group?: string;
  readonly create?: string;
  readonly change?: string;
  /** The name of the command that changes one; absent: `change`. */
  readonly changeName?: "set";
  /** The argument that says which one; absent: `ID`. */
  readonly id?: { readonly name: string; readonly choices: readonly string[] };
}

/**
 * The words of a section of the dashboard: a table of the things of an account or the gateway, and a form of their fields. Words
 * that are absent are made from the name of the thing.
 */
export interface SectionTexts {
  readonly title: string;
  /** Said above those of the gateway. */
  readonly about: string;
  /** How an entry is spoken of; `{}` is its name. */
  readonly entry: string;
  readonly add: string;
  /** Over the form. */
  readonly form: string;
  readonly submit: string;
  readonly saved: string;
  /** The meaning of an absent figure: "No limit". */
  readonly none: string;
  readonly empty: string;
  /** Say what holds without an entry of the gateway, and of an account. */
  readonly emptyOfGateway: string;
  readonly emptyOfAccount: string;
  /** The question before one is deleted, the button, what follows (`{}` is its name), and what is said after it. */
  readonly removal: readonly [question: string, button: string, consequence: string, done: string];
}

export interface ShownSection extends Partial<SectionTexts> {
  /** Where those of the gateway are shown; absent: on the page of the configuration. */
  readonly page?: "budgets";
  /** The values of entries that owners alone may change. */
  readonly ofOwners?: Readonly<Record<string, string>>;
}

/** Something else that is done with a thing, such as to void a voucher: `POST …/{id}/void` and `modelgate voucher void`. */
export interface Action<Row> {
  readonly summary: string;
  readonly description: string;
  /** The argument of the command that identifies the thing; absent: the same argument as in its other commands. */
  readonly argument?: string;
  /** @param id As the command has it; a request has the id of one that is there. */
  run(deps: ResourceDeps, by: Administrator, id: string): Promise<Row>;
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
  /** The properties that the answer to a creation alone has, such as a secret. */
  readonly secret?: TProperties;
  /** The things that can be done with one. */
  readonly verbs: readonly Verb[];
  readonly actions?: Readonly<Record<string, Action<Row>>>;
  /** The name of what a deletion answers. */
  readonly deleted?: string;
  readonly mounts: readonly Mount<Row, Partial<ColumnsOf<Row, F>>>[];
  /** Absent: the document does not have it. */
  readonly document?: Listed<Row, F>;
  readonly commands: Commands;
  /** How the dashboard shows it; `own`: on a page that is made for it. */
  readonly section?: ShownSection | "own";
  /** The owner of those that are about each account. */
  readonly eachOwner: string;
  /** Calls are served by it: a write is answered once this gateway serves by what was written. */
  readonly isServedBy?: true;
  ownerOf(row: Row): string;
  /** Puts names in their stored form, such as the id of a model. */
  resolve?(deps: ResourceDeps, columns: Partial<ColumnsOf<Row, F>>): Promise<Partial<ColumnsOf<Row, F>>>;
  /**
   * @param owners Absent: all owners.
   * @param page.after The last entry of the previous page.
   */
  list(
    deps: ResourceDeps,
    owners: readonly string[] | undefined,
    page: { limit: number; after?: Row | undefined },
  ): Promise<Row[]>;
  /** @param owner Absent: of any owner. @throws {GatewayError} `not_found` */
  read(deps: ResourceDeps, owner: string | undefined, id: string): Promise<Row>;
  /** Returns a secret with the row. */
  create?(deps: ResourceDeps, by: Administrator, owner: string, columns: Partial<ColumnsOf<Row, F>>): Promise<Row>;
  change?(deps: ResourceDeps, by: Administrator, target: Target, columns: Partial<ColumnsOf<Row, F>>): Promise<Row>;
  remove?(deps: ResourceDeps, by: Administrator, target: Target): Promise<void>;
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
interface Literals<Mounted, Id extends string, V extends Verb, Actions> {
  readonly mounts: readonly Mounted[];
  readonly idName: Id;
  readonly verbs: readonly V[];
  readonly actions?: Actions;
}

/** Declares a thing whose rows, fields and answers have these types. */
export const defineResource =
  <Row extends { readonly id: string }, F extends Fields<Row>, Derived extends object>() =>
  <
    const Path extends string,
    const Id extends string,
    const V extends Verb,
    const Section extends string = never,
    Actions extends Readonly<Record<string, Action<Row>>> = Readonly<Record<never, Action<Row>>>,
    Secret extends TProperties = Readonly<Record<never, never>>,
  >(
    resource: Resource<Row, F, Derived> &
      Literals<Mount<Row, Partial<ColumnsOf<Row, F>>> & { readonly path: Path }, Id, V, Actions> & {
        readonly document?: { readonly section: Section };
        readonly secret?: Secret;
      },
  ): Omit<Resource<Row, F, Derived>, "actions" | "secret"> &
    Literals<{ readonly path: Path }, Id, V, Actions> & {
      readonly document?: { readonly section: Section };
      readonly secret?: Secret;
    } & AnyResource => ({
    ...resource,
    visit: (visitor) => visitor<Row, F, Derived>(resource),
  });

export interface Target {
  readonly owner: string;
  readonly id: string;
}

/** Reads the fields of a body. @throws {GatewayError} `invalid_request` */
export async function readColumns<Row extends { readonly id: string }, F extends Fields<Row>, Derived extends object>(
  deps: ResourceDeps,
  { fields, resolve }: Resource<Row, F, Derived>,
  body: Readonly<Record<string, unknown>>,
  /** The fields by the names that the body has. */
  named: Fields<Row> = fields,
): Promise<Partial<ColumnsOf<Row, F>>> {
  const columns: Partial<ColumnsOf<Row, F>> = toColumns<Row, Fields<Row>>(named, body, deps.now());
  return (await resolve?.(deps, columns)) ?? columns;
}

/** Returns answers for rows. @param named The fields by the names that answers have. */
export async function toAnswers<Row extends { readonly id: string }, F extends Fields<Row>, Derived extends object>(
  deps: ResourceDeps,
  { fields, derive }: Resource<Row, F, Derived>,
  rows: readonly Row[],
  named: Fields<Row> = fields,
): Promise<(row: Row) => Readonly<Record<string, unknown>> & Derived & { id: string }> {
  const toDerived = await derive(deps, rows);
  return (row) => ({ id: row.id, ...toJson<Row, Fields<Row>>(named, row), ...toDerived(row) });
}

/** Returns the plural of the name of a thing. */
export function pluralOf(name: string): string {
  return name.replace(/y$/, "ie").concat("s");
}

/** Returns the name of a thing behind `a` or `an`. */
export function oneOf(name: string): string {
  return `${/^[aeiou]/.test(name) ? "an" : "a"} ${name}`;
}

/** Returns a page of a list that is always short: `rows` has all its entries. */
export function pageOf<Row extends { readonly id: string }>(
  rows: readonly Row[],
  { limit, after }: { readonly limit: number; readonly after?: Row | undefined },
): Row[] {
  const start = after === undefined ? 0 : rows.findIndex(({ id }) => id === after.id) + 1;
  return rows.slice(start, start + limit);
}

/** Returns the secret of a thing that was just created; empty if the thing has no secret. */
export function secretOf<Row extends object>({ secret = {} }: { readonly secret?: TProperties }, made: Row): object {
  return Object.fromEntries(Object.entries(made).filter(([name]) => Object.hasOwn(secret, name)));
}
