import type { Account, Accounts } from "../accounts/index.ts";

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
export async function firstKey(accounts: Accounts, givenKey: string | undefined): Promise<FirstKey | undefined> {
  const known = await accounts.list();
  if (givenKey === undefined && known.length > 0) return undefined;
  const owner = await ownerAccount(accounts);
  if (givenKey === undefined) {
    const { key } = await accounts.createKey({ accountId: owner.id, name: "first key" });
    return { key, given: false };
  }
  const id = givenKey.split("-")[2];
  const isKnown = (await accounts.listKeys()).some((entry) => entry.id === id);
  if (!isKnown) await accounts.createKey({ accountId: owner.id, name: "bootstrap key", key: givenKey });
  return { key: givenKey, given: true };
}

/** The account of whoever runs the gateway, made when it is missing. */
export async function ownerAccount(accounts: Accounts): Promise<Account> {
  return (await accounts.find(ownerEmail)) ?? (await accounts.create({ email: ownerEmail, name: "Owner" }));
}
