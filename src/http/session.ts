import { Elysia } from "elysia";
import { changeFirst, type Visitor } from "../accounts/index.ts";
import { GatewayError } from "../contract/index.ts";
import { makeCallId } from "../kernel/index.ts";
import type { Desk } from "./desk.ts";
import type { HttpGround } from "./ground.ts";
import { checkOrigin } from "./origin.ts";
import { readSmallJson, rejectNullCharacters } from "./read-body.ts";
import { dataHeaders } from "./security-headers.ts";
import { storeInTime } from "./store-in-time.ts";

/** A ground on which people sign in. */
export type DeskGround = HttpGround & { readonly desk: Desk };

export function hasDesk(ground: HttpGround): ground is DeskGround {
  return ground.desk !== undefined;
}

/**
 * Who is signed in, and may go on.
 *
 * @throws {GatewayError} `invalid_session`, or `forbidden` while a password that somebody else has seen is in use.
 */
export async function visitorOf(ground: DeskGround, request: Request): Promise<Visitor> {
  const visitor = await anyVisitorOf(ground, request);
  if (!visitor.passwordIsTemporary) return visitor;
  throw changeFirst();
}

async function anyVisitorOf(ground: DeskGround, request: Request): Promise<Visitor> {
  const visitor = await storeInTime(ground, ground.desk.signIn.visitorOf(request.headers.get("cookie")));
  if (visitor !== undefined) return visitor;
  const sentence = request.headers.has("authorization")
    ? "This endpoint takes the cookie 'session' of a person who is signed in, not an API key; GET /key tells a key's own figures"
    : "Nobody is signed in: the cookie 'session' is missing, wrong or over; sign in again";
  throw new GatewayError("invalid_session", sentence);
}

/** For routes of the page: known who asks, before anything of the request is read. */
export function signedIn(ground: DeskGround) {
  return opened(ground, porter(ground, visitorOf));
}

/** For what also those see who have to change their password first. */
export function signedInAtAll(ground: DeskGround) {
  return opened(ground, porter(ground, anyVisitorOf));
}

/** For routes of administrators. */
export function signedInAdmin(ground: DeskGround) {
  const admit = porter(ground, async (_, request) => {
    const admin = await visitorOf(ground, request);
    if (admin.role === "admin") return admin;
    throw new GatewayError("forbidden", "This is for administrators of this gateway");
  });
  return opened(ground, admit).derive({ as: "scoped" }, ({ visitor }) => ({ admin: visitor }));
}

/** For what anybody may see or send from a page of this gateway. */
export function ofAnybody(ground: DeskGround) {
  return opened(ground, async (request) => checkOrigin(request));
}

/** Elysia reads a body before it derives anything: who sends it is asked before both. */
function opened<Who>(ground: DeskGround, admit: (request: Request) => Promise<Who>) {
  return new Elysia()
    .onParse({ as: "scoped" }, async ({ request }) => {
      await admit(request);
      return await readSmallJson(request);
    })
    .derive({ as: "scoped" }, async ({ request, set }) => {
      Object.assign(set.headers, dataHeaders(request));
      set.headers["x-request-id"] = makeCallId(ground.now());
      return { visitor: await admit(request) };
    });
}

/** Says who sends a request from a page of this gateway; looked up once, however often it is asked. */
function porter(ground: DeskGround, find: typeof visitorOf): (request: Request) => Promise<Visitor> {
  const known = new WeakMap<Request, Promise<Visitor>>();
  return async (request) => {
    checkOrigin(request);
    rejectNullCharacters(request.url, "address");
    let visitor = known.get(request);
    if (visitor === undefined) {
      visitor = find(ground, request);
      known.set(request, visitor);
    }
    return await visitor;
  };
}
