import type { Caller } from "../contract/index.ts";
import type { Store } from "../db/index.ts";
import { type Account, createAccount, disableAccount, findAccount, listAccounts, setQuota } from "./account-admin.ts";
import { type AccountDefaults, Authenticator } from "./authenticator.ts";
import { type ApiKey, createKey, listKeys, type NewKey, revokeKey } from "./key-admin.ts";
import { changeKey, type KeyChanges } from "./key-change.ts";
import { LastUsedTracker } from "./last-used.ts";

/** Accounts and their API keys. Each write is seen by this process at once, by others at their next {@link Accounts.sync}. */
export interface Accounts {
  /**
   * Who a key stands for. Answers at once when the key is in memory or the store is embedded.
   *
   * @throws {GatewayError} `invalid_api_key` (missing, malformed, incorrect; revoked or expired only to who has the
   * secret), or `unavailable` when the store cannot answer.
   */
  authenticate(token: string): Caller | Promise<Caller>;
  create(fields: { email: string; name?: string | undefined }): Promise<Account>;
  list(): Promise<Account[]>;
  /** Absent when there is none of this id or e-mail. */
  find(idOrEmail: string): Promise<Account | undefined>;
  createKey(fields: NewKey): Promise<{ id: string; key: string }>;
  listKeys(accountId?: string): Promise<ApiKey[]>;
  /** Changes a key; a `null` takes something away. @throws {GatewayError} `invalid_request`, `not_found` */
  changeKey(id: string, changes: KeyChanges): Promise<void>;
  /** Ends a key for good. @throws {GatewayError} `not_found` */
  revokeKey(id: string): Promise<void>;
  /** Gives an account its own daily free quota, or with `undefined` the configured one. */
  setQuota(accountId: string, tokens: number | undefined): Promise<void>;
  /** Shuts an account out with its keys and people at once, or lets it in again. @throws {GatewayError} `not_found` */
  setDisabled(accountId: string, disabled: boolean): Promise<void>;
  /** Writes down which keys were used since the last time. For a timer of the owner, and its end. */
  saveLastUsed(): Promise<void>;
  /** Asks whether another process changed something, and forgets what was read before. For a timer of the owner. */
  sync(): void;
}

/** What {@link createAccounts} wants. */
export interface AccountsOptions {
  store: Store;
  defaults: AccountDefaults;
  /** Milliseconds since 1970; default the system's clock. */
  now?: () => number;
}

export function createAccounts({ store, defaults, now = Date.now }: AccountsOptions): Accounts {
  const use = new LastUsedTracker();
  const authenticator = new Authenticator(store, defaults, use, now);
  return {
    authenticate: (token) => authenticator.authenticate(token),
    create: (fields) => createAccount(store, fields, now()),
    list: () => listAccounts(store),
    find: (idOrEmail) => findAccount(store, idOrEmail),
    createKey: (fields) => createKey(store, fields, now()),
    listKeys: (accountId) => listKeys(store, now(), accountId),
    changeKey: (id, changes) => changeKey(store, id, changes, now()),
    revokeKey: (id) => revokeKey(store, id, now()),
    setQuota: (accountId, tokens) => setQuota(store, accountId, tokens),
    setDisabled: (accountId, disabled) => disableAccount(store, accountId, disabled ? now() : undefined),
    saveLastUsed: () => use.save(store, now()),
    sync() {
      store.pollExternalChange();
    },
  };
}
