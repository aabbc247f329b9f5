import { createHmac, randomBytes } from "node:crypto";
import type { Kysely, Selectable, Transaction } from "kysely";
import { formatAccessToken, formatRefreshToken, parseAccessToken, parseRefreshToken } from "../../contract/index.ts";
import { type Database, inQuietTransaction, type Store } from "../../db/index.ts";
import { equalHashes, hasChecksum, makeApiKey, readIdSecret } from "../../keys/index.ts";
import { hashText } from "./codes.ts";
import { OauthError } from "./refusal.ts";

/** Life of an access token. */
const accessMs = 3_600_000;
/** How long a program may be silent before its person has to sign in again. */
const refreshMs = 30 * 86_400_000;
/**
 * How long the same refresh token gets the same answer once more: its answer may have been lost, or two processes of a
 * program may have sent it at once. A later repetition means that somebody else has it, too.
 */
const graceMs = 30_000;

/** The tokens of a program, once they are made. */
export interface OauthTokens {
  /** The public part of both. */
  readonly id: string;
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  readonly email: string;
}

/** A sign-in with all that it rests on. */
export function grantQuery(db: Kysely<Database>, id: string) {
  return db
    .selectFrom("oauth_grants")
    .innerJoin("keys", "keys.id", "oauth_grants.key_id")
    .innerJoin("accounts", "accounts.id", "keys.account_id")
    .innerJoin("users", "users.id", "oauth_grants.user_id")
    .innerJoin("accounts as own", "own.id", "users.account_id")
    .leftJoin("memberships", (join) =>
      join.onRef("memberships.account_id", "=", "keys.account_id").onRef("memberships.user_id", "=", "users.id"),
    )
    .selectAll("oauth_grants")
    .select(["keys.revoked_at as key_revoked_at", "keys.expires_at as key_expires_at", "keys.account_id"])
    .select(["accounts.disabled_at", "own.disabled_at as own_disabled_at", "own.email"])
    .select(["users.account_id as own_account_id", "memberships.role as team_role"])
    .where("oauth_grants.id", "=", id);
}

type GrantRecord = Awaited<ReturnType<ReturnType<typeof grantQuery>["execute"]>>[number];

/** Whether the person still belongs to the account, and neither of them nor the key has ended. */
export function isGood(
  record: Pick<
    GrantRecord,
    | "account_id"
    | "own_account_id"
    | "team_role"
    | "disabled_at"
    | "own_disabled_at"
    | "key_revoked_at"
    | "key_expires_at"
  >,
  now: number,
): boolean {
  const belongs = record.own_account_id === record.account_id || record.team_role !== null;
  const hasKey = record.key_revoked_at === null && (record.key_expires_at === null || record.key_expires_at > now);
  return belongs && hasKey && record.disabled_at === null && record.own_disabled_at === null;
}

/** Returns until when an access token of a sign-in is valid; `undefined` if the secret belongs to neither of its two tokens. */
export function findAccess(
  grant: Pick<GrantRecord, "access_hash" | "access_expires_at" | "previous_access_hash" | "previous_access_expires_at">,
  secret: string,
): number | undefined {
  const hash = Buffer.from(hashText(secret), "hex");
  if (equalHashes(hash, Buffer.from(grant.access_hash, "hex"))) return grant.access_expires_at;
  const { previous_access_hash: previous, previous_access_expires_at: expiresAt } = grant;
  if (previous === null || expiresAt === null) return undefined;
  return equalHashes(hash, Buffer.from(previous, "hex")) ? expiresAt : undefined;
}

/** Signs a program in: the first tokens of a family. */
export async function createGrant(
  db: Transaction<Database>,
  { keyId, userId, idSecret }: { keyId: string; userId: string; idSecret: string },
  now: number,
): Promise<Omit<OauthTokens, "email">> {
  const { id } = makeApiKey(idSecret);
  const [family, refresh, access] = [randomBytes(24), randomBytes(24), randomBytes(32)].map((bytes) =>
    bytes.toString("hex"),
  ) as [string, string, string];
  await db
    .insertInto("oauth_grants")
    .values({
      id,
      key_id: keyId,
      user_id: userId,
      family_hash: hashText(family),
      refresh_hash: hashText(refresh),
      previous_refresh_hash: null,
      refreshed_at: now,
      access_hash: hashText(access),
      access_expires_at: now + accessMs,
      previous_access_hash: null,
      previous_access_expires_at: null,
      created_at: now,
      expires_at: now + refreshMs,
    })
    .execute();
  return toTokens(id, { family, refresh, access }, now + accessMs);
}

interface Secrets {
  readonly family: string;
  readonly refresh: string;
  readonly access: string;
}

function toTokens(id: string, { family, refresh, access }: Secrets, expiresAt: number): Omit<OauthTokens, "email"> {
  return {
    id,
    accessToken: formatAccessToken({ id, secret: access }),
    refreshToken: formatRefreshToken({ id, secret: `${family}${refresh}` }),
    expiresAt,
  };
}

/**
 * Exchanges a refresh token for new tokens. They follow from it by a secret of this store, so the same token gets the
 * same answer while it may be repeated, and there is one valid refresh token at any time.
 *
 * Every refresh token has the secret of its family. One that has it and is not current was used already: a copy of it
 * exists, and the whole family ends.
 *
 * @throws {OauthError} `invalid_grant`
 */
export async function refreshGrant(store: Store, token: string, now: number): Promise<OauthTokens> {
  const parts = parseRefreshToken(token);
  const idSecret = await readIdSecret(store);
  if (parts === undefined || !hasChecksum(parts.id, idSecret)) throw ended();
  const { id, secret } = parts;
  const [family, refresh] = [secret.slice(0, 48), secret.slice(48)];
  const derive = await readDerivation(store);
  const next: Secrets = {
    family,
    refresh: derive(`refresh ${refresh}`).slice(0, 48),
    access: derive(`access ${refresh}`),
  };
  const outcome = await inQuietTransaction(store, async ({ db }): Promise<OauthTokens | "replay" | "ended"> => {
    await lockGrant(db, id);
    const grant = await grantQuery(db, id).executeTakeFirst();
    if (grant === undefined || !equalText(grant.family_hash, hashText(family))) return "ended";
    if (grant.expires_at <= now || !isGood(grant, now)) return "ended";
    if (equalText(grant.refresh_hash, hashText(refresh))) {
      const expiresAt = now + accessMs;
      await rotate(db, grant, { hashes: [hashText(next.refresh), hashText(next.access)], now, expiresAt });
      return { ...toTokens(id, next, expiresAt), email: grant.email };
    }
    const isPrevious = equalText(grant.previous_refresh_hash ?? "", hashText(refresh));
    if (!isPrevious || grant.refreshed_at + graceMs <= now) return "replay";
    return { ...toTokens(id, next, grant.access_expires_at), email: grant.email };
  });
  if (outcome === "replay") await endGrant(store, id);
  if (typeof outcome === "string") throw ended();
  return outcome;
}

async function rotate(
  db: Transaction<Database>,
  grant: Selectable<Database["oauth_grants"]>,
  { hashes: [refresh, access], now, expiresAt }: { hashes: [string, string]; now: number; expiresAt: number },
): Promise<void> {
  await db
    .updateTable("oauth_grants")
    .set({
      refresh_hash: refresh,
      previous_refresh_hash: grant.refresh_hash,
      refreshed_at: now,
      access_hash: access,
      access_expires_at: expiresAt,
      previous_access_hash: grant.access_hash,
      previous_access_expires_at: grant.access_expires_at,
      expires_at: now + refreshMs,
    })
    .where("id", "=", grant.id)
    .execute();
}

/** Two refreshes at once: the second one reads what the first has written. */
async function lockGrant(db: Transaction<Database>, id: string): Promise<void> {
  await db
    .updateTable("oauth_grants")
    .set(({ ref }) => ({ created_at: ref("created_at") }))
    .where("id", "=", id)
    .execute();
}

/** Ends a sign-in; its access tokens end at once in this process, in others within a second. */
async function endGrant(store: Pick<Store, "db" | "change">, id: string): Promise<void> {
  const grant = await store.db.selectFrom("oauth_grants").select("key_id").where("id", "=", id).executeTakeFirst();
  if (grant === undefined) return;
  await store.change(async (db) => {
    await db.deleteFrom("oauth_grants").where("id", "=", id).execute();
  }, grant.key_id);
}

/** Ends the sign-in of a token, as its holder asks for; any other text changes nothing. */
export async function revokeGrant(store: Store, token: string): Promise<void> {
  const access = parseAccessToken(token);
  const refresh = parseRefreshToken(token);
  const { id } = access ?? refresh ?? {};
  if (id === undefined || !hasChecksum(id, await readIdSecret(store))) return;
  const grant = await store.db.selectFrom("oauth_grants").selectAll().where("id", "=", id).executeTakeFirst();
  if (grant === undefined) return;
  const isTheirs =
    refresh === undefined
      ? findAccess(grant, access?.secret ?? "") !== undefined
      : equalText(grant.family_hash, hashText(refresh.secret.slice(0, 48)));
  if (isTheirs) await endGrant(store, id);
}

function equalText(one: string, other: string): boolean {
  return equalHashes(Buffer.from(one), Buffer.from(other));
}

/** A keyed hash with a secret of this store. */
async function readDerivation(store: Store): Promise<(text: string) => string> {
  const secret = await store.setting("oauth_secret", () => randomBytes(32).toString("hex"));
  return (text) => createHmac("sha256", secret).update(text).digest("hex");
}

function ended(): OauthError {
  return new OauthError("invalid_grant", "This sign-in has ended; sign in again", 401);
}
