import { GatewayError } from "../../contract/index.ts";
import { passwordChangeRequired, type SessionUser } from "../../identity/index.ts";
import { mayAdminister, maySeeAll } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { checkOrigin } from "./origin.ts";
import { declaredBytes, parseBody, readBodyText } from "./read-body.ts";
import { routesOf } from "./route.ts";
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
 * Like {@link readSmall}, but parses the JSON; `null` of an empty body.
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

/** The user of a session, who changes nothing as a viewer or in a tab that shows another account. */
async function readWriter(deps: HttpDeps, request: Request): Promise<SessionUser> {
  const user = await readUser(deps, request);
  if (isRead(request)) return user;
  if (user.role === "viewer") throw readOnly();
  expectShownAccount(request, user);
  return user;
}

async function readTeamAdmin(deps: HttpDeps, request: Request): Promise<SessionUser> {
  const user = await readWriter(deps, request);
  if (isRead(request) || user.teamRole === "admin") return user;
  throw new GatewayError("forbidden", "Only admins of the team may do this; ask one of them");
}

/** Routes of a user's account, which viewers only read. */
export function withSession<const Prefix extends string = "">(deps: HttpDeps, prefix?: Prefix) {
  return sessionRoutes(deps, readWriter, prefix);
}

/** Like {@link withSession}, and members of a team only read. */
export function withTeamSession<const Prefix extends string = "">(deps: HttpDeps, prefix?: Prefix) {
  return sessionRoutes(deps, readTeamAdmin, prefix);
}

/** Routes of users' own sign-in, the same for every role. */
export function withOwnSession<const Prefix extends string = "">(deps: HttpDeps, prefix?: Prefix) {
  return sessionRoutes(deps, readUser, prefix);
}

/** Like {@link withSession}, also for users who have to change their password first. */
export function withAnySession<const Prefix extends string = "">(deps: HttpDeps, prefix?: Prefix) {
  return sessionRoutes(deps, readAnyUser, prefix);
}

/**
 * Reads the owner or administrator of the session cookie; viewers only read.
 *
 * @throws {GatewayError} `invalid_session`, `forbidden`
 */
export async function readOperator(deps: HttpDeps, request: Request): Promise<SessionUser> {
  const user = await readUser(deps, request);
  if (mayAdminister(user.role) || (maySeeAll(user.role) && isRead(request))) return user;
  throw maySeeAll(user.role)
    ? readOnly()
    : new GatewayError("forbidden", "Only administrators of this gateway may do this");
}

/** Routes for owners and administrators; viewers only read them. */
export function withAdminSession<const Prefix extends string = "">(deps: HttpDeps, prefix = "" as Prefix) {
  const admit = async (request: Request) => {
    const user = await admitUser(deps, request, readOperator);
    // Administrators act for the gateway, whichever account their session is in.
    return { user, admin: { ...user, accountId: user.ownAccountId } };
  };
  return routesOf(deps, { admit, readBody: (request) => readSmallJson(deps, request) }, prefix);
}

/**
 * Refuses a write from a tab that shows another account than the user has switched to elsewhere: the write would change
 * the wrong account. Clients other than the dashboard do not send the header.
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
  return new GatewayError("forbidden", "Viewers may not change anything; ask an owner for another role");
}

/** Routes without a session, for requests of the gateway's own pages. */
export function publicRoutes(deps: HttpDeps) {
  const admit = async (request: Request) => {
    checkOrigin(request);
    return {};
  };
  return routesOf(deps, { admit, readBody: (request) => readSmallJson(deps, request) }, "");
}

function sessionRoutes<const Prefix extends string>(deps: HttpDeps, find: typeof readUser, prefix = "" as Prefix) {
  const admit = async (request: Request) => ({ user: await admitUser(deps, request, find) });
  return routesOf(deps, { admit, readBody: (request) => readSmallJson(deps, request) }, prefix);
}

/** Checks origin and session of a request. */
async function admitUser(deps: HttpDeps, request: Request, find: typeof readUser): Promise<SessionUser> {
  checkOrigin(request);
  rejectNullCharacters(request.url, "address");
  return await find(deps, request);
}
