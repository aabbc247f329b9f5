import { LRUCache } from "lru-cache";
import {
  apiKeyForm,
  type Caller,
  GatewayError,
  isAdminKey,
  type KeyParts,
  type Limits,
  parseApiKey,
  type RateLimits,
} from "../contract/index.ts";
import { type KeyRecord, ownBudgetId, type Store } from "../db/index.ts";
import { LruMap } from "../lib/lru-map.ts";
import { readBudgetsOfKey, readModelLimitsOfKey } from "../tenants/index.ts";
import { equalHashes, hasChecksum, hashSecret, readIdSecret } from "./api-key.ts";
import { hashForeignKey, isForeignKey, upgradeForeignKey } from "./foreign-key.ts";
import { toNetworkList, toRateLimits } from "./key-fields.ts";

/** Bounds memory; beyond it, last-used times of some keys are late. */
const notedMax = 100_000;
const writeChunkMax = 500;

/** Collects the ids of used keys and saves them in batches: no call waits for a write. */
export class LastUsedTracker {
  #noted = new Set<string>();

  note(keyId: string): void {
    if (this.#noted.size < notedMax) this.#noted.add(keyId);
  }

  /** Keys noted during the save, and keys that could not be saved, are saved the next time. */
  async save(store: Store, now: number): Promise<void> {
    const ids = [...this.#noted].sort();
    this.#noted = new Set();
    try {
      while (ids.length > 0) {
        // Not by `store.change`, which would invalidate cached keys for a field that they do not have.
        await store.db
          .updateTable("keys")
          .set({ last_used_at: now })
          .where("id", "in", ids.slice(0, writeChunkMax))
          .where((where) => where.or([where("last_used_at", "is", null), where("last_used_at", "<", now)]))
          .execute();
        ids.splice(0, writeChunkMax);
      }
    } catch (error) {
      for (const id of ids) this.note(id);
      throw error;
    }
  }
}

/** Limits of accounts that set no limits themselves. */
export interface AccountDefaults extends Limits {
  freeTokensPerDay: number;
  /** Free tokens per day for an account whose e-mail is not verified; absent: 0. */
  signUpFreeTokensPerDay?: number;
  /** Keys that are neither revoked nor expired; absent: unlimited. */
  maxKeysPerAccount?: number;
}

/** The facts about an account that decide its daily free quota. */
interface QuotaOwner {
  /** The account's own quota, in tokens; absent: it has no quota of its own. */
  readonly freeTokensPerDay: number | undefined;
  /** The quota of its role, in tokens; absent: the role sets no quota. */
  readonly roleFreeTokensPerDay: number | undefined;
  /** Whether the e-mail of its holder is not verified. */
  readonly isEmailClaimed: boolean;
}

/**
 * The daily free quota of an account, in tokens: its own, otherwise its role's, otherwise the configured quota. If
 * sign-up is open, anyone may open accounts with e-mails of others, so these accounts have a separate configured quota,
 * whatever their role allows.
 */
export function getFreeQuota(
  { freeTokensPerDay, roleFreeTokensPerDay, isEmailClaimed }: QuotaOwner,
  defaults: Pick<AccountDefaults, "freeTokensPerDay" | "signUpFreeTokensPerDay">,
): number {
  if (freeTokensPerDay !== undefined) return freeTokensPerDay;
  if (isEmailClaimed) return defaults.signUpFreeTokensPerDay ?? 0;
  return roleFreeTokensPerDay ?? defaults.freeTokensPerDay;
}

interface KnownKey {
  /** The store's revision when the key was read. */
  readonly revision: number;
  readonly secretHash: Uint8Array;
  /** The secret before the last rotation, and the end of its validity. */
  readonly previous: { readonly secretHash: Uint8Array; readonly until: number } | undefined;
  readonly expiresAt: number | undefined;
  readonly revoked: boolean;
  readonly disabled: boolean;
  readonly caller: Caller;
}

/** A token whose secret was verified. */
interface VerifiedToken {
  readonly known: KnownKey;
  /** Time until which the secret before the last rotation is valid; absent for the current one. */
  readonly until: number | undefined;
}

const keysMax = 20_000;
/** Ids that do not exist are cached separately: guessing must not evict real keys. */
const unknownMax = 5_000;
/** Compared with when an id does not exist: the check then takes as long as for a wrong secret. */
const noHash = new Uint8Array(32);

/** Accepts tokens of other issuers instead of API keys. */
export interface TokenSource {
  /** Whether a bearer has the form of a token. */
  isToken(bearer: string): boolean;
  /** @throws {GatewayError} `invalid_api_key`, or `unavailable` */
  authenticate(token: string): Caller | Promise<Caller>;
}

/** The API keys that stand for the subjects of tokens. */
export interface TokenKeys {
  /** Usable keys of an account; absent: unlimited. */
  readonly keysMax: number | undefined;
  /** The caller of a key by its id; undefined when there is no such key. @throws {GatewayError} For one that has ended. */
  readonly callerOf: (keyId: string) => Caller | undefined | Promise<Caller | undefined>;
}

/** Options of {@link Authenticator}. */
interface AuthenticatorOptions {
  readonly store: Store;
  readonly defaults: AccountDefaults;
  readonly now: () => number;
  /** Open the sources that accept tokens; absent: no tokens are accepted. */
  readonly openTokens?: readonly ((keys: TokenKeys) => TokenSource)[] | undefined;
}

/** Checks API keys against a cache in memory. A change of the store makes one key or all keys in it stale. */
export class Authenticator {
  readonly #store: Store;
  readonly #defaults: AccountDefaults;
  readonly #now: () => number;
  readonly #use: LastUsedTracker;
  readonly #tokens: readonly TokenSource[];
  readonly #known = new LruMap<KnownKey>(keysMax);
  /** Tokens with a verified secret: a key is not hashed again for each call. */
  readonly #verified = new LruMap<VerifiedToken>(keysMax);
  /** The revision of the store that had no such id. */
  readonly #unknown = new LRUCache<string, number>({ max: unknownMax });
  /** Whether the store has keys of other gateways, at one of its revisions. */
  #foreign: { readonly revision: number; readonly has: Promise<boolean> } | undefined;
  #keyChanges = 0;
  #idSecret: Promise<string> | undefined;

  constructor({ store, defaults, now, openTokens = [] }: AuthenticatorOptions, use: LastUsedTracker) {
    this.#store = store;
    const keys = { keysMax: defaults.maxKeysPerAccount, callerOf: (id: string) => this.#readCaller(id) };
    this.#tokens = openTokens.map((open) => open(keys));
    this.#use = use;
    this.#defaults = defaults;
    this.#now = now;
    store.onKeyChange((id) => this.#markStale(id));
  }

  /** Returns synchronously when the key is cached or the store is embedded. */
  authenticate(token: string): Caller | Promise<Caller> {
    const verified = this.#verified.get(token);
    if (verified !== undefined && this.#isCurrent(verified.known)) return this.#getCaller(verified);
    for (const source of this.#tokens) if (source.isToken(token)) return source.authenticate(token);
    if (token === "") throw invalidKey("Missing API key: send the header Authorization: Bearer <API key>");
    const key = parseApiKey(token);
    if (key === undefined && !isAdminKey(token) && isForeignKey(token)) return this.#authenticateForeign(token);
    if (isAdminKey(token))
      throw incorrectKey(maskKey(token), "is an admin key, which cannot make calls; use an API key");
    if (key === undefined) throw malformedKey(token);
    const entry = this.#find(key.id);
    if (entry instanceof Promise) return entry.then((entry) => this.#check(token, key, entry));
    return this.#check(token, key, entry);
  }

  /** A key of another gateway that was imported. It is checked by its whole text, as it has no id of ours. */
  async #authenticateForeign(token: string): Promise<Caller> {
    const { revision } = this.#store;
    if (!(await this.#hasForeignKeys(revision))) throw malformedKey(token);
    const hashes = hashForeignKey(token, await this.readIdSecret());
    const [present, imported] = hashes;
    if (this.#unknown.get(present) === revision) throw malformedKey(token);
    let record: KeyRecord | undefined;
    try {
      record = (await this.#store.readForeignKey(present)) ?? (await this.#store.readForeignKey(imported));
    } catch (cause) {
      return storeUnavailable(cause);
    }
    if (record === undefined) {
      this.#unknown.set(present, revision);
      throw malformedKey(token);
    }
    const entry = this.#keep(record.id, record, { revision, changes: this.#keyChanges });
    if (entry === undefined) throw malformedKey(token);
    if (record.foreign_hash === imported)
      await upgradeForeignKey(this.#store, record.id, hashes).catch(() => undefined);
    // Its text is the secret before the first rotation.
    const verified = { known: entry, until: record.previous_until ?? undefined };
    if (this.#known.get(record.id) === entry) this.#verified.set(token, verified);
    return this.#getCaller(verified);
  }

  /** Most gateways have no foreign keys; a malformed key then costs no look-up. Imports change the revision. */
  async #hasForeignKeys(revision: number): Promise<boolean> {
    if (this.#foreign?.revision !== revision) {
      const query = this.#store.db.selectFrom("keys").select("id").where("foreign_hash", "is not", null).limit(1);
      const has = this.#store.ask(query.compile()).then((rows) => rows.length > 0);
      this.#foreign = { revision, has };
    }
    const foreign = this.#foreign;
    try {
      return await foreign.has;
    } catch (cause) {
      if (this.#foreign === foreign) this.#foreign = undefined;
      return storeUnavailable(cause);
    }
  }

  /** The caller of a key whose holder was proved in another way than by its secret. */
  #readCaller(id: string): Caller | undefined | Promise<Caller | undefined> {
    const toCaller = (entry: KnownKey | undefined) => entry && this.#getCaller({ known: entry, until: undefined });
    const lookup = this.#find(id, true);
    return lookup instanceof Promise ? lookup.then(toCaller) : toCaller(lookup);
  }

  #check(token: string, { secret }: KeyParts, entry: KnownKey | undefined): Caller {
    const hash = hashSecret(secret);
    const matches = equalHashes(hash, entry === undefined ? noHash : entry.secretHash);
    const isPrevious = !matches && equalHashes(hash, entry?.previous?.secretHash ?? noHash);
    if (entry === undefined || (!matches && !isPrevious)) {
      const problem = "does not exist; check that it was copied completely, or create a new one";
      throw incorrectKey(maskKey(token), problem, entry?.caller);
    }
    const verified = { known: entry, until: isPrevious ? entry.previous?.until : undefined };
    if (this.#known.get(entry.caller.keyId) === entry) this.#verified.set(token, verified);
    return this.#getCaller(verified);
  }

  #getCaller({ known: { revoked, disabled, expiresAt, caller }, until }: VerifiedToken): Caller {
    if (revoked) throw incorrectKey(caller.keyId, "was revoked; use another key", caller);
    if (expiresAt !== undefined && expiresAt <= this.#now()) {
      throw incorrectKey(caller.keyId, `expired at ${new Date(expiresAt).toISOString()}; use another key`, caller);
    }
    if (until !== undefined && until <= this.#now()) {
      const problem = `was rotated, and its old secret ended at ${new Date(until).toISOString()}; use the new one`;
      throw incorrectKey(caller.keyId, problem, caller);
    }
    if (disabled) {
      throw invalidKey("The account of this API key is disabled; contact the operator of this gateway", caller);
    }
    this.#use.note(caller.keyId);
    return caller;
  }

  #isCurrent(entry: KnownKey): boolean {
    return entry.revision === this.#store.revision && this.#known.get(entry.caller.keyId) === entry;
  }

  /** A stale key is still known to exist, so its next look-up is not queued with look-ups of made-up ids. */
  #markStale(id: string): void {
    this.#keyChanges += 1;
    this.#unknown.delete(id);
    const entry = this.#known.get(id);
    if (entry !== undefined) this.#known.set(id, { ...entry, revision: -1 });
  }

  /** @param isProven The id cannot have been made up. */
  #find(id: string, isProven = false): KnownKey | undefined | Promise<KnownKey | undefined> {
    const { revision } = this.#store;
    const entry = this.#known.get(id);
    if (entry?.revision === revision) return entry;
    if (this.#unknown.get(id) === revision) return undefined;
    const changes = this.#keyChanges;
    const keep = (record: KeyRecord | undefined) => this.#keep(id, record, { revision, changes });
    try {
      const record =
        this.#store.shared && entry === undefined && !isProven ? this.#readNew(id) : this.#store.readKey(id);
      return record instanceof Promise ? record.then(keep, storeUnavailable) : keep(record);
    } catch (cause) {
      return storeUnavailable(cause);
    }
  }

  /** Concurrent calls share one read, whose failure is not cached. */
  readIdSecret(): Promise<string> {
    this.#idSecret ??= readIdSecret(this.#store).catch((error) => {
      this.#idSecret = undefined;
      throw error;
    });
    return this.#idSecret;
  }

  /** Reads a key that was not in use; anyone may have made up its id. */
  async #readNew(id: string): Promise<KeyRecord | undefined> {
    return this.#store.readKey(id, !hasChecksum(id, await this.readIdSecret()));
  }

  /** A record that was read before a change answers this request and is not cached. */
  #keep(id: string, record: KeyRecord | undefined, at: { revision: number; changes: number }): KnownKey | undefined {
    const entry = record === undefined ? undefined : toKnownKey(record, this.#defaults, at.revision);
    if (at.revision !== this.#store.revision || at.changes !== this.#keyChanges) return entry;
    if (entry === undefined) this.#unknown.set(id, at.revision);
    else this.#known.set(id, entry);
    return entry;
  }
}

/** When the store cannot answer, the caller gets 503 and not 401, and nothing is cached. */
function storeUnavailable(cause: unknown): never {
  throw new GatewayError("unavailable", "The API key could not be checked; try again", { retryAfterMs: 1000, cause });
}

function toKnownKey(record: KeyRecord, defaults: AccountDefaults, revision: number): KnownKey {
  const caller: Caller = {
    accountId: record.account_id,
    keyId: record.id,
    limits: {
      requestsPerMinute: record.account_requests_per_minute ?? defaults.requestsPerMinute,
      tokensPerMinute: record.account_tokens_per_minute ?? defaults.tokensPerMinute,
      concurrentCalls: record.account_concurrent_calls ?? defaults.concurrentCalls,
    },
    freeTokensPerDay: getFreeQuota(
      {
        freeTokensPerDay: record.free_tokens_per_day ?? undefined,
        roleFreeTokensPerDay: record.role_free_tokens_per_day ?? undefined,
        isEmailClaimed: record.holder_email_verified === 0,
      },
      defaults,
    ),
  };
  if (record.markup_basis_points !== null) caller.markupBasisPoints = record.markup_basis_points;
  if (record.created_by !== null) caller.createdBy = record.created_by;
  const keyLimits = readKeyLimits(record);
  if (keyLimits !== undefined) caller.keyLimits = keyLimits;
  if (record.keeps_content) caller.keepsContent = true;
  if (record.model_limits !== null) caller.modelLimits = readModelLimitsOfKey(record.model_limits);
  if (record.budgets !== null) caller.budgets = readBudgetsOfKey(record.budgets);
  // Without its budget nothing would bound it.
  const hasBudget = caller.budgets?.some(({ id }) => id === ownBudgetId(record.account_id)) === true;
  if (record.billed_afterwards === 1 && hasBudget) caller.isBilledAfterwards = true;
  const networks = toNetworkList(record.allowed_networks);
  if (networks !== undefined) caller.allowedNetworks = networks;
  if (record.cache_marks !== null) caller.cacheMarks = record.cache_marks;
  const [ofKey, ofAccount] = [record.allowed_models, record.account_allowed_models];
  if (ofKey !== null) caller.allowedModels = new Set(JSON.parse(ofKey) as string[]);
  if (ofAccount !== null) caller.accountModels = new Set(JSON.parse(ofAccount) as string[]);
  const { previous_secret_hash: previousHash, previous_until: until } = record;
  const hasPrevious = previousHash !== null && until !== null;
  return {
    revision,
    secretHash: Buffer.from(record.secret_hash, "hex"),
    previous: hasPrevious ? { secretHash: Buffer.from(previousHash, "hex"), until } : undefined,
    expiresAt: record.expires_at ?? undefined,
    revoked: record.revoked_at !== null,
    disabled: record.account_disabled_at !== null,
    caller,
  };
}

/** `undefined` for a key without limits; its calls skip the checks. */
function readKeyLimits(record: KeyRecord): RateLimits | undefined {
  const bounds = toRateLimits({
    requests_per_minute: record.key_requests_per_minute,
    tokens_per_minute: record.key_tokens_per_minute,
    concurrent_calls: record.key_concurrent_calls,
  });
  return Object.values(bounds).some((bound) => bound !== undefined) ? bounds : undefined;
}

type KeyOwner = Pick<Caller, "accountId" | "keyId">;

/** The refusal of a key whose id is known, for the request log of its account. */
export class RefusedKeyError extends GatewayError {
  readonly key: KeyOwner;

  constructor(message: string, { accountId, keyId }: KeyOwner) {
    super("invalid_api_key", message);
    this.key = { accountId, keyId };
  }
}

function invalidKey(message: string, owner?: KeyOwner): GatewayError {
  return owner === undefined ? new GatewayError("invalid_api_key", message) : new RefusedKeyError(message, owner);
}

/** LiteLLM takes a 401 for an `AuthenticationError` only if it begins as OpenAI's message does. */
function incorrectKey(shown: string, problem: string, owner?: KeyOwner): GatewayError {
  return invalidKey(`Incorrect API key provided: ${shown} ${problem}`, owner);
}

function malformedKey(token: string): GatewayError {
  return incorrectKey(maskKey(token), `is malformed; expected ${apiKeyForm}`);
}

/** Masks a key as OpenAI does: enough to recognize it. */
function maskKey(token: string): string {
  const end = token.length < 20 ? "" : token.slice(-4);
  return `${token.slice(0, end === "" ? 3 : 8)}***${end}`.replace(/[^\w*-]/g, "?");
}
