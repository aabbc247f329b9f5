import { Elysia } from "elysia";
import { changeFirst, type Visitor } from "../accounts/index.ts";
import { GatewayError } from "../contract/index.ts";
import { makeCallId } from "../kernel/index.ts";
import type { HttpDeps } from "./deps.ts";
import { checkOrigin } from "./origin.ts";
import { readSmallJson, rejectNullCharacters } from "./read-body.ts";
import { dataHeaders } from "./security-headers.ts";
import { withStoreTimeout } from "./store-timeout.ts";

/**
 * Who is signed in, and may go on.
 *
 * @throws {GatewayError} `invalid_session`, or `forbidden` while a password that somebody else has seen is in use.
 */
export async function readUser(deps: HttpDeps, request: Request): Promise<Visitor> {
  const user = await readAnyUser(deps, request);
  if (!user.passwordIsTemporary) return user;
  throw changeFirst();
}

async function readAnyUser(deps: HttpDeps, request: Request): Promise<Visitor> {
  const user = await withStoreTimeout(deps, deps.signIn.visitorOf(request.headers.get("cookie")));
  if (user !== undefined) return user;
  const sentence = request.headers.has("authorization")
    ? "This endpoint takes the cookie 'session' of a person who is signed in, not an API key; GET /key tells a key's own figures"
    : "Nobody is signed in: the cookie 'session' is missing, wrong or over; sign in again";
  throw new GatewayError("invalid_session", sentence);
}

/** For routes of the page: known who asks, before anything of the request is read. */
export function withSession(deps: HttpDeps) {
  return guardedRoutes(deps, sessionGuard(deps, readUser));
}

/** For what also those see who have to change their password first. */
export function withAnySession(deps: HttpDeps) {
  return guardedRoutes(deps, sessionGuard(deps, readAnyUser));
}

/** For routes of administrators. */
export function withAdminSession(deps: HttpDeps) {
  const admit = sessionGuard(deps, async (_, request) => {
    const admin = await readUser(deps, request);
    if (admin.role === "admin") return admin;
    throw new GatewayError("forbidden", "This is for administrators of this gateway");
  });
  return guardedRoutes(deps, admit).derive({ as: "scoped" }, ({ user }) => ({ admin: user }));
}

/** For what anybody may see or send from a page of this gateway. */
export function publicRoutes(deps: HttpDeps) {
  return guardedRoutes(deps, async (request) => checkOrigin(request));
}

/** Elysia reads a body before it derives anything: who sends it is asked before both. */
function guardedRoutes<Who>(deps: HttpDeps, admit: (request: Request) => Promise<Who>) {
  return new Elysia()
    .onParse({ as: "scoped" }, async ({ request }) => {
      await admit(request);
      return await readSmallJson(request);
    })
    .derive({ as: "scoped" }, async ({ request, set }) => {
      Object.assign(set.headers, dataHeaders(request));
      set.headers["x-request-id"] = makeCallId(deps.now());
      return { user: await admit(request) };
    });
}

/** Says who sends a request from a page of this gateway; looked up once, however often it is asked. */
function sessionGuard(deps: HttpDeps, find: typeof readUser): (request: Request) => Promise<Visitor> {
  const known = new WeakMap<Request, Promise<Visitor>>();
  return async (request) => {
    checkOrigin(request);
    rejectNullCharacters(request.url, "address");
    let user = known.get(request);
    if (user === undefined) {
      user = find(deps, request);
      known.set(request, user);
    }
    return await user;
  };
}
