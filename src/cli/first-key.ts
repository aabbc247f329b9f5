import type { Account, Accounts } from "../accounts/index.ts";
import type { Store } from "../db/index.ts";

/** The key shown at the first start; `undefined` when the gateway has keys already. */
export interface FirstKey {
  key: string;
  /** Given by the operator, so not shown again. */
  given: boolean;
}

const ownerEmail = "owner@localhost";

/**
 * Sees that there is a key to begin with: the given one, or on the very first start a new one. It belongs to an
 * account of its own.
 */
export async function firstKey(
  store: Store,
  accounts: Accounts,
  givenKey: string | undefined,
): Promise<FirstKey | undefined> {
  if (givenKey === undefined && (await hasAccount(store))) return undefined;
  const owner = await ownerAccount(accounts);
  if (givenKey === undefined) {
    const { key } = await accounts.createKey({ accountId: owner.id, name: "first key" });
    return { key, given: false };
  }
  const known = await store.readKey(givenKey.split("-")[2] as string);
  if (known === undefined) await accounts.createKey({ accountId: owner.id, name: "bootstrap key", key: givenKey });
  return { key: givenKey, given: true };
}

/** The account of whoever runs the gateway, made when it is missing. */
export async function ownerAccount(accounts: Accounts): Promise<Account> {
  return (await accounts.find(ownerEmail)) ?? (await accounts.create({ email: ownerEmail, name: "Owner" }));
}

/** Of all that there may be, one is looked at: a start does not take longer where there are many. */
async function hasAccount({ db }: Store): Promise<boolean> {
  return (await db.selectFrom("accounts").select("id").limit(1).executeTakeFirst()) !== undefined;
}
