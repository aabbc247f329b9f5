import { createHash } from "node:crypto";
import { type Kysely, sql } from "kysely";
import type { Database, Store } from "../db/index.ts";
import { tooManyAttempts } from "../lib/rate-limiter.ts";
import { toSignInAddress } from "../tenants/index.ts";

/** How many attempts are allowed in a time window, which begins with the first of them. */
export interface AttemptLimit {
  readonly max: number;
  readonly windowMs: number;
  /** Name of the counted attempts, for the error message. */
  readonly what: string;
}

/**
 * Counts an attempt in the database, which all processes and nodes share, and returns how many there were in the window,
 * this one included.
 */
export async function countAttempt(
  { db }: Pick<Store, "db">,
  key: string,
  windowMs: number,
  now: number,
): Promise<{ attempts: number; endsAt: number }> {
  const isOver = sql`sign_in_attempts.ends_at <= ${now}`;
  const row = await db
    .insertInto("sign_in_attempts")
    .values({ key, attempts: 1, ends_at: now + windowMs })
    .onConflict((conflict) =>
      conflict.column("key").doUpdateSet({
        attempts: sql<number>`case when ${isOver} then 1 else sign_in_attempts.attempts + 1 end`,
        ends_at: sql<number>`case when ${isOver} then excluded.ends_at else sign_in_attempts.ends_at end`,
      }),
    )
    .returning(["attempts", "ends_at"])
    .executeTakeFirstOrThrow();
  return { attempts: row.attempts, endsAt: row.ends_at };
}

/** Counts an attempt. @throws {GatewayError} `rate_limit_exceeded` */
export async function takeAttempt(
  store: Pick<Store, "db">,
  key: string,
  limit: AttemptLimit,
  now: number,
): Promise<void> {
  const { attempts, endsAt } = await countAttempt(store, key, limit.windowMs, now);
  if (attempts > limit.max) throw tooManyAttempts(limit, endsAt - now);
}

/** Takes back an attempt that turned out not to count. */
export async function returnAttempt({ db }: Pick<Store, "db">, key: string): Promise<void> {
  await db
    .updateTable("sign_in_attempts")
    .set((set) => ({ attempts: set("attempts", "-", 1) }))
    .where("key", "=", key)
    .where("attempts", ">", 0)
    .execute();
}

export async function forgetAttempts({ db }: { db: Kysely<Database> }, ...keys: string[]): Promise<void> {
  await db.deleteFrom("sign_in_attempts").where("key", "in", keys).execute();
}

const minuteMs = 60_000;
/** Number of tries that count as a network's first tries, and the time window for them. */
const first = { tries: 3, windowMs: 10 * minuteMs };
const firstTries = { max: 30, windowMs: minuteMs, what: "sign-ins to this account from new addresses" };
const furtherTries = { max: 10, windowMs: minuteMs, what: "wrong passwords for this account" };
/** How long a network counts as known after a sign-in. */
const knownMs = 30 * 24 * 60 * minuteMs;

/**
 * Limits the guessing of one account's password from many addresses. Each network that has signed in to the account has
 * its own counter. The first tries of all other networks share one counter, and further tries of networks that keep
 * failing share another. So an attacker who guesses does not lock out the user, at home or elsewhere. The limit does
 * not depend on whether the account exists.
 *
 * @param network See {@link SignIn.handle}.
 * @returns A function to call when the password was right: it resets the attempts and marks the network as known.
 * @throws {GatewayError} `rate_limit_exceeded`, with a wait of at most a minute.
 */
export async function takePasswordAttempt(
  store: Pick<Store, "db">,
  { email, network }: { email: string; network: string },
  now: number,
): Promise<() => Promise<void>> {
  const account = createHash("sha256").update(toSignInAddress(email)).digest("base64url");
  const pair = `network:${account}:${network}`;
  const knownId = `known:${account}:${network}`;
  const { attempts } = await countAttempt(store, pair, first.windowMs, now);
  const isKnown = await isCounting(store, knownId, now);
  const isFirst = !isKnown && attempts <= first.tries;
  const key = isKnown ? `own:${account}:${network}` : `${isFirst ? "first" : "further"}:${account}`;
  try {
    await takeAttempt(store, key, isFirst ? firstTries : furtherTries, now);
  } catch (error) {
    // Nothing was tried, so the network stays a new one.
    if (isFirst) await forgetAttempts(store, pair);
    throw error;
  }
  return async () => {
    await forgetAttempts(store, pair, key);
    await countAttempt(store, knownId, knownMs, now);
  };
}

async function isCounting({ db }: Pick<Store, "db">, key: string, now: number): Promise<boolean> {
  const query = db.selectFrom("sign_in_attempts").select("key").where("key", "=", key).where("ends_at", ">", now);
  return (await query.executeTakeFirst()) !== undefined;
}
