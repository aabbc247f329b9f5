import { type Store, withMigrationLock } from "../db/index.ts";
import { makeTemporaryPassword } from "../identity/index.ts";
import type { Accounts } from "../keys/index.ts";
import { type Account, hasOwner } from "../tenants/index.ts";

/** The e-mail of the account that a first start creates. */
export const ownerEmail = "owner@localhost";

/** Items that a start created, for the startup banner. */
export interface Bootstrap {
  /** `undefined` when there were accounts already. `given`: it is MODELGATE_BOOTSTRAP_KEY, so it is not shown. */
  readonly key: { readonly key: string; readonly given: boolean } | undefined;
  /** `undefined` when there was an owner already. */
  readonly owner: { readonly email: string; readonly password: string } | undefined;
}

/**
 * Creates the first API key and the first owner where they are missing; both belong to the owner's account. Of
 * nodes that start together one creates them.
 */
export function bootstrap(
  store: Store,
  accounts: Accounts,
  { bootstrapKey, now }: { bootstrapKey: string | undefined; now: number },
): Promise<Bootstrap> {
  return withMigrationLock(store, async () => {
    const key = await createFirstKey(store, accounts, bootstrapKey);
    return { key, owner: await createFirstOwner(store, accounts, now) };
  });
}

async function createFirstKey(
  store: Store,
  accounts: Accounts,
  givenKey: string | undefined,
): Promise<Bootstrap["key"]> {
  if (givenKey === undefined && (await hasAccount(store))) return undefined;
  const { id: accountId } = await ensureOwner(accounts);
  if (givenKey === undefined) {
    const { key } = await accounts.createKey({ accountId, name: "first key" });
    return { key, given: false };
  }
  if (!(await hasKey(store, givenKey.split("-")[2] as string)))
    await accounts.createKey({ accountId, name: "bootstrap key", key: givenKey });
  return { key: givenKey, given: true };
}

async function createFirstOwner(store: Store, accounts: Accounts, now: number): Promise<Bootstrap["owner"]> {
  if (await hasOwner(store)) return undefined;
  const { id: accountId, email } = await ensureOwner(accounts);
  return { email, password: await makeTemporaryPassword(store, { accountId, role: "owner" }, now) };
}

async function ensureOwner(accounts: Accounts): Promise<Account> {
  return (await accounts.find(ownerEmail)) ?? (await accounts.create({ email: ownerEmail, name: "Owner" }));
}

/** Queries the table directly: the store's own look-up gives up quickly, for callers, and there is no caller yet. */
async function hasKey({ db }: Store, id: string): Promise<boolean> {
  return (await db.selectFrom("keys").select("id").where("id", "=", id).executeTakeFirst()) !== undefined;
}

async function hasAccount({ db }: Store): Promise<boolean> {
  return (await db.selectFrom("accounts").select("id").limit(1).executeTakeFirst()) !== undefined;
}
