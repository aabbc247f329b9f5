import type { LedgerWrite, Store } from "../../src/db/index.ts";

/** Creates accounts with keys, those of them that do not exist yet: calls are recorded for no others. */
export async function addPayers(
  { db }: Pick<Store, "db">,
  keysOf: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  const limits = { requests_per_minute: null, tokens_per_minute: null, concurrent_calls: null, created_at: 0 };
  const ofAccount = { name: null, free_tokens_per_day: null, disabled_at: null, ...limits };
  const ofKey = {
    secret_hash: "",
    allowed_models: null,
    expires_at: null,
    revoked_at: null,
    last_used_at: null,
    ...limits,
  };
  for (const [id, keyIds] of Object.entries(keysOf)) {
    await db
      .insertInto("accounts")
      .values({ id, email: `${id}@test`, ...ofAccount })
      .onConflict((conflict) => conflict.column("id").doNothing())
      .execute();
    for (const keyId of keyIds) {
      await db
        .insertInto("keys")
        .values({ id: keyId, account_id: id, name: keyId, ...ofKey })
        .onConflict((conflict) => conflict.column("id").doNothing())
        .execute();
    }
  }
}

/** Writes to the ledger for accounts and keys that are created first where they do not exist. */
export async function recordCalls(store: Store, batch: readonly LedgerWrite[]): ReturnType<Store["writeLedger"]> {
  const accounts = new Map(
    batch.map((write) => {
      const { keyId, accountId } = write.kind === "open" ? write : write.open;
      return [keyId, accountId];
    }),
  );
  for (const [keyId, accountId] of accounts) await addPayers(store, { [accountId]: [keyId] });
  return store.writeLedger(batch);
}
