import { GatewayError } from "../contract/index.ts";
import { isConstraintError, type Store } from "../store/index.ts";
import { newAccountRow } from "./account-admin.ts";
import { AttemptLimit } from "./attempt-limit.ts";
import { hashPassword } from "./password.ts";
import { checkPassword, writePassword } from "./people.ts";
import { authOrigin, readVisitor, type Visitor } from "./session-reader.ts";
import { isMadeUp, signInAddressOf } from "./sign-in-address.ts";

/** Sign-in and the sessions it makes. */
export interface SignIn {
  /**
   * Answers a request below `/api/auth`: `sign-in/email`, `sign-up/email`, `sign-out`, `change-password`,
   * `get-session`, `revoke-sessions`, `revoke-other-sessions`. No answer tells a session's token: it is in the cookie.
   *
   * The caller has seen to it that the request comes from a page of its own origin.
   *
   * @param peer Whose attempts are counted together.
   * @throws {GatewayError} For whatever is refused.
   */
  handle(request: Request, peer: string): Promise<Response>;
  /** Who sends these cookies; `undefined` for nobody who is signed in. */
  visitorOf(cookies: string | null): Promise<Visitor | undefined>;
}

export interface SignInOptions {
  store: Store;
  /** Signs the cookies. */
  secret: string;
  /** Whether a stranger may make an account. */
  signUp: "open" | "closed";
  now: () => number;
  /** Told what failed and is not the visitor's fault. */
  report(error: unknown): void;
  attemptsPerMinuteMax?: number;
}

const prefix = "/api/auth/";
const bodyLengthMax = 16_384;
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
};
/** Those that try a password, or cost the hash of one. */
const attempts = ["sign-in/email", "sign-up/email", "change-password"];

export function createSignIn(options: SignInOptions): SignIn {
  const { store, secret, now } = options;
  const limit = new AttemptLimit(options.attemptsPerMinuteMax ?? attemptsDefault, now);
  let auth: Promise<(request: Request) => Promise<Response>> | undefined;
  const ask = async (request: Request) => {
    auth ??= import("./better-auth.ts").then(({ openBetterAuth }) => openBetterAuth(store, secret, options.report));
    return clean(await (await auth)(request));
  };
  const visitorOf = (cookies: string | null) => readVisitor(store, cookies, { secret, now: now() });
  return {
    visitorOf,
    async handle(request, peer) {
      const url = new URL(request.url);
      const action = url.pathname.slice(prefix.length);
      if (offered[action] !== request.method) throw notOffered(request.method, url.pathname);
      if (attempts.includes(action)) limit.take(peer);
      if (request.method === "GET") return ask(request);
      const body = await readBody(request);
      if (action === "sign-up/email") await signUp(options, body);
      if (action.endsWith("/email")) return ask(signInOf(request, body));
      const visitor = action === "change-password" ? await visitorOf(request.headers.get("cookie")) : undefined;
      if (visitor !== undefined) checkChange(visitor, body);
      const response = await ask(
        new Request(request.url, { method: "POST", headers: headersOf(request), body: JSON.stringify(body) }),
      );
      if (visitor !== undefined) await keepPassword(store, visitor);
      return response;
    },
  };
}

/** Makes the account, its person and the password at once; the sign-in follows. */
async function signUp({ store, signUp: setting, now }: SignInOptions, body: Record<string, unknown>): Promise<void> {
  if (setting === "closed") {
    throw new GatewayError(
      "forbidden",
      "Nobody can sign up here by themselves; ask who runs this gateway for an invitation",
    );
  }
  const { email, password, name } = body;
  if (typeof email !== "string") throw missing("email");
  if (typeof password !== "string") throw missing("password");
  checkPassword(password);
  const account = newAccountRow({ email, name: typeof name === "string" ? name : undefined }, now());
  const hash = await hashPassword(password);
  try {
    await store.db.transaction().execute(async (db) => {
      await db.insertInto("accounts").values(account).execute();
      await writePassword(db, { accountId: account.id, hash, temporary: false, role: "member" }, now());
    });
  } catch (error) {
    if (!isConstraintError(error)) throw error;
    throw new GatewayError("conflict", "This e-mail has an account; sign in, or ask for an invitation to it", {
      param: "email",
      cause: error,
    });
  }
}

/** A sign-in by the address under which the e-mail is kept. */
function signInOf(request: Request, { email, password, rememberMe }: Record<string, unknown>): Request {
  if (typeof email !== "string") throw missing("email");
  if (typeof password !== "string") throw missing("password");
  const body = JSON.stringify({ email: signInAddressOf(email), password, rememberMe: rememberMe !== false });
  return new Request(new URL(`${prefix}sign-in/email`, request.url), {
    method: "POST",
    headers: headersOf(request),
    body,
  });
}

function headersOf(request: Request): Headers {
  const headers = new Headers(request.headers);
  headers.delete("content-length");
  headers.set("content-type", "application/json");
  headers.set("origin", authOrigin);
  return headers;
}

async function readBody(request: Request): Promise<Record<string, unknown>> {
  const text = await request.text();
  if (text.length > bodyLengthMax) {
    throw new GatewayError(
      "payload_too_large",
      `The body is larger than ${bodyLengthMax} characters, the most taken here`,
    );
  }
  if (text === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Told below, as any other body that is no object.
  }
  throw new GatewayError("invalid_request", "The body is not a JSON object");
}

/** Whoever else has seen the password, and signed in with it, is out with it. */
function checkChange({ passwordIsTemporary }: Visitor, body: Record<string, unknown>): void {
  if (body.newPassword === body.currentPassword) {
    throw new GatewayError("invalid_request", "The new password is the old one; choose another", {
      param: "newPassword",
    });
  }
  if (passwordIsTemporary) body.revokeOtherSessions = true;
}

async function keepPassword({ db }: Store, { userId }: Visitor): Promise<void> {
  await db.updateTable("users").set({ password_is_temporary: 0 }).where("id", "=", userId).execute();
}

const codes = { 400: "invalid_request", 401: "invalid_session", 403: "forbidden", 404: "not_found" } as const;

/** An answer without tokens, or the refusal it is. */
async function clean(response: Response): Promise<Response> {
  const text = await response.text();
  const body = text === "" ? null : (JSON.parse(text) as Record<string, unknown> | null);
  if (!response.ok) {
    const code = codes[response.status as 400] ?? (response.status < 500 ? "invalid_request" : "internal_error");
    const shownCode = typeof body?.code === "string" ? body.code.toLowerCase() : code;
    throw new GatewayError(code, typeof body?.message === "string" ? body.message : "This cannot be done", {
      shownCode,
    });
  }
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  return new Response(
    JSON.stringify(body, (name, value) => (name === "token" || isMadeUp(value) ? undefined : value)),
    { headers },
  );
}

function missing(param: string): GatewayError {
  return new GatewayError("invalid_request", `${param} is missing, but a string was expected`, { param });
}

function notOffered(method: string, path: string): GatewayError {
  return new GatewayError("not_found", `There is no endpoint ${method} ${path}`);
}
