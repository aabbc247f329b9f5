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
export async function visitorOf(deps: HttpDeps, request: Request): Promise<Visitor> {
  const visitor = await anyVisitorOf(deps, request);
  if (!visitor.passwordIsTemporary) return visitor;
  throw changeFirst();
}

async function anyVisitorOf(deps: HttpDeps, request: Request): Promise<Visitor> {
  const visitor = await withStoreTimeout(deps, deps.signIn.visitorOf(request.headers.get("cookie")));
  if (visitor !== undefined) return visitor;
  const sentence = request.headers.has("authorization")
    ? "This endpoint takes the cookie 'session' of a person who is signed in, not an API key; GET /key tells a key's own figures"
    : "Nobody is signed in: the cookie 'session' is missing, wrong or over; sign in again";
  throw new GatewayError("invalid_session", sentence);
}

/** For routes of the page: known who asks, before anything of the request is read. */
export function signedIn(deps: HttpDeps) {
  return opened(deps, porter(deps, visitorOf));
}

/** For what also those see who have to change their password first. */
export function signedInAtAll(deps: HttpDeps) {
  return opened(deps, porter(deps, anyVisitorOf));
}

/** For routes of administrators. */
export function signedInAdmin(deps: HttpDeps) {
  const admit = porter(deps, async (_, request) => {
    const admin = await visitorOf(deps, request);
    if (admin.role === "admin") return admin;
    throw new GatewayError("forbidden", "This is for administrators of this gateway");
  });
  return opened(deps, admit).derive({ as: "scoped" }, ({ visitor }) => ({ admin: visitor }));
}

/** For what anybody may see or send from a page of this gateway. */
export function ofAnybody(deps: HttpDeps) {
  return opened(deps, async (request) => checkOrigin(request));
}

/** Elysia reads a body before it derives anything: who sends it is asked before both. */
function opened<Who>(deps: HttpDeps, admit: (request: Request) => Promise<Who>) {
  return new Elysia()
    .onParse({ as: "scoped" }, async ({ request }) => {
      await admit(request);
      return await readSmallJson(request);
    })
    .derive({ as: "scoped" }, async ({ request, set }) => {
      Object.assign(set.headers, dataHeaders(request));
      set.headers["x-request-id"] = makeCallId(deps.now());
      return { visitor: await admit(request) };
    });
}

/** Says who sends a request from a page of this gateway; looked up once, however often it is asked. */
function porter(deps: HttpDeps, find: typeof visitorOf): (request: Request) => Promise<Visitor> {
  const known = new WeakMap<Request, Promise<Visitor>>();
  return async (request) => {
    checkOrigin(request);
    rejectNullCharacters(request.url, "address");
    let visitor = known.get(request);
    if (visitor === undefined) {
      visitor = find(deps, request);
      known.set(request, visitor);
    }
    return await visitor;
  };
}
