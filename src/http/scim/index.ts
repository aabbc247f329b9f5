/** SCIM 2.0 (RFC 7643, RFC 7644): users and groups as an identity provider manages them. */
import { GatewayError } from "../../contract/index.ts";
import type { ApiAdministrator } from "../../keys/index.ts";
import {
  changeDirectoryGroup,
  changeDirectoryUser,
  createDirectoryGroup,
  createDirectoryUser,
  type DirectoryGroup,
  type DirectoryUser,
  deleteDirectoryGroup,
  deleteDirectoryUser,
  type GroupFilter,
  hasScope,
  listDirectoryGroups,
  listDirectoryUsers,
  readDirectoryGroup,
  readDirectoryUser,
  type UserFilter,
} from "../../tenants/index.ts";
import { type AdminApi, lacksScope } from "../admin-api/guard.ts";
import type { HttpDeps } from "../deps.ts";
import { dataHeaders } from "../lifecycle/headers.ts";
import { clientOrigin, parseUrl } from "../lifecycle/origin.ts";
import { declaredBytes, parseBody, readBodyText } from "../lifecycle/read-body.ts";
import { below, type Method, type RequestContext, type Route } from "../lifecycle/route.ts";
import { rejectNullCharacters } from "../lifecycle/session.ts";
import { fault, mediaType } from "./fault.ts";
import { parseFilter } from "./filter.ts";
import { changeGroup, readGroup, readOperations, readUser, toUserChanges } from "./patch.ts";
import { groupSchema, pageMax, resourceTypes, schemas, serviceProviderConfig, userSchema } from "./schemas.ts";

const path = "/scim/v2";
/** The longest body: a group with some thousand members. */
const bodyBytesMax = 1024 * 1024;
const pageDefault = 100;

/** A request of an admin key that may do it. */
interface ScimRequest {
  readonly request: Request;
  readonly admin: ApiAdministrator;
  readonly params: RequestContext["params"];
  readonly query: URLSearchParams;
  readonly body: unknown;
  /** The base URL, for links. */
  readonly base: string;
}

/** An answer; without a body it is 204. */
interface ScimAnswer {
  readonly status?: 200 | 201;
  readonly body?: object;
  readonly location?: string;
}

export { scimErrorFormat } from "./fault.ts";

/** Whether a path is below `/scim/v2`, also where no route is. */
export function isScimPath(pathname: string, basePath: string): boolean {
  return prefixes(basePath).some((prefix) => pathname.startsWith(`${prefix}${path}/`));
}

const prefixes = (basePath: string) => [...new Set(["", basePath])];

/** The routes below `/scim/v2`, at the root and below the base path of the API. */
export function scimController(deps: HttpDeps, api: AdminApi): Route[] {
  return prefixes(deps.config.basePath).flatMap((prefix) =>
    below(`${prefix}${path}`, [...discovery(deps, api), ...users(deps, api), ...groups(deps, api)]),
  );
}

function discovery(deps: HttpDeps, api: AdminApi): Route[] {
  const get = (place: `/${string}`, read: (base: string) => object) =>
    route(deps, api, ["GET", place], async ({ base }) => ({ body: read(base) }));
  const named = (place: `/${string}`, list: (base: string) => readonly { readonly id: string }[]) =>
    route(deps, api, ["GET", `${place}/:id`], async ({ base, params: { id } }) => {
      const one = list(base).find((entry) => entry.id === id);
      if (one === undefined) throw new GatewayError("not_found", "Nothing has this id");
      return { body: one };
    });
  return [
    get("/ServiceProviderConfig", serviceProviderConfig),
    get("/ResourceTypes", (base) => toList(resourceTypes(base))),
    named("/ResourceTypes", resourceTypes),
    get("/Schemas", (base) => toList(schemas(base))),
    named("/Schemas", schemas),
  ];
}

function users(deps: HttpDeps, api: AdminApi): Route[] {
  const { store, now } = deps;
  const answer = async ({ base, query }: ScimRequest, id: string, status: 200 | 201 = 200): Promise<ScimAnswer> => {
    const body = toUser(await readDirectoryUser(store, id), base);
    return { status, body: select(body, query), ...(status === 201 && { location: body.meta.location }) };
  };
  return [
    route(deps, api, ["GET", "/Users"], async ({ query, base }) => {
      const page = readPage(query);
      const { total, entries } = await listDirectoryUsers(store, readUserFilter(query), page);
      return {
        body: toList(
          entries.map((user) => select(toUser(user, base), query)),
          { total, ...page },
        ),
      };
    }),
    route(deps, api, ["GET", "/Users/:id"], (request) => answer(request, request.params.id ?? "")),
    route(deps, api, ["POST", "/Users"], async (request) => {
      const { email, isActive = true, ...fields } = readUser(request.body);
      if (email === undefined) throw fault("invalidValue", "userName is missing: the e-mail of the user");
      const id = await createDirectoryUser(store, { by: request.admin, email, isActive, ...fields }, now());
      return await answer(request, id, 201);
    }),
    route(deps, api, ["PUT", "/Users/:id"], async (request) => {
      const { id = "" } = request.params;
      await changeDirectoryUser(store, { by: request.admin, id, fields: readUser(request.body) }, now());
      return await answer(request, id);
    }),
    route(deps, api, ["PATCH", "/Users/:id"], async (request) => {
      const { id = "" } = request.params;
      const fields = toUserChanges(readOperations(request.body));
      await changeDirectoryUser(store, { by: request.admin, id, fields }, now());
      return await answer(request, id);
    }),
    route(deps, api, ["DELETE", "/Users/:id"], async ({ admin, params: { id = "" } }) => {
      await deleteDirectoryUser(store, { by: admin, id }, now());
      return {};
    }),
  ];
}

function groups(deps: HttpDeps, api: AdminApi): Route[] {
  const { store, now } = deps;
  const answer = async ({ base, query }: ScimRequest, id: string, status: 200 | 201 = 200): Promise<ScimAnswer> => {
    const body = toGroup(await readDirectoryGroup(store, id, hasMembers(query)), base);
    return { status, body: select(body, query), ...(status === 201 && { location: body.meta.location }) };
  };
  return [
    route(deps, api, ["GET", "/Groups"], async ({ query, base }) => {
      const page = { ...readPage(query), withMembers: hasMembers(query) };
      const { total, entries } = await listDirectoryGroups(store, readGroupFilter(query), page);
      return {
        body: toList(
          entries.map((group) => select(toGroup(group, base), query)),
          { total, ...page },
        ),
      };
    }),
    route(deps, api, ["GET", "/Groups/:id"], (request) => answer(request, request.params.id ?? "")),
    route(deps, api, ["POST", "/Groups"], async (request) => {
      const id = await createDirectoryGroup(store, { by: request.admin, fields: readGroup(request.body) }, now());
      return await answer(request, id, 201);
    }),
    route(deps, api, ["PUT", "/Groups/:id"], async (request) => {
      const { id = "" } = request.params;
      const change = (group: Parameters<typeof changeGroup>[0]) => readGroup(request.body, group);
      await changeDirectoryGroup(store, { by: request.admin, id, change }, now());
      return await answer(request, id);
    }),
    // Without a body: the list of members may be long, and clients do not read it.
    route(deps, api, ["PATCH", "/Groups/:id"], async ({ admin, body, params: { id = "" } }) => {
      const operations = readOperations(body);
      await changeDirectoryGroup(store, { by: admin, id, change: (group) => changeGroup(group, operations) }, now());
      return {};
    }),
    route(deps, api, ["DELETE", "/Groups/:id"], async ({ admin, params: { id = "" } }) => {
      await deleteDirectoryGroup(store, { by: admin, id }, now());
      return {};
    }),
  ];
}

/** A route for admin keys with the scope: GET needs it to read, everything else to write. */
function route(
  deps: HttpDeps,
  api: AdminApi,
  [method, place]: readonly [Method, `/${string}`],
  work: (request: ScimRequest) => Promise<ScimAnswer>,
): Route {
  const answer = async ({ request, params }: RequestContext): Promise<Response> => {
    rejectNullCharacters(request.url, "address");
    const admin = await admit(api, request, method === "GET" ? "read" : "write");
    const body = method === "GET" || method === "DELETE" ? undefined : await readBody(deps, request);
    const url = parseUrl(request);
    const origin = deps.config.publicUrl ?? clientOrigin(request);
    const base = `${origin}${url.pathname.slice(0, url.pathname.indexOf(path))}${path}`;
    return send(request, await work({ request, admin, params, query: url.searchParams, body, base }));
  };
  return { method, path: place, answer };
}

async function admit(api: AdminApi, request: Request, access: "read" | "write"): Promise<ApiAdministrator> {
  const admin = await api.authenticateKey(request);
  if (!hasScope(admin.scopes, "scim", access)) throw lacksScope(admin, `scim:${access}`);
  return admin;
}

async function readBody(deps: HttpDeps, request: Request): Promise<unknown> {
  declaredBytes(request, bodyBytesMax);
  const text = await readBodyText(deps, request, bodyBytesMax);
  try {
    rejectNullCharacters(text, "body");
    return parseBody(text);
  } catch (error) {
    throw error instanceof GatewayError ? fault("invalidSyntax", error.message) : error;
  }
}

function send(request: Request, { status = 200, body, location }: ScimAnswer): Response {
  const headers = { ...dataHeaders(request), ...(location !== undefined && { location }) };
  if (body === undefined) return new Response(null, { status: 204, headers });
  return Response.json(body, { status, headers: { ...headers, "content-type": mediaType } });
}

/** Whether an answer has the members of groups: they are long lists. */
function hasMembers(query: URLSearchParams): boolean {
  const [only, without] = [readNames(query, "attributes"), readNames(query, "excludedAttributes")];
  return (only === undefined || only.has("members")) && without?.has("members") !== true;
}

/** The names of attributes in a parameter, in lower case; `undefined` without it. */
function readNames(query: URLSearchParams, name: string): ReadonlySet<string> | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  return new Set(text.split(",").map((one) => one.trim().toLowerCase().split(".", 1)[0] ?? ""));
}

/** Leaves out attributes that the request does not want. */
function select<Resource extends object>(resource: Resource, query: URLSearchParams): object {
  const [only, without] = [readNames(query, "attributes"), readNames(query, "excludedAttributes")];
  if (only === undefined && without === undefined) return resource;
  const always = new Set(["schemas", "id", "meta"]);
  return Object.fromEntries(
    Object.entries(resource).filter(([name]) => {
      const key = name.toLowerCase();
      return always.has(key) || ((only === undefined || only.has(key)) && without?.has(key) !== true);
    }),
  );
}

/** A page by its first entry, counted from 1, and its length. @throws {GatewayError} */
function readPage(query: URLSearchParams): { offset: number; limit: number } {
  const first = readWhole(query, "startIndex") ?? 1;
  const count = readWhole(query, "count") ?? pageDefault;
  return { offset: Math.max(first, 1) - 1, limit: Math.min(Math.max(count, 0), pageMax) };
}

function readWhole(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  if (/^-?\d{1,9}$/.test(text)) return Number(text);
  throw fault("invalidValue", `${name} is ${JSON.stringify(text.slice(0, 20))}, expected a whole number`);
}

function readUserFilter(query: URLSearchParams): UserFilter {
  const text = query.get("filter");
  if (text === null) return {};
  const { attribute, value } = parseFilter(text);
  if (attribute === "username" || attribute === "emails") return { email: value };
  if (attribute === "externalid") return { externalId: value };
  if (attribute === "displayname") return { name: value };
  if (attribute === "id") return { id: value };
  throw fault("invalidFilter", "Users are filtered by userName, emails, externalId, displayName or id");
}

function readGroupFilter(query: URLSearchParams): GroupFilter {
  const text = query.get("filter");
  if (text === null) return {};
  const { attribute, value } = parseFilter(text);
  if (attribute === "displayname") return { name: value };
  if (attribute === "externalid") return { externalId: value };
  if (attribute === "members") return { memberId: value };
  if (attribute === "id") return { id: value };
  throw fault("invalidFilter", "Groups are filtered by displayName, externalId, members or id");
}

function toList(
  resources: readonly object[],
  { total, offset }: { total: number; offset: number } = { total: resources.length, offset: 0 },
) {
  return {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
    totalResults: total,
    startIndex: offset + 1,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}

function toUser({ id, email, name, externalId, isActive, createdAt, groups: own }: DirectoryUser, base: string) {
  return {
    schemas: [userSchema],
    id,
    ...(externalId !== undefined && { externalId }),
    userName: email,
    ...(name !== undefined && { displayName: name, name: { formatted: name } }),
    emails: [{ value: email, type: "work", primary: true }],
    active: isActive,
    groups: own.map((group) => ({ value: group.id, display: group.name, $ref: `${base}/Groups/${group.id}` })),
    meta: { resourceType: "User", created: new Date(createdAt).toISOString(), location: `${base}/Users/${id}` },
  };
}

function toGroup({ id, name, externalId, createdAt, members }: DirectoryGroup, base: string) {
  return {
    schemas: [groupSchema],
    id,
    ...(externalId !== undefined && { externalId }),
    displayName: name,
    members: members.map((member) => ({ value: member.id, display: member.email, $ref: `${base}/Users/${member.id}` })),
    meta: { resourceType: "Group", created: new Date(createdAt).toISOString(), location: `${base}/Groups/${id}` },
  };
}
