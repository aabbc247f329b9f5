import type { Selectable } from "kysely";
import { apiKeyForm, formatApiKey, GatewayError, type KeyLimits, parseApiKey } from "../contract/index.ts";
import { type Database, isConstraintError, monthOf, type Store } from "../db/index.ts";
import { findAccount, unknownAccount } from "./account-admin.ts";
import { hashSecret, makeApiKey } from "./api-key.ts";
import { unknownKey } from "./key-change.ts";
import { checkKeyFields, type KeyFields } from "./key-fields.ts";
import { boundColumns, limitsUsageOf } from "./key-limits.ts";

/** What can be said of an API key once it is made. */
export interface ApiKey {
  /** The public part, which stands in logs. */
  id: string;
  accountId: string;
  name: string;
  /** Absent: all models. */
  allowedModels: string[] | undefined;
  /** Its own, beside those of its account; each absent where it has none. */
  bounds: KeyLimits;
  /** What its budget has paid this UTC month. */
  spentNanodollars: number;
  /** Milliseconds since 1970, as the other times. */
  createdAt: number;
  expiresAt: number | undefined;
  revokedAt: number | undefined;
  /** To within some seconds; absent: not yet. */
  lastUsedAt: number | undefined;
}

/** A key to be made. */
export interface NewKey extends KeyFields {
  accountId: string;
  name: string;
  /** A key made elsewhere, for scripts. Importing the same one again changes nothing. */
  key?: string | undefined;
}

/**
 * Makes or imports a key. The key itself is returned this once and kept nowhere.
 *
 * @throws {GatewayError} `invalid_request` for a malformed key, name, time or model list, `not_found` for an unknown
 * account, `conflict` when the imported key's id is taken by another.
 */
export async function createKey(store: Store, fields: NewKey, now: number): Promise<{ id: string; key: string }> {
  checkKeyFields(fields, now);
  if ((await findAccount(store, fields.accountId)) === undefined) throw unknownAccount(fields.accountId);
  const parts = fields.key === undefined ? makeApiKey() : parseApiKey(fields.key);
  if (parts === undefined) {
    const sentence = `Given API key is malformed: expected ${apiKeyForm}`;
    throw new GatewayError("invalid_request", sentence, { param: "key" });
  }
  const made = { id: parts.id, key: formatApiKey(parts) };
  const row = {
    id: parts.id,
    account_id: fields.accountId,
    name: fields.name,
    secret_hash: hashSecret(parts.secret).toString("hex"),
    allowed_models: fields.allowedModels === undefined ? null : JSON.stringify(fields.allowedModels),
    ...boundColumns(fields.bounds ?? {}),
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
export async function listKeys({ db }: Store, now: number, accountId?: string): Promise<ApiKey[]> {
  let query = db
    .selectFrom("keys")
    .leftJoin("key_budget_usage", (join) =>
      join
        .onRef("key_budget_usage.account_id", "=", "keys.account_id")
        .onRef("key_budget_usage.key_id", "=", "keys.id")
        .on("key_budget_usage.month", "=", monthOf(now)),
    )
    .selectAll("keys")
    .select("key_budget_usage.spent_nanodollars")
    .orderBy("keys.created_at")
    .orderBy("keys.id");
  if (accountId !== undefined) query = query.where("keys.account_id", "=", accountId);
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
  if (numUpdatedRows === 0n) throw unknownKey(id);
}

function infoOf(row: Selectable<Database["keys"]> & { spent_nanodollars: number | null }): ApiKey {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    allowedModels: row.allowed_models === null ? undefined : (JSON.parse(row.allowed_models) as string[]),
    bounds: limitsUsageOf(row),
    spentNanodollars: row.spent_nanodollars === null ? 0 : row.spent_nanodollars,
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined,
    lastUsedAt: row.last_used_at ?? undefined,
  };
}
