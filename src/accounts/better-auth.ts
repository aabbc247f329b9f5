import { type BetterAuthOptions, betterAuth } from "better-auth";
import { twoFactor } from "better-auth/plugins/two-factor";
import type { Store } from "../db/index.ts";
import { authOrigin, sessionCookie } from "./auth-request.ts";
import { hashPassword, passwordLengthMax, passwordLengthMin, verifyPassword } from "./password.ts";

const secondsOfDay = 86_400;
/** How the names of the columns differ from those of better-auth's fields. */
const times = { createdAt: "created_at", updatedAt: "updated_at" };

/** What better-auth stands on. */
export interface AuthGround {
  readonly store: Store;
  /** Signs the cookies. */
  readonly secret: string;
  /** Told what failed and is not the visitor's fault. */
  report(error: unknown): void;
  /** Absent: those of `password.ts`. */
  readonly passwords?: Passwords;
}

/** What passwords cost, and are checked by. */
interface Passwords {
  hash(password: string): Promise<string>;
  verify(given: { hash: string; password: string }): Promise<boolean>;
}

const ownPasswords: Passwords = { hash: hashPassword, verify: verifyPassword };

/**
 * better-auth over the tables of the store. Loaded at the first request to it, since that takes as long as the whole
 * start.
 */
export function openBetterAuth(ground: AuthGround): (request: Request) => Promise<Response> {
  const auth = betterAuth({ ...authOptions(ground), plugins: [secondFactor()] });
  return (request) => auth.handler(request);
}

/** A session that is stored and has not ended by better-auth's clock. */
export interface Session {
  readonly id: string;
  readonly userId: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/**
 * Reads the session of the cookies of a request, and changes nothing; `undefined` for a cookie that is missing, forged or
 * unknown, and a session that has ended.
 */
export function openSessions(ground: AuthGround): (cookies: string) => Promise<Session | undefined> {
  let failure: unknown;
  const report = (error: unknown) => {
    failure = error;
  };
  const { api } = betterAuth(authOptions({ ...ground, report }));
  return async (cookies) => {
    const request = { headers: new Headers({ cookie: cookies }), query: { disableRefresh: true } };
    // better-auth reports why a session cannot be read, and then throws an error that does not say it.
    const found = await api.getSession(request).catch((error: unknown) => {
      throw failure ?? error;
    });
    if (found === null) return undefined;
    const { id, userId, expiresAt } = found.session;
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

/** The adapter is told SQLite also over PostgreSQL: the columns are the same, times in text and truths 0 or 1. */
export function authOptions({ store, secret, report, passwords = ownPasswords }: AuthGround) {
  return {
    baseURL: authOrigin,
    basePath: "/api/auth",
    secret,
    database: { db: store.db as never, type: "sqlite" },
    telemetry: { enabled: false },
    // Else it prints them, past the log, with all that they hold of a person.
    onAPIError: { throw: true },
    logger: {
      level: "error",
      // Of the details an error alone: the others are of people.
      log: (_level, message, ...details) => report(details.find((one) => one instanceof Error) ?? new Error(message)),
    },
    // Attempts are bounded before they come here, by the socket's peer and not by a header that anyone can write.
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
