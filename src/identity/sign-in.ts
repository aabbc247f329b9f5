import { type AuditEntry, recordAct, recordAudit } from "../audit/index.ts";
import { GatewayError, getOwn } from "../contract/index.ts";
import type { Store } from "../db/index.ts";
import { RateLimiter } from "../lib/rate-limiter.ts";
import { endOtherAccess, toSignInAddress } from "../tenants/index.ts";
import { takeAttempt, takePasswordAttempt } from "./attempt-limit.ts";
import { authPrefix, missing, readBody, sessionCookie, toAuthRequest, toCleanResponse } from "./auth-http.ts";
import type { AuthOptions } from "./better-auth.ts";
import type { OidcOptions } from "./oidc/identity-provider.ts";
import { createOidcSignIn } from "./oidc/oidc-sign-in.ts";
import { secondFactorPaths, withAccountLabel } from "./second-factor.ts";
import { cacheSessions } from "./session-cache.ts";
import { passwordChangeRequired, readSessionUser, type SessionUser } from "./sessions.ts";
import { signUp } from "./sign-up.ts";

/** Handles sign-in and reads sessions. */
export interface SignIn {
  /**
   * Handles a request below `/api/auth`: `sign-in/email`, `sign-up/email`, `sign-out`, `change-password`, `get-session`,
   * `revoke-sessions`, `revoke-other-sessions`, `two-factor/…`, and with an identity provider `sign-in/oauth2` and its
   * callback `oauth2/callback/oidc`. Responses never contain a session token, which is only in the cookie.
   *
   * The caller has checked that the request comes from a page of its own origin.
   *
   * `sign-up/email` signs nobody in; `sign-in/email` does that afterwards.
   *
   * @param network The client whose attempts are counted: its IPv4 address or IPv6 /64.
   * @throws {GatewayError} When the request is refused.
   */
  handle(request: Request, network: string): Promise<Response>;
  /** Loads the library that reads sessions, where these cookies name one: a part of a second at the first time, and none of the store's. */
  prepare(cookies: string | null): Promise<void>;
  /** Reads the user of these cookies; `undefined` when they have no valid session. */
  sessionUserOf(cookies: string | null): Promise<SessionUser | undefined>;
}

export interface SignInOptions extends AuthOptions {
  /** Whether anybody may create an account. */
  signUp: "open" | "closed";
  now: () => number;
  attemptsPerMinuteMax?: number;
  /** The identity provider; absent when only passwords are used. */
  oidc?: OidcOptions | undefined;
}

const attemptsDefault = 10;

/** The endpoints of better-auth that are exposed. */
const allowedPaths: Readonly<Record<string, "GET" | "POST">> = {
  "sign-in/email": "POST",
  "sign-up/email": "POST",
  "sign-out": "POST",
  "change-password": "POST",
  "get-session": "GET",
  "revoke-sessions": "POST",
  "revoke-other-sessions": "POST",
  ...Object.fromEntries(secondFactorPaths.map((path) => [path, "POST" as const])),
};
/** Endpoints that check the password of a user who is signed in. */
const passwordPaths = [
  "change-password",
  ...secondFactorPaths.filter((path) => !path.startsWith("two-factor/verify-")),
];
const passwordChecks = { max: 10, windowMs: 60_000, what: "attempts for this account" };
/** Endpoints of a signed-in user; the others also work during a sign-in. */
const sessionPaths = [...passwordPaths, "revoke-sessions", "revoke-other-sessions"];
/** Endpoints that check or hash a password, or make a request to the identity provider. */
const attempts = [
  "sign-in/email",
  "sign-up/email",
  "change-password",
  "sign-in/oauth2",
  "oauth2/callback/oidc",
  ...secondFactorPaths,
];

export function createSignIn(options: SignInOptions): SignIn {
  const { store, now, oidc } = options;
  const limit = new RateLimiter(options.attemptsPerMinuteMax ?? attemptsDefault, now);
  const load = once(async () => {
    const { openBetterAuth, openSessions } = await import("./better-auth.ts");
    return { handle: openBetterAuth(options), readSession: cacheSessions(openSessions(options), now) };
  });
  const callBetterAuth = async (request: Request) => toCleanResponse(await (await load()).handle(request));
  const oidcSignIn = oidc === undefined ? undefined : createOidcSignIn({ ...options, oidc });
  const signInWithPassword = async (request: Request, body: Record<string, unknown>, network: string) => {
    const signInRequest = toSignInRequest(request, body);
    const forget = await takePasswordAttempt(store, { email: body.email as string, network }, now());
    const response = await callBetterAuth(signInRequest);
    await forget();
    return response;
  };
  const hasSession = (cookies: string | null): cookies is string => cookies?.includes(`${sessionCookie}=`) === true;
  const sessionUserOf = async (cookies: string | null) => {
    if (!hasSession(cookies)) return undefined;
    const session = await (await load()).readSession(cookies);
    return session === undefined || session.expiresAt <= now()
      ? undefined
      : await readSessionUser(store, session, now());
  };
  return {
    async prepare(cookies) {
      if (hasSession(cookies)) await load();
    },
    sessionUserOf,
    async handle(request, network) {
      const url = new URL(request.url);
      const action = `${request.method} ${url.pathname.slice(authPrefix.length)}`;
      const path = action.slice(request.method.length + 1);
      if (attempts.includes(path)) limit.take(network);
      if (action === "POST sign-in/oauth2" && oidcSignIn !== undefined) return oidcSignIn.begin(request);
      if (action === "GET oauth2/callback/oidc" && oidcSignIn !== undefined) return oidcSignIn.end(request);
      if (allowedPaths[path] !== request.method) throw unknownEndpoint(request.method, url.pathname);
      if (request.method === "GET") return callBetterAuth(request);
      const body = await readBody(request);
      if (path === "sign-up/email") {
        await signUp(options, body);
        return Response.json({ success: true });
      }
      if (path === "sign-in/email") return signInWithPassword(request, body, network);
      const sessionUser = await sessionUserOf(request.headers.get("cookie"));
      // better-auth does not know of disabled accounts.
      if (sessionUser === undefined && sessionPaths.includes(path)) throw notSignedIn();
      if (sessionUser !== undefined) {
        checkPasswordChange(sessionUser, path, body);
        if (passwordPaths.includes(path)) {
          await takeAttempt(store, `password:${sessionUser.userId}`, passwordChecks, now());
        }
      }
      if (sessionUser?.secondFactor && path === "two-factor/enable") {
        // A new secret would replace the one that works, before a code of it was seen.
        throw new GatewayError("conflict", "Two-step sign-in is on already; turn it off first to set it up again");
      }
      const response = await callBetterAuth(toAuthRequest(request, path, body));
      if (sessionUser === undefined) return response;
      if (response.ok) await recordSecondFactor(store, { user: sessionUser, path }, now());
      if (path === "change-password") await finishPasswordChange(store, sessionUser, now());
      return path === "two-factor/enable"
        ? withBody(response, withAccountLabel(sessionUser.email, await response.json()))
        : response;
    },
  };
}

/** Runs `work` at the first call; later calls get the same promise. */
function once<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let result: Promise<Result> | undefined;
  return () => {
    result ??= work();
    return result;
  };
}

/** The sign-in request with the address under which better-auth stores the user. */
function toSignInRequest(request: Request, { email, password, rememberMe }: Record<string, unknown>): Request {
  if (typeof email !== "string") throw missing("email");
  if (typeof password !== "string") throw missing("password");
  const body = { email: toSignInAddress(email), password, rememberMe: rememberMe !== false };
  return toAuthRequest(request, "sign-in/email", body);
}

/** A new password ends the other sessions, which another person may have started with the old password. */
function checkPasswordChange({ passwordIsTemporary }: SessionUser, path: string, body: Record<string, unknown>): void {
  if (passwordIsTemporary && path.startsWith("two-factor/")) throw passwordChangeRequired();
  if (path !== "change-password") return;
  if (body.newPassword === body.currentPassword) {
    throw new GatewayError("invalid_request", "The new password is the same as the old one; choose another", {
      param: "newPassword",
    });
  }
  body.revokeOtherSessions = true;
}

async function finishPasswordChange(store: Store, user: SessionUser, now: number): Promise<void> {
  const account_id = user.accountId === user.ownAccountId ? null : user.accountId;
  await store.change(async (db) => {
    // One new session has replaced all others.
    await db.updateTable("sessions").set({ account_id }).where("user_id", "=", user.userId).execute();
    await db.updateTable("users").set({ password_is_temporary: 0 }).where("id", "=", user.userId).execute();
    await endOtherAccess(db, { accountId: user.ownAccountId, userId: user.userId });
    const entry = { accountId: user.ownAccountId, action: "user.password", subject: user.ownAccountId, detail: {} };
    await recordAudit({ db }, entry, now);
  });
}

/** Writes the audit entry of a signed-in user's change of their second factor. */
async function recordSecondFactor(
  store: Store,
  { user, path }: { user: SessionUser; path: string },
  now: number,
): Promise<void> {
  const entries: Readonly<Record<string, Pick<AuditEntry, "action" | "detail">>> = {
    // The first code that is right turns it on.
    ...(!user.secondFactor && { "two-factor/verify-totp": { action: "user.two_factor", detail: { on: true } } }),
    "two-factor/disable": { action: "user.two_factor", detail: { on: false } },
    "two-factor/generate-backup-codes": { action: "user.backup_codes", detail: {} },
    "two-factor/verify-backup-code": { action: "user.backup_code", detail: {} },
  };
  const entry = getOwn(entries, path);
  if (entry === undefined) return;
  await recordAct(store, { accountId: user.ownAccountId, subject: user.ownAccountId, ...entry }, now);
}

/** Copies a response with another body. */
function withBody({ headers }: Response, body: unknown): Response {
  return new Response(JSON.stringify(body), { headers });
}

function notSignedIn(): GatewayError {
  return new GatewayError("invalid_session", "Not signed in, or the account is disabled; sign in again");
}

function unknownEndpoint(method: string, path: string): GatewayError {
  return new GatewayError("not_found", `There is no endpoint ${method} ${path}`);
}
