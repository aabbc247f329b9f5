import { GatewayError } from "../contract/index.ts";
import type { Store } from "../db/index.ts";
import { clean } from "./auth-answer.ts";
import { authPrefix, missing, readBody, requestOf, sessionCookie } from "./auth-request.ts";
import type { AuthGround } from "./better-auth.ts";
import type { OidcOptions } from "./oidc/identity-provider.ts";
import { createOidcSignIn } from "./oidc/oidc-sign-in.ts";
import { passwordChangeRequired } from "./password-change-required.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { findByIdentity, SecondFactorLimit, secondFactorPaths } from "./second-factor.ts";
import { readSessionUser, type SessionUser } from "./session-user.ts";
import { signInAddressOf } from "./sign-in-address.ts";
import { makeAccount } from "./sign-up.ts";

/** Sign-in and the sessions it makes. */
export interface SignIn {
  /**
   * Answers a request below `/api/auth`: `sign-in/email`, `sign-up/email`, `sign-out`, `change-password`,
   * `get-session`, `revoke-sessions`, `revoke-other-sessions`, `two-factor/…`, and `sign-in/oauth2` where there is a provider of identities,
   * who sends back to `oauth2/callback/oidc`. No answer tells a session's token: it is in the cookie.
   *
   * The caller has seen to it that the request comes from a page of its own origin.
   *
   * @param peer Whose attempts are counted together.
   * @throws {GatewayError} For whatever is refused.
   */
  handle(request: Request, peer: string): Promise<Response>;
  /** Who sends these cookies; `undefined` for nobody who is signed in. */
  sessionUserOf(cookies: string | null): Promise<SessionUser | undefined>;
}

export interface SignInOptions extends AuthGround {
  /** Whether a stranger may make an account. */
  signUp: "open" | "closed";
  now: () => number;
  attemptsPerMinuteMax?: number;
  /** A provider of identities; absent: passwords alone. */
  oidc?: OidcOptions | undefined;
}

const attemptsDefault = 10;

/** What may be asked for; the rest of better-auth is for what is not offered here. */
const offered: Readonly<Record<string, "GET" | "POST">> = {
  "sign-in/email": "POST",
  "sign-up/email": "POST",
  "sign-out": "POST",
  "change-password": "POST",
  "get-session": "GET",
  "revoke-sessions": "POST",
  "revoke-other-sessions": "POST",
  ...Object.fromEntries(secondFactorPaths.map((path) => [path, "POST" as const])),
};
/** Those that try a password, or cost the hash of one, or have the issuer asked. */
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
    return { handle: openBetterAuth(options), readSession: openSessions(options) };
  });
  const ask = async (request: Request) => clean(await (await load()).handle(request));
  const byIssuer = oidc === undefined ? undefined : createOidcSignIn({ ...options, oidc });
  const second = new SecondFactorLimit(now);
  /** Only whoever knows the password is counted, so nobody else can shut a person out. */
  const withSecondStep = async (response: Response, email: string): Promise<Response> => {
    const body = (await response.json()) as Record<string, unknown> | null;
    if (body?.twoFactorRedirect === true) second.challenge(signInAddressOf(email));
    return answerOf(response, body);
  };
  const sessionUserOf = async (cookies: string | null) => {
    if (!cookies?.includes(`${sessionCookie}=`)) return undefined;
    const session = await (await load()).readSession(cookies);
    return session === undefined || session.expiresAt <= now() ? undefined : await readSessionUser(store, session);
  };
  return {
    sessionUserOf,
    async handle(request, peer) {
      const url = new URL(request.url);
      const action = `${request.method} ${url.pathname.slice(authPrefix.length)}`;
      const path = action.slice(request.method.length + 1);
      if (attempts.includes(path)) limit.take(peer);
      if (action === "POST sign-in/oauth2" && byIssuer !== undefined) return byIssuer.begin(request);
      if (action === "GET oauth2/callback/oidc" && byIssuer !== undefined) return byIssuer.end(request);
      if (offered[path] !== request.method) throw notOffered(request.method, url.pathname);
      if (request.method === "GET") return ask(request);
      const body = await readBody(request);
      if (path === "sign-up/email") await makeAccount(options, body);
      if (path.endsWith("/email")) return withSecondStep(await ask(signInOf(request, body)), body.email as string);
      const cookies = request.headers.get("cookie");
      if (path.startsWith("two-factor/")) second.guess(cookies);
      const sessionUser = await sessionUserOf(cookies);
      if (sessionUser !== undefined) checkStep(sessionUser, path, body);
      const response = await ask(requestOf(request, path, body));
      if (sessionUser === undefined) return response;
      if (path === "change-password") await keepPassword(store, sessionUser);
      return path === "two-factor/enable"
        ? answerOf(response, findByIdentity(sessionUser.email, await response.json()))
        : response;
    },
  };
}

/** Runs the work at the first call alone; later calls get the same answer. */
function once<Answer>(work: () => Promise<Answer>): () => Promise<Answer> {
  let answer: Promise<Answer> | undefined;
  return () => {
    answer ??= work();
    return answer;
  };
}

/** A sign-in by the address under which the e-mail is kept. */
function signInOf(request: Request, { email, password, rememberMe }: Record<string, unknown>): Request {
  if (typeof email !== "string") throw missing("email");
  if (typeof password !== "string") throw missing("password");
  const body = { email: signInAddressOf(email), password, rememberMe: rememberMe !== false };
  return requestOf(request, "sign-in/email", body);
}

/** Whoever else has seen a password for the first sign-in, and signed in with it, is out with its change. */
function checkStep({ passwordIsTemporary }: SessionUser, path: string, body: Record<string, unknown>): void {
  if (passwordIsTemporary && path.startsWith("two-factor/")) throw passwordChangeRequired();
  if (path !== "change-password") return;
  if (body.newPassword === body.currentPassword) {
    throw new GatewayError("invalid_request", "The new password is the old one; choose another", {
      param: "newPassword",
    });
  }
  if (passwordIsTemporary) body.revokeOtherSessions = true;
}

async function keepPassword({ db }: Store, { userId }: SessionUser): Promise<void> {
  await db.updateTable("users").set({ password_is_temporary: 0 }).where("id", "=", userId).execute();
}

/** The same answer with another body. */
function answerOf({ headers }: Response, body: unknown): Response {
  return new Response(JSON.stringify(body), { headers });
}

function notOffered(method: string, path: string): GatewayError {
  return new GatewayError("not_found", `There is no endpoint ${method} ${path}`);
}
