import { commandLine } from "../audit/index.ts";
import type { Caller } from "../contract/index.ts";
import type { Store } from "../db/index.ts";
import type { PageQuery } from "../db/page.ts";
import {
  type Account,
  createAccount,
  enableAccount,
  findAccount,
  findRecipient,
  leave,
  listAccounts,
  setQuota,
} from "../tenants/index.ts";
import {
  type AccountDefaults,
  Authenticator,
  LastUsedTracker,
  type TokenKeys,
  type TokenSource,
} from "./authenticator.ts";
import {
  type ApiKey,
  changeKey,
  createKey,
  findKeyOwner,
  type KeyChanges,
  listKeys,
  listKeysPage,
  listShownKeys,
  type NewKey,
  pruneKeys,
  readKeyOf,
  revokeKey,
  rotateKey,
} from "./keys.ts";

/** Accounts and their API keys. This process sees a write at once, others at their next {@link Accounts.sync}. */
export interface Accounts {
  /**
   * Returns the caller of an API key, synchronously when the key is cached or the store is embedded.
   *
   * @throws {GatewayError} `invalid_api_key` (missing, malformed, incorrect; revoked or expired only with the right
   * secret), or `unavailable` when the store cannot answer.
   */
  authenticate(token: string): Caller | Promise<Caller>;
  /** Reads the data that {@link authenticate} needs: no call waits for it. Called at the start. */
  prepare(): Promise<void>;
  create(fields: { email: string; name?: string | undefined }): Promise<Account>;
  list(): Promise<Account[]>;
  /** `undefined` when no account has this id or e-mail. */
  find(idOrEmail: string): Promise<Account | undefined>;
  /** The account that will receive something. @throws {GatewayError} `conflict` for an e-mail that is only claimed. */
  findRecipient(idOrEmail: string): Promise<Account | undefined>;
  createKey(fields: NewKey): Promise<{ id: string; key: string }>;
  listKeys(accountId?: string): Promise<ApiKey[]>;
  /** The usable keys of an account and some ended keys; `hasMore`: there are more ended keys. */
  listShownKeys(accountId: string): Promise<{ keys: ApiKey[]; hasMore: boolean }>;
  /** A page of the keys of an account, oldest first. @throws {GatewayError} `invalid_request` */
  listKeysPage(page: PageQuery & { accountId: string; includesEnded: boolean }): Promise<ApiKey[]>;
  /** One key of an account. @throws {GatewayError} `not_found` */
  readKeyOf(accountId: string, id: string): Promise<ApiKey>;
  /** `undefined` when there is no such key. */
  findKeyOwner(id: string): Promise<Pick<ApiKey, "accountId" | "createdBy"> | undefined>;
  /** Deletes keys that ended so long ago that no list shows their calls. Called by a timer. Returns how many. */
  pruneKeys(retentionDays: number): Promise<number>;
  /** Changes a key; `null` removes a limit. @throws {GatewayError} `invalid_request`, `not_found` */
  changeKey(id: string, changes: KeyChanges, by?: string): Promise<void>;
  /** Revokes a key; an audit entry is written when it is known who does it. @throws {GatewayError} `not_found` */
  revokeKey(id: string, by?: string): Promise<void>;
  /**
   * Replaces the secret of a key; the previous secret stays valid for `graceSeconds`.
   *
   * @throws {GatewayError} `not_found`, `invalid_request`, `conflict` for a key that has ended
   */
  rotateKey(id: string, graceSeconds: number, by?: string): Promise<{ id: string; key: string; previousUntil: number }>;
  /** Sets the daily free quota of an account; `undefined` restores the configured one. */
  setQuota(accountId: string, tokens: number | undefined): Promise<void>;
  /** Disables an account with its keys and users, or enables it again. @throws {GatewayError} `not_found` */
  setDisabled(accountId: string, disabled: boolean): Promise<void>;
  /** Saves when keys were last used. Called by a timer and at shutdown. */
  saveLastUsed(): Promise<void>;
  /** Makes the caches stale when another process changed something. Called by a timer. */
  sync(): void;
}

/** Options of {@link createAccounts}. */
export interface AccountsOptions {
  store: Store;
  defaults: AccountDefaults;
  /** Open the sources that accept tokens; absent: no tokens are accepted. */
  openTokens?: readonly ((keys: TokenKeys) => TokenSource)[] | undefined;
  /** Milliseconds since 1970; default the system's clock. */
  now?: () => number;
}

export function createAccounts({ store, defaults, openTokens, now = Date.now }: AccountsOptions): Accounts {
  const lastUsed = new LastUsedTracker();
  const authenticator = new Authenticator({ store, defaults, openTokens, now }, lastUsed);
  const keyRules = () => ({ now: now(), keysMax: defaults.maxKeysPerAccount });
  return {
    authenticate: (token) => authenticator.authenticate(token),
    prepare: async () => void (await authenticator.readIdSecret()),
    create: (fields) => createAccount(store, fields, now()),
    list: () => listAccounts(store),
    find: (idOrEmail) => findAccount(store, idOrEmail),
    findRecipient: (idOrEmail) => findRecipient(store, idOrEmail),
    createKey: (fields) => createKey(store, fields, keyRules()),
    listKeys: (accountId) => listKeys(store, now(), accountId),
    listShownKeys: (accountId) => listShownKeys(store, now(), accountId),
    listKeysPage: (page) => listKeysPage(store, now(), page),
    readKeyOf: (accountId, id) => readKeyOf(store, now(), { accountId, id }),
    findKeyOwner: (id) => findKeyOwner(store, id),
    pruneKeys: (retentionDays) => pruneKeys(store, now(), retentionDays),
    changeKey: (id, changes, by) => changeKey(store, id, changes, { ...keyRules(), by }),
    revokeKey: (id, by) => revokeKey(store, id, now(), by),
    rotateKey: (id, graceSeconds, by) => rotateKey(store, { id, graceSeconds, by }, now()),
    setQuota: (accountId, tokens) => setQuota(store, accountId, tokens),
    setDisabled: (accountId, disabled) =>
      store.change(async (db) => {
        if (!disabled) await enableAccount(db, accountId);
        else await leave(db, { actor: commandLine, accountId, keys: "keep" }, now());
      }),
    saveLastUsed: () => lastUsed.save(store, now()),
    sync() {
      store.pollExternalChange();
    },
  };
}
