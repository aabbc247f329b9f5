import { Elysia } from "elysia";
import { GatewayError, makeCallId } from "../../contract/index.ts";
import { passwordChangeRequired, type SessionUser } from "../../identity/index.ts";
import { mayAdminister, maySeeAll } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { dataHeaders, jsonForPage } from "./headers.ts";
import { checkOrigin } from "./origin.ts";
import { declaredBytes, parseBody, readBodyText } from "./read-body.ts";
import { withStoreTimeout } from "./store-timeout.ts";

/** The largest body of a form of the dashboard, in bytes: a key with five hundred models. */
const smallBytesMax = 256 * 1024;

/**
 * Reads a body of at most {@link smallBytesMax} as JSON text: the sender may be unauthenticated.
 *
 * @throws {GatewayError} `payload_too_large`, or `invalid_request` for a null character in it.
 */
export async function readSmall(deps: HttpDeps, request: Request): Promise<string> {
  declaredBytes(request, smallBytesMax);
  const text = await readBodyText(deps, request, smallBytesMax);
  rejectNullCharacters(text, "body");
  return text;
}

/**
 * Like {@link readSmall}, but parses the JSON. An empty body is `null`: after `undefined` Elysia would read it again.
 *
 * @throws {GatewayError} `invalid_request` as well.
 */
export async function readSmallJson(deps: HttpDeps, request: Request): Promise<unknown> {
  const text = await readSmall(deps, request);
  return text === "" ? null : parseBody(text);
}

/** The JSON escape of a null character whose backslash is not itself escaped. */
const nullInJson = /(?<!\\)(?:\\\\)*\\u0000/;

/** Refuses a null character, which PostgreSQL does not store, in an address or a JSON body. @throws {GatewayError} `invalid_request` */
export function rejectNullCharacters(text: string, where: "address" | "body"): void {
  if (!(where === "address" ? text.includes("%00") : nullInJson.test(text))) return;
  throw new GatewayError("invalid_request", `The ${where} has a null character (U+0000); remove it`);
}

/**
 * Reads the user of the session cookie.
 *
 * @throws {GatewayError} `invalid_session`, or `forbidden` while the password is a temporary one.
 */
export async function readUser(deps: HttpDeps, request: Request): Promise<SessionUser> {
  const user = await readAnyUser(deps, request);
  if (!user.passwordIsTemporary) return user;
  throw passwordChangeRequired();
}

async function readAnyUser(deps: HttpDeps, request: Request): Promise<SessionUser> {
  const cookies = request.headers.get("cookie");
  // The first session of a process loads a library, which a busy machine may do for longer than a store may take.
  await deps.signIn.prepare(cookies);
  const user = await withStoreTimeout(deps, deps.signIn.sessionUserOf(cookies));
  if (user !== undefined) return user;
  const message = request.headers.has("authorization")
    ? "This endpoint needs the cookie 'session' of a signed-in user, not an API key; GET /key returns the limits of a key"
    : "Not signed in: the cookie 'session' is missing, wrong or expired; sign in again";
  throw new GatewayError("invalid_session", message);
}

/** Routes of a user's account, which viewers only read; the session is checked before the body is read. */
export function withSession(deps: HttpDeps) {
  const find = async (_: HttpDeps, request: Request) => {
    const user = await readUser(deps, request);
    if (isRead(request)) return user;
    if (user.role === "viewer") throw readOnly();
    expectShownAccount(request, user);
    return user;
  };
  return guardedRoutes(deps, sessionGuard(deps, find));
}

/** As {@link withSession}, and members of a team only read. */
export function withTeamSession(deps: HttpDeps) {
  const find = async (_: HttpDeps, request: Request) => {
    const user = await readUser(deps, request);
    if (isRead(request)) return user;
    if (user.role === "viewer") throw readOnly();
    expectShownAccount(request, user);
    if (user.teamRole === "admin") return user;
    throw new GatewayError("forbidden", "Only admins of the team may do this; ask one of them");
  };
  return guardedRoutes(deps, sessionGuard(deps, find));
}

/** Routes of users' own sign-in, the same for every role. */
export function withOwnSession(deps: HttpDeps) {
  return guardedRoutes(deps, sessionGuard(deps, readUser));
}

/** As {@link withSession}, also for users who have to change their password first. */
export function withAnySession(deps: HttpDeps) {
  return guardedRoutes(deps, sessionGuard(deps, readAnyUser));
}

/**
 * Reads the owner or administrator of the session cookie; viewers only read.
 *
 * @throws {GatewayError} `invalid_session`, `forbidden`
 */
export async function readOperator(deps: HttpDeps, request: Request): Promise<SessionUser> {
  const user = await readUser(deps, request);
  if (mayAdminister(user.role) || (maySeeAll(user.role) && isRead(request))) return user;
  throw maySeeAll(user.role) ? readOnly() : new GatewayError("forbidden", "This is for administrators of this gateway");
}

/** Routes for owners and administrators; viewers only read them. */
export function withAdminSession(deps: HttpDeps, readBody = readSmallJson) {
  return guardedRoutes(deps, sessionGuard(deps, readOperator), readBody).derive({ as: "scoped" }, ({ user }) => ({
    // Administrators act for the gateway, whichever account their session is in.
    admin: { ...user, accountId: user.ownAccountId },
  }));
}

/**
 * Refuses the write of a tab that still shows another account than the one to which the user has switched elsewhere: it
 * would land in the wrong one. Other clients don't send the header.
 *
 * @throws {GatewayError} `conflict`
 */
function expectShownAccount(request: Request, { accountId, accountName, accountEmail }: SessionUser): void {
  const shown = request.headers.get("x-modelgate-account");
  if (shown === null || shown === accountId) return;
  const name = accountName ?? accountEmail;
  const message = `Nothing was changed: this page shows another account, and you work in ${name} now; reload the page`;
  throw new GatewayError("conflict", message, { publicCode: "account_switched" });
}

function isRead({ method }: Request): boolean {
  return method === "GET" || method === "HEAD";
}

function readOnly(): GatewayError {
  return new GatewayError("forbidden", "Viewers see everything and change nothing; ask an owner for another role");
}

/** Routes without a session, for requests of the gateway's own pages. */
export function publicRoutes(deps: HttpDeps) {
  return guardedRoutes(deps, async (request) => checkOrigin(request));
}

/** Elysia parses the body before it derives anything, so `admit` is called in both: whichever comes first. */
function guardedRoutes<Who>(deps: HttpDeps, admit: (request: Request) => Promise<Who>, readBody = readSmallJson) {
  return new Elysia()
    .onParse({ as: "scoped" }, async ({ request }) => {
      await admit(request);
      return await readBody(deps, request);
    })
    .derive({ as: "scoped" }, async ({ request, set }) => {
      Object.assign(set.headers, dataHeaders(request));
      set.headers["x-request-id"] = makeCallId(deps.now());
      return { user: await admit(request) };
    })
    .mapResponse({ as: "scoped" }, ({ request, responseValue, set }) => {
      const isJson =
        typeof responseValue === "object" && responseValue !== null && !(responseValue instanceof Response);
      return isJson ? jsonForPage(request, responseValue, set.headers as Record<string, string>) : undefined;
    });
}

/** Checks origin and session of a request; the session is looked up once for each request. */
function sessionGuard(deps: HttpDeps, find: typeof readUser): (request: Request) => Promise<SessionUser> {
  const users = new WeakMap<Request, Promise<SessionUser>>();
  return async (request) => {
    checkOrigin(request);
    rejectNullCharacters(request.url, "address");
    let user = users.get(request);
    if (user === undefined) {
      user = find(deps, request);
      users.set(request, user);
    }
    return await user;
  };
}
