import type { Selectable, Transaction } from "kysely";
import { apiKeyForm, formatApiKey, GatewayError, type KeyLimits, parseApiKey } from "../contract/index.ts";
import { type Database, isConstraintError, isOfRunningPeriod, type Store } from "../db/index.ts";
import { hashSecret, makeApiKey, readIdSecret } from "./api-key.ts";
import { checkKeyFields, columnOf, type KeyFields, limitColumns, readModelList, toKeyLimits } from "./key-fields.ts";
import { unknownAccount } from "./lock-account.ts";
import { recordAudit } from "./record-audit.ts";

/** A stored API key, without its secret. */
export interface ApiKey {
  /** The public part, which appears in logs. */
  id: string;
  accountId: string;
  name: string;
  /** Absent: all models. */
  allowedModels: string[] | undefined;
  /** The key's own limits, in addition to those of its account. */
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
}

/** The fields of a new key. */
export interface NewKey extends KeyFields {
  accountId: string;
  name: string;
  /** An existing key to import, for scripts. Importing the same key again changes nothing. */
  key?: string | undefined;
  /** The account that makes it, or `cli`; an audit entry is written when it is given. */
  by?: string | undefined;
}

/** What limits a new or changed key. */
interface KeyRules {
  now: number;
  /** Keys of the account that are neither revoked nor expired; `undefined`: unlimited. */
  keysMax: number | undefined;
}

/**
 * Creates or imports a key. The key is returned only here; the store has its hash.
 *
 * @throws {GatewayError} `invalid_request` for a malformed key, name, time or model list, `not_found` for an unknown
 * account, `conflict` when another key has the id of the imported one or the account has `keysMax` usable keys.
 */
export async function createKey(
  store: Store,
  fields: NewKey,
  { now, keysMax }: KeyRules,
): Promise<{ id: string; key: string }> {
  checkKeyFields(fields, now);
  const parts = fields.key === undefined ? makeApiKey(await readIdSecret(store)) : parseApiKey(fields.key);
  if (parts === undefined) {
    const sentence = `The given API key is malformed: expected ${apiKeyForm}`;
    throw new GatewayError("invalid_request", sentence, { param: "key" });
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
  };
  try {
    await store.change(async (db) => {
      await checkKeyCount(db, row, now, keysMax);
      await db.insertInto("keys").values(row).execute();
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

/** Lists all keys or those of one account, oldest first. */
export async function listKeys({ db }: Store, now: number, accountId?: string): Promise<ApiKey[]> {
  let query = db
    .selectFrom("keys")
    .leftJoin("key_budget_usage", (join) =>
      join
        .onRef("key_budget_usage.account_id", "=", "keys.account_id")
        .onRef("key_budget_usage.key_id", "=", "keys.id")
        .on(isOfRunningPeriod(now)),
    )
    .selectAll("keys")
    .select("key_budget_usage.spent_nanodollars")
    .orderBy("keys.created_at")
    .orderBy("keys.id");
  if (accountId !== undefined) query = query.where("keys.account_id", "=", accountId);
  return (await query.execute()).map(toApiKey);
}

/** Revokes a key. Revoking it again changes nothing. @throws {GatewayError} `not_found` for an unknown key. */
export async function revokeKey(store: Store, id: string, now: number, by?: string): Promise<void> {
  await store.change(async (db) => {
    const row = await db
      .updateTable("keys")
      .set((set) => ({ revoked_at: set.fn.coalesce("revoked_at", set.val(now)) }))
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

function toApiKey(row: Selectable<Database["keys"]> & { spent_nanodollars: number | null }): ApiKey {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    allowedModels: readModelList(row.allowed_models),
    bounds: toKeyLimits(row),
    spentNanodollars: row.spent_nanodollars === null ? 0 : row.spent_nanodollars,
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined,
    lastUsedAt: row.last_used_at ?? undefined,
    createdBy: row.created_by ?? undefined,
  };
}

/** Changes to a key: `null` removes a value, absent fields are unchanged. */
export interface KeyChanges {
  readonly name?: string | undefined;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number | null | undefined;
  readonly allowedModels?: readonly string[] | null | undefined;
  readonly bounds?: { readonly [Name in keyof KeyLimits]: KeyLimits[Name] | null } | undefined;
}

/**
 * Changes a key but not its secret. A new budget ignores earlier calls; changing a budget keeps what this period has already
 * spent.
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
  const { name, expiresAt, allowedModels } = changes;
  const given = Object.entries(changes.bounds ?? {}).filter(([, value]) => value !== undefined) as [
    keyof KeyLimits,
    NonNullable<KeyLimits[keyof KeyLimits]> | null,
  ][];
  const bounds = Object.fromEntries(given.map(([bound, value]) => [bound, value ?? undefined])) as KeyLimits;
  checkKeyFields({ name, bounds, expiresAt: expiresAt ?? undefined, allowedModels: allowedModels ?? undefined }, now);
  const columns = limitColumns(bounds);
  const set = {
    ...(name !== undefined && { name }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...(allowedModels !== undefined && { allowed_models: allowedModels && JSON.stringify(allowedModels) }),
    ...Object.fromEntries(given.map(([bound]) => [columnOf[bound], columns[columnOf[bound]]])),
  };
  if (Object.keys(set).length === 0) {
    throw new GatewayError("invalid_request", "There is nothing to change: send at least one field");
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
    await db.updateTable("keys").set(set).where("id", "=", id).execute();
    await recordKeyAudit(db, { by, action: "key.change", ...key }, now);
  }, id);
}

function unknownKey(id: string): GatewayError {
  return new GatewayError(
    "not_found",
    `No API key has the id ${JSON.stringify(id)}; the id is the part between sk-mg- and the secret`,
  );
}
