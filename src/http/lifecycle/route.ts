/**
 * Routes as data: a method, a path, what the OpenAPI document says of it, and a function from the request to its response.
 * Elysia finds the route of a request and does nothing else, so what it would do by itself is here, once: who asks is checked
 * before anything of the body is read, and a mistake in a body is one of our errors.
 */
import type { Static, TSchema } from "@sinclair/typebox";
import type { DefinitionBase, Elysia, MetadataBase, SingletonBase } from "elysia";
import { type Capability, makeCallId } from "../../contract/index.ts";
import type { HttpDeps } from "../deps.ts";
import { dataHeaders, jsonForPage } from "./headers.ts";
import type { ClientFormat, HttpCall } from "./http-call.ts";
import { parseUrl } from "./origin.ts";
import { checkBody, checkQuery } from "./validate.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";

/** A request on its way to its response. */
export interface RequestContext {
  readonly request: Request;
  /** The parts of the path that have names, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Present once the API key was checked, also for the error. */
  call: HttpCall | undefined;
}

export interface Route {
  readonly method: Method;
  readonly path: string;
  /** The operation in the OpenAPI document; absent: it is not in there. */
  readonly detail?: object | undefined;
  /** Schemas for the OpenAPI document and for validation. */
  readonly body?: TSchema | undefined;
  readonly query?: TSchema | undefined;
  /** The body of a request that is answered, for the OpenAPI document. */
  readonly example?: object | undefined;
  /** The body is a form. */
  readonly isForm?: boolean;
  /** The client's format, which errors are written in. */
  readonly inbound?: ClientFormat | undefined;
  /** Capability of its endpoint; refusals are counted by it. */
  readonly capability?: Capability | undefined;
  answer(context: RequestContext): Promise<Response> | Response;
}

/** Returns the routes moved below another path. */
export function below(prefix: string, routes: readonly Route[]): Route[] {
  return routes.map((route) => ({ ...route, path: `${prefix}${route.path}` }));
}

/** Returns the routes below every base URL that clients are given: with and without the version. */
export function belowBaseUrls({ basePath }: { readonly basePath: string }, routes: readonly Route[]): Route[] {
  const prefixes = new Set(["", basePath, "/v1", basePath.replace(/\/v1$/, "")]);
  return [...prefixes].flatMap((prefix) => below(prefix, routes));
}

/** The callers of a group of routes: how they are checked and their bodies read. `Who` is what handlers learn of them. */
export interface Guard<Who extends object> {
  /** Checks who asks, before anything of the body is read. @throws {GatewayError} */
  admit(request: Request): Promise<Who>;
  /** Reads the body as JSON. @throws {GatewayError} */
  readBody(request: Request): Promise<unknown>;
  /** Runs a write once, however often it is sent; absent: each time. */
  once?(write: Write<Who>, work: () => Promise<unknown>): Promise<unknown>;
  /** Checks that a query has only these parameters, which its operation has; absent: others are ignored. @throws {GatewayError} */
  expectParameters?(request: Request, names: readonly string[]): void;
  /** Adds what callers need to an operation of the OpenAPI document; absent: nothing. */
  describe?(method: Method, detail: object): object;
}

export interface Write<Who> {
  readonly request: Request;
  readonly who: Who;
  readonly body: unknown;
}

/** A handler gets a request that was checked. */
type Checked<Who, Path extends string, Body, Query> = Who & {
  readonly request: Request;
  readonly params: ParamsOf<Path>;
  readonly body: Body;
  readonly query: Query;
};

/** The names in a path: `/a/:b` has `{ b: string }`. */
export type ParamsOf<Path extends string> = Path extends `${string}/:${infer Name}/${infer Rest}`
  ? { readonly [Key in Name]: string } & ParamsOf<`/${Rest}`>
  : Path extends `${string}/:${infer Name}`
    ? { readonly [Key in Name]: string }
    : unknown;

interface Options<Body extends TSchema, Query extends TSchema> {
  readonly body?: Body;
  readonly query?: Query;
  readonly detail?: object;
  readonly example?: object | undefined;
}

/**
 * A route with the types that the dashboard's client is made of; the fields have no values. They are separate and not
 * nested yet, because the compiler considers types equal that are nested four times.
 */
interface TypedRoute<Name extends string, Path extends string, Body, Query, Answer> extends Route {
  readonly "~name"?: Name;
  readonly "~path"?: Path;
  readonly "~body"?: Body;
  readonly "~query"?: Query;
  readonly "~answer"?: Answer;
}

/**
 * Makes the routes of a group. A handler returns what is sent as JSON, or a response.
 *
 * @example
 * const things = routesOf(deps, guard, "/things");
 * return [things.get("/:id", ({ params }) => readThing(params.id))];
 */
export function routesOf<Who extends object, const Prefix extends string>(
  deps: HttpDeps,
  guard: Guard<Who>,
  prefix: Prefix,
) {
  const verb =
    <const Name extends string>(method: Uppercase<Name> & Method) =>
    <const Path extends string, Answer, Body extends TSchema = TSchema, Query extends TSchema = TSchema>(
      path: Path,
      handler: (context: Checked<Who, `${Prefix}${Path}`, Static<Body>, Static<Query>>) => Answer,
      { body: schema, query: querySchema, detail: ofRoute, example }: Options<Body, Query> = {},
    ): TypedRoute<Name, `${Prefix}${Path}`, Static<Body>, Static<Query>, Awaited<Answer>> => {
      const isWrite = method !== "GET";
      const once = isWrite ? guard.once : undefined;
      const detail = ofRoute === undefined ? undefined : (guard.describe?.(method, ofRoute) ?? ofRoute);
      const { parameters = [] } = (detail ?? {}) as { parameters?: readonly { name: string }[] };
      const names = [...parameters.map(({ name }) => name), ...Object.keys(querySchema?.properties ?? {})];
      const answer = async ({ request, params }: RequestContext): Promise<Response> => {
        const who = await guard.admit(request);
        guard.expectParameters?.(request, names);
        const read = isWrite ? await guard.readBody(request) : undefined;
        const body = schema === undefined ? read : checkBody(schema, read);
        const query = querySchema && checkQuery(querySchema, parseUrl(request).searchParams);
        const work = async () => await handler({ ...who, request, params, body, query } as never);
        return respond(deps, request, once === undefined ? await work() : await once({ request, who, body }, work));
      };
      return { method, path: `${prefix}${path}`, detail, body: schema, query: querySchema, example, answer };
    };
  return {
    get: verb<"get">("GET"),
    post: verb<"post">("POST"),
    put: verb<"put">("PUT"),
    patch: verb<"patch">("PATCH"),
    delete: verb<"delete">("DELETE"),
  };
}

/** JSON with the headers of data; a response, such as a file, gets those that it does not have. */
function respond(deps: HttpDeps, request: Request, answer: unknown): Response {
  const headers = { ...dataHeaders(request), "x-request-id": makeCallId(deps.now()) };
  if (!(answer instanceof Response)) return jsonForPage(request, answer, headers);
  for (const [name, value] of Object.entries(headers)) {
    if (!answer.headers.has(name)) answer.headers.set(name, value);
  }
  return answer;
}

/** An endpoint, as the types of its client have it. */
export interface Endpoint<Body, Query, Answer> {
  body: Body;
  params: unknown;
  query: Query;
  headers: unknown;
  response: { 200: Answer };
}

/** `"/a/:b"` as nested members. */
export type Below<Path extends string, Value> = Path extends `/${infer Rest}`
  ? Below<Rest, Value>
  : Path extends `${infer Head}/${infer Tail}`
    ? { [Name in Head]: Below<Tail, Value> }
    : { [Name in Path]: Value };

export type Intersection<Union> = (Union extends unknown ? (member: Union) => void : never) extends (
  member: infer Members,
) => void
  ? Members
  : never;

/** The endpoints of these routes. */
export type ApiOf<Some> = Intersection<
  Some extends TypedRoute<infer Name, infer Path, infer Body, infer Query, infer Answer>
    ? Below<Path, { [Key in Name]: Endpoint<Body, Query, Answer> }>
    : never
>;

/** Members of the same name as one: the client takes only the first of an intersection. */
type Merged<Tree> = Tree extends { readonly response: unknown } ? Tree : { [Name in keyof Tree]: Merged<Tree[Name]> };

/** A server with these endpoints, for its client. */
export type ServerOf<Api> = Elysia<"", SingletonBase, DefinitionBase, MetadataBase, Merged<Api> & object>;
