import { type Accounts, hasAdmin, makeTemporaryPassword } from "../accounts/index.ts";
import type { Store } from "../db/index.ts";
import { ownerAccount } from "./first-key.ts";

/** Who signs in at the first start, with a password that is shown this once. */
export interface FirstAdmin {
  email: string;
  password: string;
}

/** Sees that somebody can administrate: where nobody can, the owner of the gateway. `undefined` when somebody could. */
export async function firstAdmin(store: Store, accounts: Accounts, now: number): Promise<FirstAdmin | undefined> {
  if (await hasAdmin(store)) return undefined;
  const { id: accountId, email } = await ownerAccount(accounts);
  return { email, password: await makeTemporaryPassword(store, { accountId, role: "admin" }, now) };
}
