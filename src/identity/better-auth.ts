import { type BetterAuthOptions, betterAuth } from "better-auth";
import { twoFactor } from "better-auth/plugins/two-factor";
import { recordAct } from "../audit/index.ts";
import type { Store } from "../db/index.ts";
import { authOrigin, sessionCookie } from "./auth-http.ts";
import { limitCodes } from "./code-limit.ts";
import { hashPassword, passwordLengthMax, passwordLengthMin, verifyPassword } from "./password.ts";
import { beginInChosenAccount } from "./switch-account.ts";

const secondsOfDay = 86_400;
/** Columns whose names differ from better-auth's fields. */
const times = { createdAt: "created_at", updatedAt: "updated_at" };

/** Options of {@link openBetterAuth}. */
export interface AuthOptions {
  readonly store: Store;
  /** Signs the cookies. */
  readonly secret: string;
  /** Called with failures that are not the client's fault. */
  report(error: unknown): void;
  /** Default: `password.ts`. */
  readonly passwords?: Passwords;
}

/** Hashes and verifies passwords. */
interface Passwords {
  hash(password: string): Promise<string>;
  verify(credentials: { hash: string; password: string }): Promise<boolean>;
}

const ownPasswords: Passwords = { hash: hashPassword, verify: verifyPassword };

/** Opens better-auth over the tables of the store. The module is loaded at the first request, because that is slow. */
export function openBetterAuth(
  options: AuthOptions & { readonly now: () => number },
): (request: Request) => Promise<Response> {
  const auth = betterAuth({
    ...authOptions(options),
    plugins: [secondFactor()],
    hooks: limitCodes(options),
    databaseHooks: { session: { create: { after: recordSignIns(options) } } },
  });
  return (request) => auth.handler(request);
}

/** A stored session that has not expired by better-auth's clock. */
export interface StoredSession {
  readonly id: string;
  readonly userId: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/**
 * Reads the session of a request's cookies without refreshing it; `undefined` when the cookie is missing, forged or unknown,
 * or the session has ended.
 */
export function openSessions(options: AuthOptions): (cookies: string) => Promise<StoredSession | undefined> {
  let failure: unknown;
  const report = (error: unknown) => {
    failure = error;
  };
  const { api } = betterAuth(authOptions({ ...options, report }));
  return async (cookies) => {
    const request = { headers: new Headers({ cookie: cookies }), query: { disableRefresh: true } };
    // better-auth reports why a session cannot be read, and then throws an error that does not say it.
    const session = await api.getSession(request).catch((error: unknown) => {
      throw failure ?? error;
    });
    if (session === null) return undefined;
    const { id, userId, expiresAt } = session.session;
    return { id, userId, expiresAt: expiresAt.getTime() };
  };
}

function secondFactor() {
  return twoFactor({
    issuer: "modelgate",
    schema: {
      user: { fields: { twoFactorEnabled: "two_factor_enabled" } },
      twoFactor: { modelName: "two_factors", fields: { backupCodes: "backup_codes", userId: "user_id" } },
    },
  });
}

/** The type is `sqlite` over PostgreSQL too, where the columns are the same: times as text and booleans as 0 or 1. */
export function authOptions({ store, secret, report, passwords = ownPasswords }: AuthOptions) {
  return {
    baseURL: authOrigin,
    basePath: "/api/auth",
    secret,
    database: { db: store.db as never, type: "sqlite" },
    telemetry: { enabled: false },
    // Otherwise better-auth prints errors with personal data, bypassing the log.
    onAPIError: { throw: true },
    logger: {
      level: "error",
      // Only errors among the details are reported: the others hold personal data.
      log: (_level, message, ...details) => report(details.find((one) => one instanceof Error) ?? new Error(message)),
    },
    // Attempts are limited before they get here, by the client's address and not by a header that anyone can write.
    rateLimit: { enabled: false },
    advanced: {
      cookiePrefix: "modelgate",
      useSecureCookies: false,
      cookies: { session_token: { name: sessionCookie } },
    },
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: passwordLengthMin,
      maxPasswordLength: passwordLengthMax,
      password: passwords,
    },
    user: { modelName: "users", fields: { ...times, emailVerified: "email_verified" } },
    session: {
      modelName: "sessions",
      fields: {
        ...times,
        userId: "user_id",
        expiresAt: "expires_at",
        ipAddress: "ip_address",
        userAgent: "user_agent",
      },
      expiresIn: 7 * secondsOfDay,
      updateAge: secondsOfDay,
    },
    account: {
      modelName: "credentials",
      fields: {
        ...times,
        userId: "user_id",
        providerId: "provider_id",
        accountId: "provider_account_id",
        password: "password_hash",
        accessToken: "access_token",
        refreshToken: "refresh_token",
        idToken: "id_token",
        accessTokenExpiresAt: "access_token_expires_at",
        refreshTokenExpiresAt: "refresh_token_expires_at",
      },
    },
    verification: { modelName: "verifications", fields: { ...times, expiresAt: "expires_at" } },
  } satisfies BetterAuthOptions;
}

/**
 * Begins a session in the account that its user chose last, and records the sign-ins of those who may see more than their
 * own account; members sign in too often to keep them all.
 */
export function recordSignIns({ store, now }: { readonly store: Store; readonly now: () => number }) {
  return async ({ id, userId }: { id: string; userId: string }, context: { path?: string } | null): Promise<void> => {
    // It replaces the session of the user who is signed in already.
    if (context?.path === "/change-password") return;
    await beginInChosenAccount(store, { id, userId });
    const user = await store.db
      .selectFrom("users")
      .select(["account_id", "role"])
      .where("id", "=", userId)
      .executeTakeFirst();
    if (user === undefined) return;
    const entry = { accountId: user.account_id, subject: user.account_id, detail: {} };
    // The use of a backup code is recorded: there are only ten, for a user who has lost the app.
    if (context?.path === "/two-factor/verify-backup-code") {
      await recordAct(store, { ...entry, action: "user.backup_code" }, now());
    }
    if (user.role !== "member") await recordAct(store, { ...entry, action: "user.sign_in" }, now());
  };
}
