import { GatewayError, type KeyLimits } from "../contract/index.ts";
import type { Store } from "../db/index.ts";
import { checkKeyFields } from "./key-fields.ts";
import { boundColumns, columnOf } from "./key-limits.ts";

/** What is to become of a key: `null` takes something away, and what is absent stays. */
export interface KeyChanges {
  readonly name?: string | undefined;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number | null | undefined;
  readonly allowedModels?: readonly string[] | null | undefined;
  readonly bounds?: { readonly [Name in keyof KeyLimits]: KeyLimits[Name] | null } | undefined;
}

/**
 * Changes a key; its secret stays. A budget counts what is charged to calls that begin under it; changing it keeps what
 * the month has paid.
 *
 * @throws {GatewayError} `invalid_request` for a value that is none, or nothing to change, `not_found` for an unknown key.
 */
export async function changeKey(store: Store, id: string, changes: KeyChanges, now: number): Promise<void> {
  const { name, expiresAt, allowedModels } = changes;
  const given = Object.entries(changes.bounds ?? {}).filter(([, value]) => value !== undefined) as [
    keyof KeyLimits,
    number | null,
  ][];
  const bounds = Object.fromEntries(given.map(([bound, value]) => [bound, value ?? undefined])) as KeyLimits;
  checkKeyFields({ name, bounds, expiresAt: expiresAt ?? undefined, allowedModels: allowedModels ?? undefined }, now);
  const columns = boundColumns(bounds);
  const set = {
    ...(name !== undefined && { name }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...(allowedModels !== undefined && { allowed_models: allowedModels && JSON.stringify(allowedModels) }),
    ...Object.fromEntries(given.map(([bound]) => [columnOf[bound], columns[columnOf[bound]]])),
  };
  if (Object.keys(set).length === 0) {
    throw new GatewayError("invalid_request", "Nothing is to be changed: name at least one thing of the key");
  }
  const { numUpdatedRows } = await store.change((db) =>
    db.updateTable("keys").set(set).where("id", "=", id).executeTakeFirstOrThrow(),
  );
  if (numUpdatedRows === 0n) throw unknownKey(id);
}

export function unknownKey(id: string): GatewayError {
  return new GatewayError(
    "not_found",
    `No API key has the id ${JSON.stringify(id)}; it stands between sk-mg- and the secret`,
  );
}
