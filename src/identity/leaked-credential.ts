import type { Store } from "../db/index.ts";
import {
  type AdminKey,
  type ApiKey,
  checkAdminSecret,
  checkSecret,
  compareSecret,
  type LeakedSecret,
  type SecretState,
} from "../keys/index.ts";
import { listPeople } from "../tenants/index.ts";
import { grantQuery, isGood } from "./oauth/grants.ts";

export const credentialTypes = ["api_key", "admin_key", "access_token", "refresh_token"] as const;
export type CredentialType = (typeof credentialTypes)[number];

/** A credential that was found somewhere. */
export interface Leaked extends LeakedSecret {
  readonly type: CredentialType;
}

/** All facts about such a credential. */
export interface LeakedCredential {
  readonly type: CredentialType;
  readonly id: string;
  /** The key, also the one that tokens of a program stand for; absent for an admin key. */
  readonly apiKey: ApiKey | undefined;
  readonly adminKey: AdminKey | undefined;
  readonly secret: SecretState;
  readonly status: "active" | "expired" | "revoked" | "disabled";
  /** When the secret that was found ends or has ended by itself; absent: never. Milliseconds since 1970. */
  readonly until: number | undefined;
  /** When a newer secret has replaced it; absent: it was not replaced. */
  readonly replacedAt: number | undefined;
  /** Whether it opens anything now; absent where its secret was not compared. */
  readonly isUsable: boolean | undefined;
}

/** Identifies a credential that was found somewhere; `undefined` when it does not belong to this gateway. */
export async function findLeaked(store: Store, leaked: Leaked, now: number): Promise<LeakedCredential | undefined> {
  if (leaked.type === "admin_key") return await findAdminKey(store, leaked, now);
  if (leaked.type === "api_key") return await findApiKey(store, leaked, now);
  return await findToken(store, leaked, now);
}

async function findApiKey(store: Store, leaked: Leaked, now: number): Promise<LeakedCredential | undefined> {
  const check = await checkSecret(store, leaked, now);
  if (check === undefined) return undefined;
  const { key, secret } = check;
  const owner = await store.db
    .selectFrom("accounts")
    .select("disabled_at")
    .where("id", "=", key.accountId)
    .executeTakeFirst();
  const status = toStatus({ ...key, isDisabled: owner?.disabled_at !== null }, now);
  const until = secret === "previous" ? key.previousUntil : key.expiresAt;
  return {
    type: leaked.type,
    id: key.id,
    apiKey: key,
    adminKey: undefined,
    secret,
    status,
    until,
    replacedAt: secret === "previous" ? key.rotatedAt : undefined,
    isUsable: toUsable({ secret, status, until }, now),
  };
}

async function findAdminKey(store: Store, leaked: Leaked, now: number): Promise<LeakedCredential | undefined> {
  const check = await checkAdminSecret(store, leaked, now);
  if (check === undefined) return undefined;
  const { key, secret } = check;
  const status = toStatus({ ...key, isDisabled: false }, now);
  const facts = { secret, status, until: key.expiresAt };
  return {
    type: leaked.type,
    id: key.id,
    apiKey: undefined,
    adminKey: key,
    replacedAt: undefined,
    ...facts,
    isUsable: toUsable(facts, now),
  };
}

async function findToken(store: Store, { type, id = "", sha256 }: Leaked, now: number) {
  const grant = await grantQuery(store.db, id).executeTakeFirst();
  const check = grant === undefined ? undefined : await checkSecret(store, { id: grant.key_id }, now);
  if (grant === undefined || check === undefined) return undefined;
  const [current, previous] =
    type === "access_token"
      ? [grant.access_hash, grant.previous_access_hash]
      : [grant.refresh_hash, grant.previous_refresh_hash];
  const secret: SecretState = sha256 === undefined ? "unchecked" : compareSecret(sha256, { current, previous });
  const ends =
    type === "access_token"
      ? { current: grant.access_expires_at, previous: grant.previous_access_expires_at ?? undefined }
      : // A refresh token that is used again ends its sign-in; right after its use it only repeats an answer.
        { current: grant.expires_at, previous: grant.refreshed_at };
  const until = secret === "previous" ? ends.previous : ends.current;
  const status = isGood(grant, now)
    ? ("active" as const)
    : toStatus({ ...check.key, isDisabled: check.key.revokedAt === undefined }, now);
  const replacedAt = secret === "previous" ? grant.refreshed_at : undefined;
  const facts = { secret, status, until, replacedAt };
  return {
    type,
    id: grant.id,
    apiKey: check.key,
    adminKey: undefined,
    ...facts,
    isUsable: toUsable(facts, now),
  };
}

function toStatus(
  { revokedAt, expiresAt, isDisabled }: Pick<ApiKey, "revokedAt" | "expiresAt"> & { isDisabled: boolean },
  now: number,
): LeakedCredential["status"] {
  if (revokedAt !== undefined) return "revoked";
  if (expiresAt !== undefined && expiresAt <= now) return "expired";
  return isDisabled ? "disabled" : "active";
}

function toUsable(
  { secret, status, until }: Pick<LeakedCredential, "secret" | "status" | "until">,
  now: number,
): boolean | undefined {
  if (secret === "unchecked") return undefined;
  return secret !== "other" && status === "active" && (until === undefined || until > now);
}

/** Holders of a credential who are written to. */
const holdersMax = 10;

/**
 * The e-mails of those who hold a key: the person who made it, as long as they belong to the account, or else the holder of
 * the account, or the admins of a team. Nobody is written to whose e-mail is only claimed.
 */
export async function findHolders(
  store: Pick<Store, "db">,
  { accountId, createdBy }: Pick<ApiKey, "accountId" | "createdBy">,
): Promise<readonly string[]> {
  const people = (await listPeople(store, accountId)).filter(({ isVerified, isDisabled }) => isVerified && !isDisabled);
  const maker = people.find(({ id }) => id === createdBy);
  if (maker !== undefined) return [maker.email];
  const holders = people.filter(({ isHolder }) => isHolder);
  const admins = people.filter(({ teamRole }) => teamRole === "admin");
  const emails = (holders.length > 0 ? holders : admins).slice(0, holdersMax).map(({ email }) => email);
  if (emails.length > 0) return emails;
  const account = await store.db
    .selectFrom("accounts")
    .leftJoin("users", "users.account_id", "accounts.id")
    .select(["accounts.email", "users.id as user"])
    .where("accounts.id", "=", accountId)
    .executeTakeFirst();
  // The address of somebody who is not written to is not used for their account either.
  if (account === undefined || account.user !== null || account.email.endsWith(".invalid")) return [];
  return [account.email];
}
