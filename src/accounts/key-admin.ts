import type { Selectable } from "kysely";
import { GatewayError } from "../contract/index.ts";
import { type Database, isConstraintError, type Store } from "../store/index.ts";
import { findAccount, unknownAccount } from "./account-admin.ts";
import { apiKeyForm, formatApiKey, hashSecret, makeApiKey, parseApiKey } from "./api-key.ts";

/** What can be said of an API key once it is made. */
export interface ApiKey {
  /** The public part, which stands in logs. */
  id: string;
  accountId: string;
  name: string;
  /** Absent: all models. */
  allowedModels: string[] | undefined;
  /** Milliseconds since 1970, as the other times. */
  createdAt: number;
  expiresAt: number | undefined;
  revokedAt: number | undefined;
  /** To within some seconds; absent: not yet. */
  lastUsedAt: number | undefined;
}

/** A key to be made. */
export interface NewKey {
  accountId: string;
  name: string;
  /** Milliseconds since 1970; absent: never. */
  expiresAt?: number | undefined;
  /** Model ids; absent: all. */
  allowedModels?: readonly string[] | undefined;
  /** A key made elsewhere, for scripts. Importing the same one again changes nothing. */
  key?: string | undefined;
}

const nameLengthMax = 200;

/**
 * Makes or imports a key. The key itself is returned this once and kept nowhere.
 *
 * @throws {GatewayError} `invalid_request` for a malformed key, name, time or model list, `not_found` for an unknown
 * account, `conflict` when the imported key's id is taken by another.
 */
export async function createKey(store: Store, fields: NewKey, now: number): Promise<{ id: string; key: string }> {
  checkNewKey(fields, now);
  if ((await findAccount(store, fields.accountId)) === undefined) throw unknownAccount(fields.accountId);
  const parts = fields.key === undefined ? makeApiKey() : parseApiKey(fields.key);
  if (parts === undefined) throw invalid("key", `Given API key is malformed: expected ${apiKeyForm}`);
  const made = { id: parts.id, key: formatApiKey(parts) };
  const row = {
    id: parts.id,
    account_id: fields.accountId,
    name: fields.name,
    secret_hash: hashSecret(parts.secret).toString("hex"),
    allowed_models: fields.allowedModels === undefined ? null : JSON.stringify(fields.allowedModels),
    requests_per_minute: null,
    tokens_per_minute: null,
    created_at: now,
    expires_at: fields.expiresAt ?? null,
    revoked_at: null,
    last_used_at: null,
  };
  try {
    await store.change((db) => db.insertInto("keys").values(row).execute());
  } catch (error) {
    if (!isConstraintError(error)) throw error;
    const kept = await store.readKey(parts.id);
    if (kept?.account_id === row.account_id && kept.secret_hash === row.secret_hash) return made;
    throw new GatewayError("conflict", `API key ${parts.id} exists already with another secret or account`, {
      cause: error,
    });
  }
  return made;
}

/** Every key, or those of one account, oldest first. */
export async function listKeys({ db }: Store, accountId?: string): Promise<ApiKey[]> {
  let query = db.selectFrom("keys").selectAll().orderBy("created_at").orderBy("id");
  if (accountId !== undefined) query = query.where("account_id", "=", accountId);
  return (await query.execute()).map(infoOf);
}

/** Ends a key at once. Revoking it again changes nothing. @throws {GatewayError} `not_found` for an unknown key. */
export async function revokeKey(store: Store, id: string, now: number): Promise<void> {
  const { numUpdatedRows } = await store.change((db) =>
    db
      .updateTable("keys")
      .set((set) => ({ revoked_at: set.fn.coalesce("revoked_at", set.val(now)) }))
      .where("id", "=", id)
      .executeTakeFirstOrThrow(),
  );
  if (numUpdatedRows === 0n) {
    throw new GatewayError(
      "not_found",
      `No API key has the id ${JSON.stringify(id)}; it stands between sk-mg- and the secret`,
    );
  }
}

function checkNewKey({ name, expiresAt, allowedModels }: NewKey, now: number): void {
  if (name.trim() === "" || name.length > nameLengthMax) {
    throw invalid("name", `Key name has ${name.length} characters, expected 1 to ${nameLengthMax}`);
  }
  if (expiresAt !== undefined && (!Number.isSafeInteger(expiresAt) || expiresAt <= now)) {
    throw invalid("expires", `Expiry ${expiresAt} is not a time in the future`);
  }
  if (allowedModels !== undefined && (allowedModels.length === 0 || allowedModels.includes(""))) {
    throw invalid("models", "Allowed models are an empty list: name at least one, or leave it out to allow all");
  }
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}

function infoOf(row: Selectable<Database["keys"]>): ApiKey {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    allowedModels: row.allowed_models === null ? undefined : (JSON.parse(row.allowed_models) as string[]),
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined,
    lastUsedAt: row.last_used_at ?? undefined,
  };
}
