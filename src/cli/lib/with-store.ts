import { createAudited } from "../../audit/index.ts";
import { type Config, getStoreOptions, makeHome } from "../../config/index.ts";
import { accountLabel, GatewayError } from "../../contract/index.ts";
import { openStore, type Store } from "../../db/index.ts";
import { type Accounts, createAccounts } from "../../keys/index.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { type Account, accountActions } from "../../tenants/index.ts";
import { UsageError } from "../command.ts";

/** A command blocks no calls, so it can wait for a gateway that is busy writing. */
const lockWaitMs = 10_000;

/** The store and its accounts, open for one command. */
export interface OpenedStore {
  readonly store: Store;
  readonly accounts: Accounts;
  /** Changes with an audit entry. */
  readonly actions: ReturnType<typeof accountActions>;
}

/**
 * Opens the store for `work`, and closes it afterwards.
 *
 * @param now The command's time, when it computed an expiry from it.
 */
export async function withStore<T>(
  config: Config,
  work: (opened: OpenedStore) => Promise<T>,
  now: number = Date.now(),
): Promise<T> {
  makeHome(config);
  const store = await openStore({ ...getStoreOptions(config), lockWaitMs });
  try {
    const audited = createAudited(store, () => now);
    const actions = accountActions(audited, () => now);
    return await work({ store, actions, accounts: createAccounts({ store, defaults: config, now: () => now }) });
  } finally {
    await store.close();
  }
}

/**
 * Finds the account that a command gives money, a key, a right or a larger limit.
 *
 * @throws {UsageError | GatewayError} as {@link expectAccount}, and `conflict` for an e-mail that is only claimed: see
 * `findRecipient` of the accounts.
 */
export async function expectRecipient(accounts: Accounts, text: string): Promise<Account> {
  return (await accounts.findRecipient(text)) ?? (await expectAccount(accounts, text));
}

/**
 * Finds an account by id or e-mail, and a team without an address of its own by its name as well, for a command that reads it or
 * takes something away.
 *
 * @throws {UsageError} For a name that several teams have.
 * @throws {GatewayError} `not_found`
 */
export async function expectAccount(accounts: Accounts, text: string): Promise<Account> {
  const account = await accounts.find(text);
  if (account !== undefined) return account;
  const all = await accounts.list();
  const named = all.filter((each) => accountLabel(each) === text);
  if (named[0] !== undefined && named.length === 1) return named[0];
  const name = JSON.stringify(text);
  if (named.length > 1) {
    throw new UsageError(`${named.length} teams have the name ${name}: ${named.map(({ id }) => id).join(", ")}`);
  }
  const near = didYouMean(text, all.map(accountLabel));
  const hint = near === undefined ? "see modelgate account list" : `did you mean ${near}?`;
  throw new GatewayError("not_found", `No account has the id or e-mail ${name}, and no team has this name; ${hint}`);
}
