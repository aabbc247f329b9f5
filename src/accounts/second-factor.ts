import type { Transaction } from "kysely";
import { decodePercent, GatewayError } from "../contract/index.ts";
import type { Database } from "../db/index.ts";
import { RateLimiter } from "./rate-limiter.ts";

/** The endpoints of the second factor: codes of an authenticator app and backup codes. */
export const secondFactorPaths: readonly string[] = [
  "two-factor/enable",
  "two-factor/disable",
  "two-factor/verify-totp",
  "two-factor/verify-backup-code",
  "two-factor/generate-backup-codes",
];

const tenMinutesMs = 600_000;
/** Three of a million codes are valid at a time, so fifty guesses in ten minutes take years to find one. */
const challengesMax = 10;
const guessesMax = 5;
/** better-auth's id of a sign-in that waits for the second factor. */
const challengePattern = /2fa-[\w-]{20}/g;

/** Limits the guessing of codes per sign-in and account, independent of the client's address. */
export class SecondFactorLimit {
  readonly #challenges: RateLimiter;
  readonly #guesses: RateLimiter;

  constructor(now: () => number) {
    const options = { windowMs: tenMinutesMs };
    this.#challenges = new RateLimiter(challengesMax, now, { ...options, what: "sign-ins to this account" });
    this.#guesses = new RateLimiter(guessesMax, now, { ...options, what: "wrong codes for this sign-in" });
  }

  /** Counts a sign-in whose password was right. @throws {GatewayError} `rate_limit_exceeded` */
  challenge(address: string): void {
    this.#challenges.take(address);
  }

  /** Counts a guess for each sign-in in the cookies. @throws {GatewayError} `rate_limit_exceeded` */
  guess(cookies: string | null): void {
    for (const id of new Set(decodePercent(cookies ?? "").match(challengePattern))) this.#guesses.take(id);
  }
}

/** Removes the second factor of a user who may have lost it. */
export async function removeSecondFactor(db: Transaction<Database>, userId: string): Promise<void> {
  await db.deleteFrom("two_factors").where("user_id", "=", userId).execute();
  await db.updateTable("users").set({ two_factor_enabled: 0 }).where("id", "=", userId).execute();
}

/** Labels the authenticator URI with the account's e-mail instead of the sign-in address. */
export function withAccountLabel(email: string, response: unknown): unknown {
  if (typeof response !== "object" || response === null || !("totpURI" in response)) return response;
  const { totpURI } = response;
  if (typeof totpURI !== "string" || !URL.canParse(totpURI)) {
    throw new GatewayError("internal_error", "The authenticator URI could not be created");
  }
  const { searchParams } = new URL(totpURI);
  searchParams.set("issuer", "modelgate");
  return { ...response, totpURI: `otpauth://totp/modelgate:${encodeURIComponent(email)}?${searchParams}` };
}
