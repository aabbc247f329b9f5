import type { Transaction } from "kysely";
import { decodePercent, GatewayError } from "../contract/index.ts";
import type { Database } from "../db/index.ts";
import { RateLimiter } from "./rate-limiter.ts";

/** What may be asked about the second step of a sign-in: a code of an authenticator, or one that was written down. */
export const secondFactorPaths: readonly string[] = [
  "two-factor/enable",
  "two-factor/disable",
  "two-factor/verify-totp",
  "two-factor/verify-backup-code",
  "two-factor/generate-backup-codes",
];

const tenMinutesMs = 600_000;
/** Of a million codes three are right at a time: fifty guesses in ten minutes find one in some years. */
const challengesMax = 10;
const guessesMax = 5;
/** How better-auth names a sign-in whose second step is to come. */
const challengePattern = /2fa-[\w-]{20}/g;

/** Bounds how often codes are guessed, from however many machines: by whoever knows the password already. */
export class SecondFactorLimit {
  readonly #challenges: RateLimiter;
  readonly #guesses: RateLimiter;

  constructor(now: () => number) {
    const more = { windowMs: tenMinutesMs };
    this.#challenges = new RateLimiter(challengesMax, now, { ...more, what: "sign-ins to this account" });
    this.#guesses = new RateLimiter(guessesMax, now, { ...more, what: "wrong codes for this sign-in" });
  }

  /** Counts a sign-in whose password was right. @throws {GatewayError} `rate_limit_exceeded` */
  challenge(address: string): void {
    this.#challenges.take(address);
  }

  /** Counts a guess, by what is told in the cookies. @throws {GatewayError} `rate_limit_exceeded` */
  guess(cookies: string | null): void {
    for (const id of new Set(decodePercent(cookies ?? "").match(challengePattern))) this.#guesses.take(id);
  }
}

/** Takes the second step away from a person, who may have lost what it needs. */
export async function removeSecondFactor(db: Transaction<Database>, userId: string): Promise<void> {
  await db.deleteFrom("two_factors").where("user_id", "=", userId).execute();
  await db.updateTable("users").set({ two_factor_enabled: 0 }).where("id", "=", userId).execute();
}

/** The address for an authenticator, by the name that the person knows. */
export function findByIdentity(email: string, answer: unknown): unknown {
  if (typeof answer !== "object" || answer === null || !("totpURI" in answer)) return answer;
  const { totpURI } = answer;
  if (typeof totpURI !== "string" || !URL.canParse(totpURI)) {
    throw new GatewayError("internal_error", "No address for an authenticator could be made");
  }
  const { searchParams } = new URL(totpURI);
  searchParams.set("issuer", "modelgate");
  return { ...answer, totpURI: `otpauth://totp/modelgate:${encodeURIComponent(email)}?${searchParams}` };
}
