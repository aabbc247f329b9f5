import { createHash } from "node:crypto";
import { type RawBuilder, type Selectable, sql, type Transaction } from "kysely";
import { isProgram, recordAudit } from "../audit/index.ts";
import { apiKeyForm, type Budget, formatApiKey, GatewayError, type KeyLimits, parseApiKey } from "../contract/index.ts";
import {
  compareFound,
  type Database,
  type FoundRow,
  findInRanges,
  type IndexOrder,
  inOrderOf,
  inTransaction,
  isConstraintError,
  isOwnBudget,
  ownBudgetId,
  type Store,
  spentByKey,
  type TransactionScope,
} from "../db/index.ts";
import { isBehind, type PageQuery, toPageStart } from "../db/page.ts";
import {
  type Imported,
  lockAccount,
  lockMaker,
  noteImported,
  readAllowedModels,
  setOwnBudget,
  toOwnPeriod,
  unknownAccount,
} from "../tenants/index.ts";
import { equalHashes, hashSecret, makeApiKey, readIdSecret } from "./api-key.ts";
import { toForeignKeyId, toImportedHash } from "./foreign-key.ts";
import {
  type CacheMarksSetting,
  checkKeyFields,
  columnOf,
  type KeyFields,
  limitColumns,
  readNetworks,
  toCacheMarksColumn,
  toKeyBudget,
  toNetworksColumn,
  toRateLimits,
} from "./key-fields.ts";
import { readServiceAccount } from "./service-accounts.ts";

/** A stored API key, without its secret. */
export interface ApiKey {
  /** The public part, which appears in logs. */
  id: string;
  accountId: string;
  name: string;
  /** Absent: all models. */
  allowedModels: string[] | undefined;
  /** The key's own limits, in addition to the limits of its account. */
  bounds: KeyLimits;
  /** Spent of its budget in the running period. */
  spentNanodollars: number;
  /** Milliseconds since 1970, like all times here. */
  createdAt: number;
  expiresAt: number | undefined;
  revokedAt: number | undefined;
  /** Accurate to a few seconds; absent when the key was never used. */
  lastUsedAt: number | undefined;
  /** The account of the person who made it, or `cli`; absent when it is unknown. */
  createdBy: string | undefined;
  /** Addresses and CIDR ranges that it may be used from; absent: any. */
  allowedNetworks: string[] | undefined;
  cacheMarks: CacheMarksSetting;
  /** Until when the secret before the last rotation is valid; absent when the key was not rotated. */
  previousUntil: number | undefined;
  /** When its secret was last replaced; absent when the key was not rotated. */
  rotatedAt: number | undefined;
  /** The service account that the key belongs to; absent for a key of a person or a command. */
  serviceAccountId: string | undefined;
  /** The issuer whose tokens (JWT) it represents; absent for a key with a secret. */
  tokenSubject: TokenSubject | undefined;
  /** Restrictions of another gateway that made an import hold the key back: it is revoked; absent: no restrictions. */
  heldFor: string | undefined;
}

/** The claims `iss` and `sub` of a token. */
export interface TokenSubject {
  readonly issuer: string;
  readonly subject: string;
}

/** The fields of a new key. */
export interface NewKey extends KeyFields {
  accountId: string;
  name: string;
  /** An existing key to import, for scripts. Importing the same key again changes nothing. */
  key?: string | undefined;
  /** The account that makes it, `cli`, or an admin key; an audit entry is written when it is given. */
  by?: string | undefined;
  /** The service account whose key it is. */
  serviceAccountId?: string | undefined;
  /** The key of another gateway in whose place it is made, once. */
  imported?: Omit<Imported, "kind"> | undefined;
}

/** Keys that one person may make in one account within a day; each playground that is opened makes one. */
const createdPerDayMax = 300;
const dayMs = 86_400_000;
/** Keys that have ended and are listed with those that are usable. */
const endedShownMax = 200;
/** Deletes in chunks: no chunk holds the write lock for long. */
const pruneChunkMax = 100;
/** The rest is deleted at the next run. */
const pruneChunksMax = 20;

/** Rules for a new or changed key. */
interface KeyRules {
  now: number;
  /** Keys of the account that are neither revoked nor expired; `undefined`: unlimited. */
  keysMax: number | undefined;
}

/**
 * Creates or imports a key. The key is returned only here; the store has its hash.
 *
 * @throws {GatewayError} `invalid_request` for a malformed key, name, time or model list, `not_found` for an unknown
 * account, `conflict` when another key has the id of the imported one or the account has `keysMax` usable keys,
 * `rate_limit_exceeded` for a person who has made too many within a day.
 */
export async function createKey(
  store: Store,
  fields: NewKey,
  { now, keysMax }: KeyRules,
): Promise<{ id: string; key: string }> {
  checkKeyFields(fields, now);
  const parts = fields.key === undefined ? makeApiKey(await readIdSecret(store)) : parseApiKey(fields.key);
  if (parts === undefined) {
    const message = `The given API key is malformed: expected ${apiKeyForm}`;
    throw new GatewayError("invalid_request", message, { param: "key" });
  }
  const created = { id: parts.id, key: formatApiKey(parts) };
  const row = {
    id: parts.id,
    account_id: fields.accountId,
    name: fields.name,
    secret_hash: hashSecret(parts.secret).toString("hex"),
    allowed_models: fields.allowedModels === undefined ? null : JSON.stringify(fields.allowedModels),
    ...limitColumns(fields.bounds ?? {}),
    created_at: now,
    expires_at: fields.expiresAt ?? null,
    revoked_at: null,
    last_used_at: null,
    created_by: fields.by ?? null,
    allowed_networks: toNetworksColumn(fields.allowedNetworks),
    cache_marks: toCacheMarksColumn(fields.cacheMarks),
    service_account_id: fields.serviceAccountId ?? null,
    may_return: fields.key === undefined ? 0 : 1,
  };
  try {
    await store.change(async (db) => {
      await checkKeyCount(db, row, now, keysMax);
      await checkMaker(db, fields.by);
      await checkDailyCount(db, row, now);
      if (row.service_account_id !== null)
        await readServiceAccount({ db }, { accountId: row.account_id, id: row.service_account_id });
      await db.insertInto("keys").values(row).execute();
      await setOwnBudget(db, { accountId: row.account_id, keyId: row.id }, toKeyBudget(fields.bounds ?? {}), now);
      if (fields.imported !== undefined) {
        await noteImported({ db }, { ...fields.imported, kind: "key", target: row.id }, now);
      }
      await recordKeyAudit(db, { by: fields.by, action: "key.create", ...row }, now);
    }, row.id);
  } catch (error) {
    if (!isConstraintError(error)) throw error;
    const existing = await store.readKey(parts.id);
    if (existing?.account_id === row.account_id && existing.secret_hash === row.secret_hash) return created;
    throw new GatewayError("conflict", `API key ${parts.id} already exists with another secret or account`, {
      cause: error,
    });
  }
  return created;
}

/** The id of the key that stands for a subject of an issuer in an account. Nobody can choose it. */
export function tokenKeyId({ issuer, subject, accountId }: TokenSubject & { accountId: string }): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([issuer, subject, accountId]))
    .digest("hex");
  return `jwt${digest.slice(0, 32)}`;
}

/** A key of another gateway, whose text is not known. */
export interface ForeignKey extends KeyFields {
  readonly accountId: string;
  readonly name: string;
  /** SHA-256 of all of its text, hex. */
  readonly sha256: string;
  readonly isRevoked: boolean;
  /**
   * Restrictions there that do not exist here: the key stays revoked until a user accepts that; absent: no
   * restrictions.
   */
  readonly heldFor?: string | undefined;
}

/** Result of importing keys. */
export interface ImportedKeys {
  readonly added: number;
  /** Keys that were held back by an earlier import and no longer are. */
  readonly released: number;
  /** Ids of the keys that are in their accounts now, by their SHA-256. */
  readonly ids: ReadonlyMap<string, string>;
  /** Keys that were not taken over. */
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
}

/**
 * Imports keys of another gateway: their clients continue to work. Keys imported earlier are left unchanged, except
 * keys that were held back and no longer need to be. A key that cannot be imported does not stop the others.
 *
 * @param options.restrict Adds restrictions other than the key's own fields, in the transaction that makes the key
 * usable. If it fails with a `GatewayError`, the key is refused.
 */
export async function importForeignKeys<Key extends ForeignKey>(
  store: Store,
  keys: readonly Key[],
  {
    now,
    by,
    restrict = async () => undefined,
  }: { now: number; by: string; restrict?: (scope: TransactionScope, key: Key, id: string) => Promise<void> },
): Promise<ImportedKeys> {
  const idSecret = await readIdSecret(store);
  const counts = { added: 0, released: 0, present: 0 };
  const ids = new Map<string, string>();
  const refused: { name: string; reason: string }[] = [];
  for (const key of keys) {
    const id = toForeignKeyId(key.sha256, idSecret);
    try {
      const outcome = await inTransaction(store, async (scope) => {
        const outcome = await importForeignKey(scope, key, { id, now, by });
        await restrict(scope, key, id);
        return outcome;
      });
      counts[outcome] += 1;
      ids.set(key.sha256, id);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      refused.push({ name: key.name, reason: error.message });
    }
  }
  return { added: counts.added, released: counts.released, ids, refused };
}

/** @throws {GatewayError} `invalid_request` for a field, `conflict` for a key that is in another account. */
async function importForeignKey(
  scope: TransactionScope,
  { accountId, name, sha256, isRevoked, heldFor, ...fields }: ForeignKey,
  { id, now, by }: { id: string; now: number; by: string },
): Promise<"added" | "released" | "present"> {
  const { expiresAt, allowedModels, allowedNetworks, bounds } = fields;
  // An expired key is imported as it is: its client then gets the right error.
  checkKeyFields({ name, allowedModels, allowedNetworks, bounds }, now);
  const row = {
    id,
    account_id: accountId,
    name,
    secret_hash: "",
    foreign_hash: toImportedHash(sha256),
    allowed_models: allowedModels === undefined ? null : JSON.stringify(allowedModels),
    ...limitColumns(bounds ?? {}),
    created_at: now,
    expires_at: expiresAt ?? null,
    revoked_at: isRevoked || heldFor !== undefined ? now : null,
    last_used_at: null,
    created_by: by,
    allowed_networks: toNetworksColumn(allowedNetworks),
    may_return: 1,
    held_for: heldFor ?? null,
  };
  return scope.change(async (db) => {
    const inserted = db
      .insertInto("keys")
      .values(row)
      .onConflict((conflict) => conflict.column("id").doNothing());
    const { numInsertedOrUpdatedRows: count = 0n } = await inserted.executeTakeFirstOrThrow();
    if (count > 0n) {
      await setOwnBudget(db, { accountId, keyId: id }, toKeyBudget(bounds ?? {}), now);
      await recordKeyAudit(db, { by, action: "key.import", ...row }, now);
      return "added";
    }
    const present = await db.selectFrom("keys").select("account_id").where("id", "=", id).executeTakeFirstOrThrow();
    if (present.account_id !== accountId) {
      throw new GatewayError("conflict", "it already exists in another account, and is not changed");
    }
    if (isRevoked || heldFor !== undefined) return "present";
    const { numUpdatedRows } = await db
      .updateTable("keys")
      .set({ revoked_at: null, held_for: null })
      .where("id", "=", id)
      .where("held_for", "is not", null)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows === 0n) return "present";
    await recordKeyAudit(db, { by, action: "key.release", ...row }, now);
    return "released";
  });
}

/** The row of a key that stands for tokens: it has no secret and no limits. */
function rowWithoutSecret(
  { accountId, issuer, subject, by, ...named }: TokenSubject & Record<"id" | "accountId" | "name" | "by", string>,
  now: number,
) {
  return {
    ...named,
    account_id: accountId,
    secret_hash: "",
    allowed_models: null,
    ...limitColumns({}),
    created_at: now,
    expires_at: null,
    revoked_at: null,
    last_used_at: null,
    created_by: by,
    token_issuer: issuer,
    token_subject: subject,
  };
}

/**
 * Creates the key that stands for a subject's tokens, if it is not there. It has no secret.
 *
 * @throws {GatewayError} `conflict` when the account has `keysMax` usable keys.
 */
export async function createTokenKey(
  store: Store,
  { accountId, issuer, subject, name, by }: TokenSubject & { accountId: string; name: string; by: string },
  { now, keysMax }: KeyRules,
): Promise<void> {
  const id = tokenKeyId({ issuer, subject, accountId });
  const row = { ...rowWithoutSecret({ id, accountId, issuer, subject, name, by }, now), may_return: 1 };
  await store.change(async (db) => {
    await checkKeyCount(db, row, now, keysMax);
    const inserted = db
      .insertInto("keys")
      .values(row)
      .onConflict((conflict) => conflict.column("id").doNothing());
    const { numInsertedOrUpdatedRows: count = 0n } = await inserted.executeTakeFirstOrThrow();
    if (count > 0n) await recordKeyAudit(db, { by, action: "key.create", ...row }, now);
  }, row.id);
}

/** The issuer of keys that stand for programs that a person has signed in. */
const signInIssuer = "modelgate";

/**
 * The key that stands for a program that a person has signed in to an account: the one that is there, or a new one. It
 * has no secret.
 *
 * @throws {GatewayError} `conflict` when the account has `keysMax` usable keys.
 */
export async function provideSignInKey(
  store: Store,
  { accountId, program, name, by }: { accountId: string; program: string; name: string; by: string },
  { now, keysMax }: KeyRules,
): Promise<string> {
  const { id } = makeApiKey(await readIdSecret(store));
  const row = rowWithoutSecret({ id, accountId, issuer: signInIssuer, subject: program, name, by }, now);
  return await store.change(async (db) => {
    await lockAccount(db, accountId);
    await checkMaker(db, by);
    const present = await db
      .selectFrom("keys")
      .select("id")
      .where("account_id", "=", accountId)
      .where("created_by", "=", by)
      .where("token_issuer", "=", signInIssuer)
      .where("token_subject", "=", program)
      .where(isUsable(now))
      .orderBy("created_at")
      .executeTakeFirst();
    if (present !== undefined) return present.id;
    await checkKeyCount(db, row, now, keysMax);
    await checkDailyCount(db, row, now);
    await db.insertInto("keys").values(row).execute();
    await recordKeyAudit(db, { by, action: "key.create", ...row }, now);
    return id;
  }, id);
}

/** Locks the account and counts its usable keys. Importing an existing key again is not a new key. */
async function checkKeyCount(
  db: Transaction<Database>,
  { account_id: accountId, id }: { account_id: string; id: string },
  now: number,
  keysMax = Number.POSITIVE_INFINITY,
): Promise<void> {
  const lock = db.updateTable("accounts").set((set) => ({ name: set.ref("name") }));
  const { numUpdatedRows } = await lock.where("id", "=", accountId).executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw unknownAccount(accountId);
  const { count } = await db
    .selectFrom("keys")
    .select((select) => select.fn.countAll<number>().as("count"))
    .where("account_id", "=", accountId)
    .where("id", "<>", id)
    .where("revoked_at", "is", null)
    .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", now)]))
    .executeTakeFirstOrThrow();
  if (count < keysMax) return;
  throw new GatewayError("conflict", `The account has ${count} API keys, its limit; revoke one that is not in use`);
}

/**
 * Refuses a key of somebody who leaves at the same moment: their keys would be revoked without it.
 *
 * @throws {GatewayError} `forbidden`
 */
async function checkMaker(db: Transaction<Database>, by: string | undefined): Promise<void> {
  if (by !== undefined && !isProgram(by)) await lockMaker(db, by, true);
}

/** Ended keys stay for a while, so a limit on usable keys alone would let a user fill the database. */
async function checkDailyCount(
  db: Transaction<Database>,
  { account_id: accountId, created_by: by }: { account_id: string; created_by: string | null },
  now: number,
): Promise<void> {
  if (by === null || isProgram(by)) return;
  const { count, first } = await db
    .selectFrom("keys")
    .select((select) => [select.fn.countAll<number>().as("count"), select.fn.min("created_at").as("first")])
    .where("account_id", "=", accountId)
    .where("created_by", "=", by)
    .where("created_at", ">", now - dayMs)
    .executeTakeFirstOrThrow();
  if (count < createdPerDayMax) return;
  throw new GatewayError(
    "rate_limit_exceeded",
    `You have created ${count} API keys within a day, the limit; keep a key longer, or use it for several purposes`,
    { retryAfterMs: Number(first) + dayMs - now },
  );
}

/** The account and the creator of a key; `undefined` if the key does not exist. */
export async function findKeyOwner(
  { db }: Pick<Store, "db">,
  id: string,
): Promise<Pick<ApiKey, "accountId" | "createdBy"> | undefined> {
  const row = await db.selectFrom("keys").select(["account_id", "created_by"]).where("id", "=", id).executeTakeFirst();
  return row && { accountId: row.account_id, createdBy: row.created_by ?? undefined };
}

/** The usable keys of an account and the ended keys that were last used or created, oldest first. */
export async function listShownKeys(
  store: Store,
  now: number,
  accountId: string,
): Promise<{ keys: ApiKey[]; hasMore: boolean }> {
  const ofAccount = () => keysQuery(store, now).where("keys.account_id", "=", accountId);
  const usable = ofAccount().where(isUsable(now));
  const ended = ofAccount()
    .where((where) => where.or([where("revoked_at", "is not", null), where("expires_at", "<=", now)]))
    .clearOrderBy()
    .orderBy((order) => order.fn.coalesce("last_used_at", "keys.created_at"), "desc")
    .orderBy("keys.id")
    .limit(endedShownMax + 1);
  const [active, past] = [await usable.execute(), await ended.execute()];
  const rows = [...active, ...past.slice(0, endedShownMax)];
  const keys = rows.map(toApiKey).sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
  return { keys, hasMore: past.length > endedShownMax };
}

/**
 * Deletes keys that have ended: those that were never used after a day, others when the calls are deleted that they made,
 * until when lists and statistics show their names. Returns how many. Called by a timer.
 *
 * Keys that can be made again from outside stay: without their row, the next start, import or token would make them good again.
 */
export async function pruneKeys({ db }: Pick<Store, "db">, now: number, retentionDays: number): Promise<number> {
  const ended = (column: "revoked_at" | "expires_at", before: number, isUnused: boolean) =>
    db
      .selectFrom("keys")
      .select("id")
      .where(column, "is not", null)
      .where(column, "<=", before)
      .where("may_return", "=", 0)
      .$if(isUnused, (query) => query.where("last_used_at", "is", null))
      .limit(pruneChunkMax);
  let pruned = 0;
  for (const column of ["revoked_at", "expires_at"] as const) {
    for (const [days, isUnused] of [
      [1, true],
      [retentionDays + 1, false],
    ] as const) {
      for (let chunk = 0; chunk < pruneChunksMax; chunk++) {
        const rows = await ended(column, now - days * dayMs, isUnused).execute();
        const ids = rows.map(({ id }) => id);
        if (ids.length === 0) break;
        await db.deleteFrom("content_switches").where("subject", "in", ids).execute();
        await db.deleteFrom("budgets").where("id", "in", ids.map(ownBudgetId)).execute();
        await db.deleteFrom("keys").where("id", "in", ids).execute();
        pruned += ids.length;
      }
    }
  }
  return pruned;
}

/** A page of the keys of an account, oldest first: the usable ones, or all. @throws {GatewayError} `invalid_request` */
export async function listKeysPage(
  store: Store,
  now: number,
  { accountId, limit, after, includesEnded }: PageQuery & { accountId: string; includesEnded: boolean },
): Promise<ApiKey[]> {
  const ofAccount = () => keysQuery(store, now).where("keys.account_id", "=", accountId);
  let query = ofAccount();
  if (!includesEnded) query = query.where(isUsable(now));
  if (after !== undefined) {
    const last = toPageStart(await ofAccount().where("keys.id", "=", after).executeTakeFirst(), after);
    query = query.where(isBehind("keys.created_at", "keys.id", last));
  }
  return (await query.limit(limit).execute()).map(toApiKey);
}

/** One key of an account. @throws {GatewayError} `not_found` */
export async function readKeyOf(
  store: Store,
  now: number,
  { accountId, id }: { accountId: string; id: string },
): Promise<ApiKey> {
  const query = keysQuery(store, now).where("keys.account_id", "=", accountId).where("keys.id", "=", id);
  const row = await query.executeTakeFirst();
  if (row !== undefined) return toApiKey(row);
  throw new GatewayError("not_found", "No API key of this project has this id");
}

/**
 * The relation of a leaked secret to a credential. `current`: its secret. `previous`: the one that the latest rotation has replaced.
 * `other`: none of it, or an older one. `unchecked`: no hash was sent.
 */
export type SecretState = "current" | "previous" | "other" | "unchecked";

/** A credential that was found somewhere, by its id and the SHA-256 of its secret in hex; not all have both. */
export interface LeakedSecret {
  readonly id?: string | undefined;
  readonly sha256?: string | undefined;
}

/**
 * Finds the key that a leaked secret belongs to, without the secret itself. Without an id, the hash covers the whole text of
 * a key that was imported. `undefined` when there is no such key.
 */
export async function checkSecret(
  store: Store,
  { id, sha256 }: LeakedSecret,
  now: number,
): Promise<{ readonly key: ApiKey; readonly secret: SecretState } | undefined> {
  if (id === undefined && sha256 === undefined) return undefined;
  const keyId = id ?? toForeignKeyId(sha256 ?? "", await readIdSecret(store));
  const row = await keysQuery(store, now).where("keys.id", "=", keyId).executeTakeFirst();
  if (row === undefined) return undefined;
  const key = toApiKey(row);
  // The text of an imported key is its secret until the first rotation, and the one before it until the second.
  if (id === undefined) {
    return { key, secret: row.secret_hash === "" ? "current" : row.foreign_hash === null ? "other" : "previous" };
  }
  if (sha256 === undefined) return { key, secret: "unchecked" };
  return { key, secret: compareSecret(sha256, { current: row.secret_hash, previous: row.previous_secret_hash }) };
}

/** Compares a hash with two stored ones, in constant time. */
export function compareSecret(
  sha256: string,
  stored: { readonly current: string; readonly previous: string | null },
): "current" | "previous" | "other" {
  const hash = Buffer.from(sha256, "hex");
  const isCurrent = equalHashes(hash, Buffer.from(stored.current, "hex"));
  const isPrevious = equalHashes(hash, Buffer.from(stored.previous ?? "", "hex"));
  if (isCurrent) return "current";
  return isPrevious ? "previous" : "other";
}

/** A key that expires soon. */
interface ExpiringKey {
  readonly id: string;
  readonly name: string;
  readonly accountId: string;
  readonly expiresAt: number;
  readonly lastUsedAt: number | null;
}

/**
 * Lists the keys that expire within some days, the first one first. Keys that were made for less than a day are left out:
 * the playground makes them.
 */
export async function listExpiringKeys(
  { db }: Pick<Store, "db">,
  { now, days, limit }: { now: number; days: number; limit: number },
): Promise<ExpiringKey[]> {
  const rows = await db
    .selectFrom("keys")
    .select(["id", "name", "account_id", "expires_at", "last_used_at"])
    .where("expires_at", ">", now)
    .where("expires_at", "<=", now + days * dayMs)
    .where("revoked_at", "is", null)
    .where(({ eb, ref }) => eb(eb(ref("expires_at"), "-", ref("created_at")), ">", dayMs))
    .orderBy("expires_at")
    .limit(limit)
    .execute();
  return rows.map(({ id, name, account_id: accountId, expires_at: expiresAt, last_used_at: lastUsedAt }) => ({
    id,
    name,
    accountId,
    expiresAt: expiresAt as number,
    lastUsedAt,
  }));
}

/** The names of keys by their ids; unknown ids are left out. */
export async function readKeyNames(
  { db }: Pick<Store, "db">,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom("keys")
    .select(["id", "name"])
    .where("id", "in", [...new Set(ids)])
    .execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Orders of {@link searchKeys}; keys without a value come last. */
export const keyOrders = ["created", "last_used", "expires", "name"] as const;

/** Filter of the keys of all accounts. */
export interface KeySearch {
  /** A part of the key itself, of its name, or of the e-mail, name or id of its account; empty: any. */
  readonly text: string;
  /** `ended`: revoked or expired. */
  readonly state: "active" | "ended" | "all";
  readonly order: (typeof keyOrders)[number];
  /** The person who made it, by id or e-mail, or `cli`; absent: anybody. */
  readonly madeBy?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** A key with the account whose it is. */
export type OwnedKey = ApiKey & { readonly email: string; readonly accountName: string | undefined };

/** Sort column of each order, and the index that serves it, if any. */
const orders: Readonly<
  Record<
    KeySearch["order"],
    { value: RawBuilder<unknown>; isDescending: boolean; isOptional?: true; index?: IndexOrder }
  >
> = {
  created: {
    value: sql`keys.created_at`,
    isDescending: true,
    index: { table: "keys", columns: ["created_at", "id"], isDescending: true },
  },
  last_used: { value: sql`keys.last_used_at`, isDescending: true, isOptional: true },
  expires: { value: sql`keys.expires_at`, isDescending: false, isOptional: true },
  name: { value: sql`lower(keys.name)`, isDescending: false },
};

/** Keys of all accounts, for administrators. The secret of a key is not needed to find it, nor looked at. */
export async function searchKeys(store: Store, now: number, search: KeySearch): Promise<OwnedKey[]> {
  const ids = await findKeyIds(store, now, search);
  if (ids.length === 0) return [];
  const rows = await keysQuery(store, now)
    .innerJoin("accounts", "accounts.id", "keys.account_id")
    .select(["accounts.email", "accounts.name as account_name"])
    .where("keys.id", "in", ids)
    .execute();
  return inOrderOf(ids, rows).map((row) => ({
    ...toApiKey(row),
    email: row.email,
    accountName: row.account_name ?? undefined,
  }));
}

/** The ids of a page of matching keys; the details of a list are read only for these. */
async function findKeyIds({ db, shared }: Store, now: number, search: KeySearch): Promise<string[]> {
  const { limit, offset, order, state, madeBy } = search;
  const part = (parseApiKey(search.text.trim())?.id ?? search.text.trim().replace(/^sk-mg-/, "")).replace(/-…?$/, "");
  const pattern = `%${part.toLowerCase().replaceAll(/[\\%_]/g, "\\$&")}%`;
  const has = (column: string) => sql<boolean>`lower(${sql.ref(column)}) like ${pattern} escape '\\'`;
  const isEnded = sql<boolean>`(keys.revoked_at is not null or (keys.expires_at is not null and keys.expires_at <= ${now}))`;
  const { value, isDescending, isOptional = false, index } = orders[order];
  const direction = isDescending ? "desc" : "asc";
  const query = db
    .selectFrom("keys")
    .innerJoin("accounts", "accounts.id", "keys.account_id")
    .select(["keys.id", value.$castTo<FoundRow["value"]>().as("value")])
    .$if(part !== "", (query) =>
      query.where((where) =>
        where.or([has("keys.id"), has("keys.name"), has("accounts.email"), has("accounts.name"), has("accounts.id")]),
      ),
    )
    .$if(madeBy !== undefined, (query) => query.where("keys.created_by", "in", makersOf(db, madeBy ?? "")))
    .$if(state === "active", (query) => query.where(sql<boolean>`not ${isEnded}`))
    .$if(state === "ended", (query) => query.where(isEnded))
    .$if(isOptional, (query) => query.orderBy(sql`${value} is null`))
    .orderBy(value, direction)
    .orderBy("keys.id", index === undefined ? "asc" : direction);
  if (shared) return (await query.limit(limit).offset(offset).execute()).map(({ id }) => id);
  return findInRanges(db, {
    by: index ?? { table: "keys", columns: ["id"] },
    compare: index === undefined ? compareFound(isDescending) : undefined,
    read: (range, rows) => query.where(range).limit(rows).execute(),
    limit,
    offset,
  });
}

/** The actor that an id, or the e-mail of a person, stands for. */
function makersOf(db: Store["db"], madeBy: string) {
  const text = madeBy.trim();
  return text.includes("@")
    ? db.selectFrom("accounts").select("accounts.id").where("accounts.email", "=", text.toLowerCase())
    : sql<string>`(select ${text})`;
}

/** Lists all keys, or the keys of one account, oldest first. */
export async function listKeys(store: Store, now: number, accountId?: string): Promise<ApiKey[]> {
  const query = keysQuery(store, now);
  const rows = await (accountId === undefined ? query : query.where("keys.account_id", "=", accountId)).execute();
  return rows.map(toApiKey);
}

/** Usable keys with a secret, of these accounts or of all, oldest first. */
export async function listUsableKeys(
  store: Store,
  now: number,
  { accountIds, limit }: { accountIds?: readonly string[] | undefined; limit?: number | undefined },
): Promise<ApiKey[]> {
  if (accountIds?.length === 0) return [];
  let query = keysQuery(store, now).where(isUsable(now)).where("keys.token_subject", "is", null);
  if (accountIds !== undefined) query = query.where("keys.account_id", "in", accountIds);
  if (limit !== undefined) query = query.limit(limit);
  return (await query.execute()).map(toApiKey);
}

/** Whether a key is neither revoked nor expired. */
export function isUsable(now: number) {
  return sql<boolean>`(keys.revoked_at is null and (keys.expires_at is null or keys.expires_at > ${now}))`;
}

function keysQuery({ db }: Store, now: number) {
  return db
    .selectFrom("keys")
    .leftJoin("budgets as own", (join) => join.on(isOwnBudget("keys")))
    .selectAll("keys")
    .select(["own.budget_nanodollars", "own.budget_period"])
    .select(sql<number | null>`(select cast(sum(spent_nanodollars) as bigint) ${spentByKey(now, "own")})`.as("spent"))
    .orderBy("keys.created_at")
    .orderBy("keys.id");
}

/** Revokes a key. Revoking it again changes nothing. @throws {GatewayError} `not_found` for an unknown key. */
export async function revokeKey(store: Store, id: string, now: number, by?: string): Promise<void> {
  await store.change(async (db) => {
    const row = await db
      .updateTable("keys")
      // A later import may accept the restrictions of a key that was held back, but must not bring back a revoked key.
      .set((set) => ({ revoked_at: set.fn.coalesce("revoked_at", set.val(now)), held_for: null }))
      .where("id", "=", id)
      .returning(["id", "account_id", "name"])
      .executeTakeFirst();
    if (row === undefined) throw unknownKey(id);
    await recordKeyAudit(db, { by, action: "key.revoke", ...row }, now);
  }, id);
}

/** Writes who did something to a key, when that is known. */
async function recordKeyAudit(
  db: Transaction<Database>,
  { by, action, id, account_id, name }: { by: string | undefined; action: string } & KeyIdentity,
  now: number,
): Promise<void> {
  if (by === undefined) return;
  const entry = { accountId: by, action, subject: account_id, detail: { key: id, name } };
  await recordAudit({ db }, entry, now);
}

type KeyIdentity = Pick<Selectable<Database["keys"]>, "id" | "account_id" | "name">;

/** The row of a key with its own budget. */
type ReadKey = Selectable<Database["keys"]> & {
  budget_nanodollars: number | null;
  budget_period: Budget["period"] | null;
  spent: number | null;
};

function toApiKey(row: ReadKey): ApiKey {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    allowedModels: readAllowedModels(row.allowed_models),
    bounds: {
      ...toRateLimits(row),
      budgetNanodollars: row.budget_nanodollars ?? undefined,
      budgetPeriod: row.budget_nanodollars === null ? undefined : toOwnPeriod(row.budget_period),
    },
    spentNanodollars: row.spent === null ? 0 : Number(row.spent),
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined,
    lastUsedAt: row.last_used_at ?? undefined,
    createdBy: row.created_by ?? undefined,
    allowedNetworks: readNetworks(row.allowed_networks),
    cacheMarks: row.cache_marks ?? "auto",
    previousUntil: row.previous_until ?? undefined,
    rotatedAt: row.rotated_at ?? undefined,
    serviceAccountId: row.service_account_id ?? undefined,
    tokenSubject: toTokenSubject(row),
    heldFor: row.held_for ?? undefined,
  };
}

function toTokenSubject(row: Selectable<Database["keys"]>): TokenSubject | undefined {
  const { token_issuer: issuer, token_subject: subject } = row;
  return issuer === null || subject === null ? undefined : { issuer, subject };
}

/** Changes to a key: `null` removes a value, absent fields are unchanged. */
export interface KeyChanges {
  readonly name?: string | undefined;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number | null | undefined;
  readonly allowedModels?: readonly string[] | null | undefined;
  readonly allowedNetworks?: readonly string[] | null | undefined;
  readonly cacheMarks?: CacheMarksSetting | undefined;
  readonly bounds?: { readonly [Name in keyof KeyLimits]: KeyLimits[Name] | null } | undefined;
}

/**
 * Changes a key but not its secret. Its earlier spending counts for a new budget too.
 *
 * @throws {GatewayError} `invalid_request` for an invalid value or an empty change, `not_found` for an unknown key,
 * `conflict` when a new expiry would give the account more than `keysMax` usable keys.
 */
export async function changeKey(
  store: Store,
  id: string,
  changes: KeyChanges,
  { now, keysMax, by }: KeyRules & { readonly by?: string | undefined },
): Promise<void> {
  const { name, expiresAt, allowedModels, allowedNetworks, cacheMarks } = changes;
  const entries = Object.entries(changes.bounds ?? {}).filter(([, value]) => value !== undefined) as [
    keyof KeyLimits,
    NonNullable<KeyLimits[keyof KeyLimits]> | null,
  ][];
  const bounds = Object.fromEntries(entries.map(([bound, value]) => [bound, value ?? undefined])) as KeyLimits;
  const lists = { allowedModels: allowedModels ?? undefined, allowedNetworks: allowedNetworks ?? undefined };
  checkKeyFields({ name, bounds, expiresAt: expiresAt ?? undefined, ...lists }, now);
  const columns = limitColumns(bounds);
  const { budgetNanodollars, budgetPeriod } = changes.bounds ?? {};
  const hasBudget = budgetNanodollars !== undefined || (budgetPeriod !== undefined && budgetPeriod !== null);
  const set = {
    ...(name !== undefined && { name }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...(allowedModels !== undefined && { allowed_models: allowedModels && JSON.stringify(allowedModels) }),
    ...(allowedNetworks !== undefined && { allowed_networks: toNetworksColumn(allowedNetworks ?? undefined) }),
    ...(cacheMarks !== undefined && { cache_marks: toCacheMarksColumn(cacheMarks) }),
    ...Object.fromEntries(
      entries.flatMap(([bound]) =>
        bound === "budgetNanodollars" || bound === "budgetPeriod" ? [] : [[columnOf[bound], columns[columnOf[bound]]]],
      ),
    ),
  };
  if (Object.keys(set).length === 0 && !hasBudget) {
    throw new GatewayError("invalid_request", "Nothing to change: send at least one field");
  }
  await store.change(async (db) => {
    const key = await db
      .selectFrom("keys")
      .select(["id", "account_id", "name"])
      .where("id", "=", id)
      .executeTakeFirst();
    if (key === undefined) throw unknownKey(id);
    // An expired key does not count, and a later expiry may make it usable again.
    if (expiresAt !== undefined) await checkKeyCount(db, key, now, keysMax);
    if (Object.keys(set).length > 0) await db.updateTable("keys").set(set).where("id", "=", id).execute();
    if (hasBudget) await changeKeyBudget(db, key, changes.bounds ?? {}, now);
    await recordKeyAudit(db, { by, action: "key.change", ...key }, now);
  }, id);
}

/** Changes the own budget of a key. Absent fields stay the same. */
async function changeKeyBudget(
  db: Transaction<Database>,
  { id, account_id: accountId }: KeyIdentity,
  { budgetNanodollars, budgetPeriod }: NonNullable<KeyChanges["bounds"]>,
  now: number,
): Promise<void> {
  const owner = { accountId, keyId: id };
  if (budgetNanodollars === null) return setOwnBudget(db, owner, undefined, now);
  const current = await db
    .selectFrom("budgets")
    .select(["budget_nanodollars", "budget_period"])
    .where("id", "=", ownBudgetId(id))
    .executeTakeFirst();
  const limitNanodollars = budgetNanodollars ?? current?.budget_nanodollars;
  if (limitNanodollars === undefined) {
    const message = "budget_period is set without budget_usd, and the key has no budget; send both";
    throw new GatewayError("invalid_request", message, { param: "budget_usd" });
  }
  const period = budgetPeriod ?? toOwnPeriod(current?.budget_period ?? null);
  await setOwnBudget(db, owner, { limitNanodollars, period }, now);
}

/** Maximum time that a secret stays valid after its rotation, in seconds: 30 days. */
export const graceSecondsMax = 2_592_000;
/** How long it is if nothing else is said: time to roll out the new one. */
export const graceSecondsDefault = 3600;

/**
 * Replaces the secret of a key. The previous secret stays valid for a grace period, and the one before it ends at once.
 * The rest of the key stays the same, including its budget, limits and usage.
 *
 * @returns The key with its new secret, which is returned only here.
 * @throws {GatewayError} `not_found`, `invalid_request` for the grace, `conflict` for a key that has ended, or that is
 * set in the environment of the gateway and would come back from there.
 */
export async function rotateKey(
  store: Store,
  { id, graceSeconds, by }: { id: string; graceSeconds: number; by?: string | undefined },
  now: number,
): Promise<{ id: string; key: string; previousUntil: number }> {
  if (!Number.isInteger(graceSeconds) || graceSeconds < 0 || graceSeconds > graceSecondsMax) {
    const message = `grace_seconds is ${graceSeconds}, expected a whole number from 0 to ${graceSecondsMax}`;
    throw new GatewayError("invalid_request", message, { param: "grace_seconds" });
  }
  const { secret } = makeApiKey(await readIdSecret(store));
  const previousUntil = now + graceSeconds * 1000;
  await store.change(async (db) => {
    await checkMaker(db, by);
    const key = await db
      .updateTable("keys")
      .set((set) => ({
        secret_hash: hashSecret(secret).toString("hex"),
        previous_secret_hash: set.ref("secret_hash"),
        previous_until: previousUntil,
        rotated_by: by ?? null,
        rotated_at: now,
        // The text of another gateway's key is the secret before the first rotation, and ends with the second.
        foreign_hash: set.case().when("secret_hash", "=", "").then(set.ref("foreign_hash")).else(null).end(),
      }))
      .where("id", "=", id)
      .returning(["id", "account_id", "name", "revoked_at", "expires_at", "created_by", "token_subject"])
      .executeTakeFirst();
    if (key === undefined) throw unknownKey(id);
    if (key.token_subject !== null) {
      throw new GatewayError("conflict", `API key ${id} represents tokens and has no secret; their issuer renews them`);
    }
    if (key.revoked_at !== null || (key.expires_at !== null && key.expires_at <= now)) {
      throw new GatewayError("conflict", `API key ${id} has ended; create a new one`);
    }
    if (key.created_by === null) {
      throw new GatewayError("conflict", `API key ${id} is set by the environment of the gateway; change it there`);
    }
    await recordKeyAudit(db, { by, action: "key.rotate", ...key }, now);
  }, id);
  return { id, key: formatApiKey({ id, secret }), previousUntil };
}

function unknownKey(id: string): GatewayError {
  return new GatewayError(
    "not_found",
    `No API key has the id ${JSON.stringify(id)}; the id is the part between sk-mg- and the secret`,
  );
}
