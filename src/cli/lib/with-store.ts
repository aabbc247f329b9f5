import { type Account, type Accounts, createAccounts } from "../../accounts/index.ts";
import { type Config, getStoreOptions, makeHome } from "../../config/index.ts";
import { openStore, type Store } from "../../db/index.ts";
import { didYouMean } from "../../sdk/did-you-mean.ts";
import { UsageError } from "../command.ts";

/** A command holds up no calls, so that it waits for a gateway that has much to write. */
const lockWaitMs = 10_000;

/**
 * The books while a command works on them; closed afterwards however it ends.
 *
 * @param now The command's own time, where it read a time by it.
 */
export async function withStore<T>(
  config: Config,
  work: (books: { store: Store; accounts: Accounts }) => Promise<T>,
  now: number = Date.now(),
): Promise<T> {
  makeHome(config);
  const store = await openStore({ ...getStoreOptions(config), lockWaitMs });
  try {
    return await work({ store, accounts: createAccounts({ store, defaults: config, now: () => now }) });
  } finally {
    await store.close();
  }
}

/**
 * The account that `--account A` means, by id or e-mail.
 *
 * @throws {UsageError} Naming the nearest e-mail.
 */
export async function accountOf(accounts: Accounts, idOrEmail: string): Promise<Account> {
  const account = await accounts.find(idOrEmail);
  if (account !== undefined) return account;
  const known = (await accounts.list()).map(({ email }) => email);
  const near = didYouMean(idOrEmail, known);
  const hint = near === undefined ? "see modelgate account list" : `did you mean ${near}?`;
  throw new UsageError(`No account has the id or e-mail ${JSON.stringify(idOrEmail)}, ${hint}`);
}
