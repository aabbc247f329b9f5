import { Elysia } from "elysia";
import type { Visitor } from "../accounts/index.ts";
import { GatewayError } from "../contract/index.ts";
import { makeCallId } from "../kernel/index.ts";
import type { Desk } from "./desk.ts";
import type { HttpGround } from "./ground.ts";
import { checkOrigin } from "./origin.ts";

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
  const sentence = "This password is good for the first sign-in alone: change it, and everything else is open";
  throw new GatewayError("forbidden", sentence, { shownCode: "password_change_required" });
}

async function anyVisitorOf({ desk }: DeskGround, request: Request): Promise<Visitor> {
  const visitor = await desk.signIn.visitorOf(request.headers.get("cookie"));
  if (visitor !== undefined) return visitor;
  const sentence = request.headers.has("authorization")
    ? "This endpoint takes the cookie 'session' of a person who is signed in, not an API key; GET /key tells a key's own figures"
    : "Nobody is signed in: the cookie 'session' is missing, wrong or over; sign in again";
  throw new GatewayError("invalid_session", sentence);
}

/** For routes of the page: known who asks, before anything of the request is read. */
export function signedIn(ground: DeskGround) {
  return new Elysia().derive({ as: "scoped" }, async ({ request, set }) => ({
    visitor: await admit(ground, request, { headers: set.headers, visitorOf }),
  }));
}

/** For what also those see who have to change their password first. */
export function signedInAtAll(ground: DeskGround) {
  return new Elysia().derive({ as: "scoped" }, async ({ request, set }) => ({
    visitor: await admit(ground, request, { headers: set.headers, visitorOf: anyVisitorOf }),
  }));
}

/** For routes of administrators. */
export function signedInAdmin(ground: DeskGround) {
  return new Elysia().derive({ as: "scoped" }, async ({ request, set }) => {
    const admin = await admit(ground, request, { headers: set.headers, visitorOf });
    if (admin.role !== "admin") throw new GatewayError("forbidden", "This is for administrators of this gateway");
    return { admin };
  });
}

interface Admission {
  readonly headers: Record<string, string | number>;
  readonly visitorOf: typeof visitorOf;
}

function admit(ground: DeskGround, request: Request, { headers, visitorOf }: Admission): Promise<Visitor> {
  headers["x-request-id"] = makeCallId(ground.now());
  headers["cache-control"] = "no-store";
  checkOrigin(request);
  return visitorOf(ground, request);
}
