import { createHmac } from "node:crypto";
import { type TSchema, Type } from "@sinclair/typebox";
import { GatewayError, makeCallId, quoteValue } from "../../contract/index.ts";
import type { KeyedRequest } from "../../db/index.ts";
import { AdminAuthenticator, type ApiAdministrator, scopesOfRole } from "../../keys/index.ts";
import { suggestName } from "../../lib/did-you-mean.ts";
import { RateLimiter } from "../../lib/rate-limiter.ts";
import { type AdminKeyArea, hasScope } from "../../tenants/index.ts";
import { responses } from "../api/openapi.ts";
import type { HttpDeps } from "../deps.ts";
import { readApiKey } from "../lifecycle/authenticate.ts";
import { dataHeaders } from "../lifecycle/headers.ts";
import { clientAddressOf } from "../lifecycle/http-call.ts";
import { idempotencyKeyOf, pack, unpack } from "../lifecycle/idempotency.ts";
import { checkOrigin, parseUrl, toApiPath } from "../lifecycle/origin.ts";
import { routesOf, type Write } from "../lifecycle/route.ts";
import { readOperator, readSmallJson, rejectNullCharacters } from "../lifecycle/session.ts";
import { withStoreTimeout } from "../lifecycle/store-timeout.ts";
import { invalid, parameters } from "./lists.ts";

/** Rate limit of an admin key or a person, unless accounts may send more: enough for any program, too little to keep the database busy. */
const requestsPerMinuteMin = 1200;

/** State shared by all mounts of the admin API. */
export interface AdminApi {
  readonly authenticate: (request: Request) => Promise<ApiAdministrator>;
  /** For programs alone: a cookie is no way in. */
  readonly authenticateKey: (request: Request) => Promise<ApiAdministrator>;
}

export function createAdminApi(deps: HttpDeps): AdminApi {
  const authenticator = new AdminAuthenticator(deps.store, deps.now);
  const requestsMax = Math.max(requestsPerMinuteMin, deps.config.requestsPerMinute);
  const requests = new RateLimiter(requestsMax, deps.now, { what: "requests to the management API" });
  const readKey = async (request: Request) => {
    const address = clientAddressOf(deps.config, request, deps.server());
    const lookup = authenticator.authenticate(readApiKey(request), address).catch((error) => {
      if (error instanceof GatewayError) return error;
      throw error;
    });
    const actor = await withStoreTimeout(deps, lookup);
    if (actor instanceof GatewayError) throw actor;
    return actor;
  };
  const count = (actor: ApiAdministrator) => {
    requests.take(actor.accountId);
    return actor;
  };
  return {
    authenticate: async (request) =>
      count(hasSession(request) ? await readAdministrator(deps, request) : await readKey(request)),
    authenticateKey: async (request) => count(await readKey(request)),
  };
}

/**
 * Whether a request authenticates by a browser cookie, like the requests of the dashboard. A key takes precedence over
 * a cookie.
 */
function hasSession({ headers }: Request): boolean {
  return headers.has("cookie") && !headers.has("authorization") && !headers.has("x-api-key");
}

/** Returns the session cookie of a request; over TLS its name has a prefix. */
function readSessionCookie({ headers }: Request): string {
  const cookies = (headers.get("cookie") ?? "").split(";").map((cookie) => cookie.trim());
  return cookies.find((cookie) => /^(__Secure-)?session=/.test(cookie)) ?? "";
}

/** Returns the signed-in administrator. They act for the gateway, whichever account their session is in. */
async function readAdministrator(deps: HttpDeps, request: Request): Promise<ApiAdministrator> {
  checkOrigin(request);
  const { ownAccountId: accountId, role } = await readOperator(deps, request);
  return { accountId, role, scopes: scopesOfRole(role), key: undefined, vouchedBy: accountId };
}

interface AdminGroup<Path extends string> {
  readonly path: Path;
  /** Absent: the routes check the scopes themselves. */
  readonly area?: AdminKeyArea | undefined;
  readonly readBody?: typeof readSmallJson;
}

/**
 * Routes for whoever manages the gateway and has a scope of this area: GET needs it to read, everything else to write, once for
 * each `Idempotency-Key`.
 */
export function adminRoutes<const Path extends string>(
  deps: HttpDeps,
  { authenticate }: AdminApi,
  { path, area, readBody = readSmallJson }: AdminGroup<Path>,
) {
  const admit = async (request: Request) => {
    rejectNullCharacters(request.url, "address");
    const admin = await authenticate(request);
    const access = accessOf(request.method);
    if (area === undefined || hasScope(admin.scopes, area, access)) return { admin };
    throw lacksScope(admin, `${area}:${access}`);
  };
  return routesOf(
    deps,
    {
      admit,
      readBody: (request) => readBody(deps, request),
      once: (write, work) => writeOnce(deps, write, work),
      expectParameters,
      describe: (method, detail) =>
        area === undefined ? detail : { ...detail, security: scopesOf(area, accessOf(method)) },
    },
    path,
  );
}

/**
 * A filter with a misspelt name would answer for all there is, and a choice with one would not be made.
 *
 * @throws {GatewayError} `invalid_request` for a parameter that the operation does not have.
 */
function expectParameters(request: Request, names: readonly string[]): void {
  for (const written of parseUrl(request).searchParams.keys()) {
    // Lists come as `a=1&a=2`, `a[]=1` or `a[0]=1`.
    const name = written.replace(/\[\d*\]$/, "");
    if (names.includes(name)) continue;
    const hint = names.length === 0 ? "; there are none here" : suggestName(name, names);
    throw invalid(name, `Unknown query parameter ${quoteValue(written)}${hint}`);
  }
}

function accessOf(method: string): "read" | "write" {
  return method === "GET" || method === "HEAD" ? "read" : "write";
}

/** The scope of an operation, as the OpenAPI document has it. */
function scopesOf(area: AdminKeyArea, access: "read" | "write") {
  return [{ admin: [`${area}:${access}`] }];
}

/** Optional parts of a route's description in the OpenAPI document. */
interface RouteDetails {
  readonly description?: string;
  /** The scope of a route that checks it itself. */
  readonly scope?: readonly [AdminKeyArea, "read" | "write"];
  readonly query?: Parameters<typeof parameters>[0];
}

/** Describes a route that reads; its answer is JSON of this schema. */
export function describeRead(summary: string, answer: TSchema, details: RouteDetails = {}) {
  return describeRoute({ summary, answer, failures: [400, 401, 403, 404, 429, 500, 503] }, details);
}

/** Describes a route that writes. */
export function describeWrite(summary: string, answer: TSchema, details: RouteDetails = {}) {
  return describeRoute({ summary, answer, failures: [400, 401, 403, 404, 409, 413, 429, 500, 503] }, details);
}

/** Describes a route that deletes; its answer has the id, an `object` of this name, and `deleted`. */
export function describeDelete(summary: string, object: string, details: RouteDetails = {}) {
  const answer = Type.Object({ id: Type.String(), object: Type.Literal(object), deleted: Type.Boolean() });
  return describeWrite(summary, answer, details);
}

interface Route {
  readonly summary: string;
  readonly answer: TSchema;
  readonly failures: Parameters<typeof responses>[1];
}

function describeRoute({ summary, answer, failures }: Route, { description, query, scope }: RouteDetails) {
  return {
    summary,
    ...(description !== undefined && { description }),
    tags: ["Management"],
    security: scope === undefined ? [{ admin: [] }] : scopesOf(...scope),
    ...(query !== undefined && { parameters: parameters(query) }),
    responses: responses({ "application/json": answer }, failures),
  };
}

/** The error for a missing scope. Viewers lack the scopes for writes, but are refused before this check. */
export function lacksScope({ key, accountId }: ApiAdministrator, scope: string): GatewayError {
  const whose = key === undefined ? `The role of ${accountId}` : `The admin key ${key.id}`;
  return new GatewayError("forbidden", `${whose} lacks the scope ${scope}`);
}

/**
 * Runs a write once: one that is repeated with its Idempotency-Key within a day gets the same answer, also the secret in it. That
 * is encrypted with what only the sender knows, the admin key itself or the cookie, because a database must not give away a
 * secret that it has a hash of.
 *
 * @throws {GatewayError} `conflict` for another body or query, or while the first one runs.
 */
async function writeOnce(
  deps: HttpDeps,
  { request, who: { admin }, body }: Write<{ readonly admin: ApiAdministrator }>,
  work: () => Promise<unknown>,
): Promise<unknown> {
  const key = idempotencyKeyOf(request);
  if (key === undefined) return await work();
  const credential = admin.key === undefined ? readSessionCookie(request) : readApiKey(request);
  const { pathname, search } = parseUrl(request);
  const path = toApiPath(pathname, deps.config.basePath);
  const toHmac = (...parts: unknown[]) => createHmac("sha256", deps.sealKey).update(JSON.stringify(parts));
  const keyed: KeyedRequest = {
    id: toHmac("admin", admin.key?.id ?? credential, request.method, path, key).digest("hex"),
    accountId: admin.accountId,
    callId: makeCallId(deps.now()),
    // The query says whether a request only asks what it would change.
    bodyHash: toHmac("admin", body ?? null, search).digest("hex"),
  };
  const seal = toHmac("admin", credential).digest();
  const { idempotencyKeys } = deps.store;
  const claim = await withStoreTimeout(deps, idempotencyKeys.claim(keyed));
  if (claim.state === "other_body") {
    throw conflict(
      "This Idempotency-Key belongs to a request with another body or query; use a new key for a new request",
    );
  }
  if (claim.state === "running")
    throw conflict("A request with this Idempotency-Key is still running; send it again to get its answer", 1000);
  if (claim.state === "done") {
    const packed = await idempotencyKeys.readAnswer(keyed.id);
    if (packed === undefined)
      throw conflict(
        "This request was already processed, and its answer is no longer stored; use a new Idempotency-Key for a new request",
      );
    const { status, headers, body: answer } = await unpack({ key: seal, request: keyed, packed }, () => undefined);
    const replayed = { ...headers, "idempotent-replayed": "true" };
    return new Response(answer, { status, headers: replayed });
  }
  let answer: unknown;
  try {
    answer = await work();
  } catch (error) {
    await idempotencyKeys.release(keyed);
    throw error;
  }
  const headers = { ...dataHeaders(request), "content-type": "application/json", "x-request-id": keyed.callId };
  const stored = { status: 200, headers, body: Buffer.from(JSON.stringify(answer)) };
  await idempotencyKeys.complete(keyed, await pack(seal, keyed, stored)).catch((error) => {
    deps.log.error("answer_store_failed", { call: keyed.callId, error });
  });
  return answer;
}

function conflict(message: string, retryAfterMs?: number): GatewayError {
  return new GatewayError("conflict", message, { param: "Idempotency-Key", retryAfterMs });
}
