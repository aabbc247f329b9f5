import { createHash } from "node:crypto";
import type { Transaction } from "kysely";
import { GatewayError, toName } from "../../contract/index.ts";
import { type Database, inQuietTransaction, type Store } from "../../db/index.ts";
import { provideSignInKey, readIdSecret } from "../../keys/index.ts";
import { returnAttempt, takeAttempt } from "../attempt-limit.ts";
import type { SessionUser } from "../sessions.ts";
import { listTeams } from "../switch-account.ts";
import { hashText, makeCode, makeUserCode, toUserCode } from "./codes.ts";
import { createGrant, grantQuery, isGood, type OauthTokens } from "./grants.ts";
import { titleOf } from "./programs.ts";
import { OauthError } from "./refusal.ts";

const codeMs = 600_000;
const windowMs = 600_000;
/** Seconds between two polls of a program. */
export const pollSeconds = 5;
/** Timers of clients fire early, and networks are not even. */
const pollMsMin = pollSeconds * 1000 - 500;

const requestsOfNetwork = { max: 30, windowMs, what: "sign-ins of programs from here" };
/** Bounds the table, whoever asks from wherever. */
const requestsOfAll = { max: 10_000, windowMs, what: "sign-ins of programs" };
/**
 * Wrong codes, by person, network and of all. Of 20^8 codes a hundred may be open at once: a right one then comes once
 * in 50 years.
 */
const wrongOfPerson = { max: 10, windowMs, what: "wrong codes of this person" };
const wrongOfNetwork = { max: 30, windowMs, what: "wrong codes from here" };
const wrongOfAll = { max: 1000, windowMs, what: "wrong codes" };

/** A program in a terminal that asks to be signed in (RFC 8628). */
export interface DeviceRequest {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly expiresInSeconds: number;
}

/** Where a request comes from. */
export interface Origin {
  readonly address: string;
  /** An IPv4 address or IPv6 /64. */
  readonly network: string;
}

/** @throws {GatewayError} `rate_limit_exceeded` */
export async function createDeviceRequest(
  store: Pick<Store, "db">,
  { program, address, network }: Origin & { program: string },
  now: number,
): Promise<DeviceRequest> {
  await takeAttempt(store, `device:${network}`, requestsOfNetwork, now);
  await takeAttempt(store, "device", requestsOfAll, now);
  const [deviceCode, userCode] = [makeCode(), makeUserCode()];
  await store.db
    .insertInto("oauth_requests")
    .values({
      ...emptyRequest(now),
      code_hash: hashText(deviceCode),
      user_code_hash: hashText(toUserCode(userCode)),
      program,
      address,
    })
    .execute();
  return { deviceCode, userCode, expiresInSeconds: codeMs / 1000 };
}

function emptyRequest(now: number) {
  const none = { redirect_uri: null, code_challenge: null, user_code_hash: null };
  const open = { polled_at: null, denied_at: null, user_id: null, key_id: null };
  return { ...none, ...open, created_at: now, expires_at: now + codeMs };
}

/** The program as a person sees it before approving it. */
export interface ShownRequest {
  readonly program: string;
  readonly title: string;
  readonly address: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

type Asker = Origin & { readonly user: SessionUser; readonly userCode: string };

/** The open request of a typed code. @throws {GatewayError} `not_found`, `rate_limit_exceeded` after too many wrong codes */
export async function findDeviceRequest(store: Store, asker: Asker, now: number): Promise<ShownRequest> {
  return withGuesses(store, asker, now, async () => {
    const row = await store.db
      .selectFrom("oauth_requests")
      .select(["program", "address", "created_at"])
      .where("user_code_hash", "=", hashText(toUserCode(asker.userCode)))
      .where("expires_at", ">", now)
      .where("user_id", "is", null)
      .where("denied_at", "is", null)
      .executeTakeFirst();
    return (
      row && { program: row.program, title: titleOf(row.program), address: row.address, createdAt: row.created_at }
    );
  });
}

/**
 * Approves the request of a typed code: its program acts for this person in one of their accounts.
 *
 * @throws {GatewayError} As {@link findDeviceRequest}, and `not_found` for an account that is not the person's, or
 * `conflict` when it has too many keys.
 */
export async function approveDeviceRequest(
  store: Store,
  { accountId, ...asker }: Asker & { accountId: string },
  rules: { now: number; keysMax: number | undefined },
): Promise<void> {
  const { now } = rules;
  await withGuesses(store, asker, now, async () => {
    const hash = hashText(toUserCode(asker.userCode));
    const open = await readOpen(store, hash, now);
    if (open === undefined) return undefined;
    const keyId = await provideKey(store, { user: asker.user, accountId, program: open.program }, rules);
    return await answer(store.db, hash, { user_id: asker.user.userId, key_id: keyId }, now);
  });
}

/** @throws {GatewayError} As {@link findDeviceRequest}. */
export async function denyDeviceRequest(store: Store, asker: Asker, now: number): Promise<void> {
  const hash = hashText(toUserCode(asker.userCode));
  await withGuesses(store, asker, now, () => answer(store.db, hash, { denied_at: now }, now));
}

async function readOpen({ db }: Pick<Store, "db">, userCodeHash: string, now: number) {
  return await db
    .selectFrom("oauth_requests")
    .select("program")
    .where("user_code_hash", "=", userCodeHash)
    .where("expires_at", ">", now)
    .where("user_id", "is", null)
    .where("denied_at", "is", null)
    .executeTakeFirst();
}

/** Answers an open request once. */
async function answer(
  db: Store["db"],
  userCodeHash: string,
  set: { user_id: string; key_id: string } | { denied_at: number },
  now: number,
): Promise<true | undefined> {
  const { numUpdatedRows } = await db
    .updateTable("oauth_requests")
    .set(set)
    .where("user_code_hash", "=", userCodeHash)
    .where("expires_at", ">", now)
    .where("user_id", "is", null)
    .where("denied_at", "is", null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n ? true : undefined;
}

/** Counts a code as wrong before it is looked up, and takes that back if it was right: guesses at once are bounded too. */
async function withGuesses<Result>(
  store: Store,
  { user, network }: Asker,
  now: number,
  look: () => Promise<Result | undefined>,
): Promise<Result> {
  const limits = [
    [`user-code:${user.userId}`, wrongOfPerson],
    [`user-code:${network}`, wrongOfNetwork],
    ["user-code", wrongOfAll],
  ] as const;
  for (const [key, limit] of limits) await takeAttempt(store, key, limit, now);
  const result = await look();
  if (result === undefined) {
    const message = "No program waits with this code: it was mistyped, used, or is older than ten minutes";
    throw new GatewayError("not_found", message, { param: "user_code" });
  }
  for (const [key] of limits) await returnAttempt(store, key);
  return result;
}

/** A key of the person in an account, which stands for the tokens of the program. */
async function provideKey(
  store: Store,
  { user, accountId, program }: { user: SessionUser; accountId: string; program: string },
  rules: { now: number; keysMax: number | undefined },
): Promise<string> {
  const isTheirs = (await listTeams(store, user.userId)).some((team) => team.accountId === accountId);
  if (!isTheirs) throw new GatewayError("not_found", "You don't belong to an account with this id, or it is disabled");
  const name = toName(`${titleOf(program)} of ${user.email}`) ?? program;
  return await provideSignInKey(store, { accountId, program, name, by: user.ownAccountId }, rules);
}

/** An authorization request of a program whose browser brings the person (RFC 6749 with PKCE). */
export interface CodeRequest {
  readonly program: string;
  readonly redirectUri: string;
  readonly codeChallenge: string;
}

/** `http://127.0.0.1:PORT/callback` of any port: a program on the person's own machine (RFC 8252, section 7.3). */
const loopback = /^http:\/\/(?:127\.0\.0\.1|\[::1\]):([1-9]\d{0,4})\/callback$/;
const challengeForm = /^[A-Za-z0-9_-]{43}$/;

/** @throws {GatewayError} `invalid_request` */
export function checkCodeRequest({ redirectUri, codeChallenge }: Omit<CodeRequest, "program">): void {
  const [, port] = loopback.exec(redirectUri) ?? [];
  if (port === undefined || Number(port) > 65_535) {
    const message = "redirect_uri is not http://127.0.0.1:PORT/callback, the only address that codes are sent to";
    throw new GatewayError("invalid_request", message, { param: "redirect_uri" });
  }
  if (challengeForm.test(codeChallenge)) return;
  const message = "code_challenge is missing or no SHA-256 in base64url; code_challenge_method must be S256";
  throw new GatewayError("invalid_request", message, { param: "code_challenge" });
}

/** Approves a program and returns the code that its browser takes to it. @throws {GatewayError} As {@link approveDeviceRequest}. */
export async function approveCodeRequest(
  store: Store,
  {
    user,
    accountId,
    address,
    request: { program, redirectUri, codeChallenge },
  }: { user: SessionUser; accountId: string; address: string; request: CodeRequest },
  rules: { now: number; keysMax: number | undefined },
): Promise<string> {
  const keyId = await provideKey(store, { user, accountId, program }, rules);
  const code = makeCode();
  await store.db
    .insertInto("oauth_requests")
    .values({
      ...emptyRequest(rules.now),
      code_hash: hashText(code),
      program,
      address,
      redirect_uri: redirectUri,
      code_challenge: codeChallenge,
      user_id: user.userId,
      key_id: keyId,
    })
    .execute();
  return code;
}

/** The answer to a poll. @throws {OauthError} */
export async function pollDevice(store: Store, deviceCode: string, now: number): Promise<OauthTokens> {
  const hash = hashText(deviceCode);
  return await exchange(store, hash, now, async (db, row) => {
    if (row === undefined || row.redirect_uri !== null || row.expires_at <= now) {
      throw new OauthError("expired_token", "The code is unknown, used, or older than ten minutes; sign in again");
    }
    if (row.denied_at !== null) throw new OauthError("access_denied", "The person refused the sign-in");
    if (row.user_id !== null) return undefined;
    if (row.polled_at !== null && row.polled_at + pollMsMin > now) {
      throw new OauthError("slow_down", `Wait at least ${pollSeconds} s between two polls`, 429);
    }
    await db.updateTable("oauth_requests").set({ polled_at: now }).where("code_hash", "=", hash).execute();
    return new OauthError("authorization_pending", "Nobody has approved the sign-in yet");
  });
}

/** Exchanges an authorization code; a wrong verifier uses the code up as well. @throws {OauthError} */
export async function exchangeCode(
  store: Store,
  { code, program, redirectUri, verifier }: { code: string; program: string; redirectUri: string; verifier: string },
  now: number,
): Promise<OauthTokens> {
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  return await exchange(store, hashText(code), now, async (db, row) => {
    const isRight = row?.redirect_uri === redirectUri && row.program === program && row.code_challenge === challenge;
    if (isRight && row.expires_at > now) return undefined;
    if (row?.redirect_uri != null)
      await db.deleteFrom("oauth_requests").where("code_hash", "=", row.code_hash).execute();
    return new OauthError("invalid_grant", "The code is unknown, used, expired, or of another request; sign in again");
  });
}

type RequestRow = Awaited<ReturnType<typeof readRequest>>;

/**
 * Exchanges a code for tokens in one transaction, so of two requests at once one gets them.
 *
 * @param check Throws to change nothing; returns an error to keep what it has changed.
 */
async function exchange(
  store: Store,
  codeHash: string,
  now: number,
  check: (db: Transaction<Database>, row: RequestRow) => Promise<OauthError | undefined>,
): Promise<OauthTokens> {
  const idSecret = await readIdSecret(store);
  const outcome = await inQuietTransaction(store, async ({ db }): Promise<OauthTokens | OauthError> => {
    const row = await readRequest(db, codeHash);
    const refusal = await check(db, row);
    if (refusal !== undefined) return refusal;
    const { key_id: keyId = null, user_id: userId = null } = row ?? {};
    const ended = new OauthError("access_denied", "The person, the account or its key has ended; sign in again");
    await db.deleteFrom("oauth_requests").where("code_hash", "=", codeHash).execute();
    if (keyId === null || userId === null) return ended;
    const tokens = await createGrant(db, { keyId, userId, idSecret }, now);
    const grant = await grantQuery(db, tokens.id).executeTakeFirst();
    if (grant !== undefined && isGood(grant, now)) return { ...tokens, email: grant.email };
    await db.deleteFrom("oauth_grants").where("id", "=", tokens.id).execute();
    return ended;
  });
  if (outcome instanceof OauthError) throw outcome;
  return outcome;
}

/** Locks the row until the transaction ends. */
async function readRequest(db: Transaction<Database>, codeHash: string) {
  return await db
    .updateTable("oauth_requests")
    .set(({ ref }) => ({ created_at: ref("created_at") }))
    .where("code_hash", "=", codeHash)
    .returningAll()
    .executeTakeFirst();
}
