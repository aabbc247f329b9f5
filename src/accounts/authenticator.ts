import { LRUCache } from "lru-cache";
import {
  apiKeyForm,
  type Caller,
  GatewayError,
  type KeyLimits,
  type KeyParts,
  type Limits,
  parseApiKey,
} from "../contract/index.ts";
import type { KeyRecord, Store } from "../db/index.ts";
import { hashSecret, sameHash } from "./api-key.ts";
import { limitsUsageOf } from "./key-limits.ts";
import type { LastUsedTracker } from "./last-used.ts";

/** What accounts and keys have when they say nothing of their own. */
export interface AccountDefaults extends Limits {
  freeTokensPerDay: number;
}

interface KnownKey {
  readonly secretHash: Uint8Array;
  readonly expiresAt: number | undefined;
  readonly revoked: boolean;
  readonly disabled: boolean;
  readonly caller: Caller;
}

const keysMax = 20_000;
/** Ids asked for that do not exist. Kept apart, so that guessing does not push real keys out. */
const unknownMax = 5_000;
/** Compared with when an id does not exist, so that this takes as long as a wrong secret. */
const noHash = new Uint8Array(32);

/** Checks API keys against a copy of them in memory, which is dropped whenever the store says that something changed. */
export class Authenticator {
  readonly #store: Store;
  readonly #defaults: AccountDefaults;
  readonly #now: () => number;
  readonly #use: LastUsedTracker;
  readonly #known = new LRUCache<string, KnownKey>({ max: keysMax });
  /** Whole tokens whose secret was found right, so that a key at work is not hashed again for each call. */
  readonly #verified = new LRUCache<string, KnownKey>({ max: keysMax });
  readonly #unknown = new LRUCache<string, true>({ max: unknownMax });
  #revision: number;

  constructor(store: Store, defaults: AccountDefaults, use: LastUsedTracker, now: () => number) {
    this.#store = store;
    this.#use = use;
    this.#defaults = defaults;
    this.#now = now;
    this.#revision = store.revision;
  }

  /** Answers at once when the key is in memory or the store is embedded. */
  authenticate(token: string): Caller | Promise<Caller> {
    this.#forgetOld();
    const verified = this.#verified.get(token);
    if (verified !== undefined) return this.#callerOf(verified);
    if (token === "") throw refusal("Missing API key: send the header Authorization: Bearer <API key>");
    const key = parseApiKey(token);
    if (key === undefined) throw refusal(`Malformed API key: expected ${apiKeyForm}`);
    const found = this.#find(key);
    if (found instanceof Promise) return found.then((known) => this.#check(token, key, known));
    return this.#check(token, key, found);
  }

  #check(token: string, { secret }: KeyParts, known: KnownKey | undefined): Caller {
    const matches = sameHash(hashSecret(secret), known === undefined ? noHash : known.secretHash);
    if (known === undefined || !matches) {
      throw refusal("Incorrect API key: no such key exists; check that it was copied whole, or create another");
    }
    if (this.#known.get(known.caller.keyId) === known) this.#verified.set(token, known);
    return this.#callerOf(known);
  }

  #callerOf({ revoked, disabled, expiresAt, caller }: KnownKey): Caller {
    if (revoked) throw refusal(`API key ${caller.keyId} was revoked; use another`);
    if (expiresAt !== undefined && expiresAt <= this.#now()) {
      throw refusal(`API key ${caller.keyId} expired at ${new Date(expiresAt).toISOString()}; use another`);
    }
    if (disabled) throw refusal("The account of this API key is disabled; ask who runs this gateway");
    this.#use.note(caller.keyId);
    return caller;
  }

  /** Drops all copies once the store says that something changed. */
  #forgetOld(): void {
    const { revision } = this.#store;
    if (revision === this.#revision) return;
    this.#known.clear();
    this.#unknown.clear();
    this.#verified.clear();
    this.#revision = revision;
  }

  #find({ id }: KeyParts): KnownKey | undefined | Promise<KnownKey | undefined> {
    const { revision } = this.#store;
    const known = this.#known.get(id);
    if (known !== undefined || this.#unknown.get(id)) return known;
    try {
      const record = this.#store.readKey(id);
      if (!(record instanceof Promise)) return this.#keep(id, record, revision);
      return record.then((read) => this.#keep(id, read, revision), unreadable);
    } catch (cause) {
      return unreadable(cause);
    }
  }

  /** What was read before a change is good for this question, and not kept for the next. */
  #keep(id: string, record: KeyRecord | undefined, revision: number): KnownKey | undefined {
    const found = record === undefined ? undefined : knownKeyOf(record, this.#defaults);
    if (revision !== this.#store.revision) return found;
    if (found === undefined) this.#unknown.set(id, true);
    else this.#known.set(id, found);
    return found;
  }
}

/** A store that cannot answer says nothing about the key: the caller gets 503 and not 401, and nothing is cached. */
function unreadable(cause: unknown): never {
  throw new GatewayError("unavailable", "The API key could not be checked; try again", { retryAfterMs: 1000, cause });
}

function knownKeyOf(record: KeyRecord, defaults: AccountDefaults): KnownKey {
  const caller: Caller = {
    accountId: record.account_id,
    keyId: record.id,
    limits: {
      requestsPerMinute: record.account_requests_per_minute ?? defaults.requestsPerMinute,
      tokensPerMinute: record.account_tokens_per_minute ?? defaults.tokensPerMinute,
      concurrentCalls: defaults.concurrentCalls,
    },
    freeTokensPerDay: record.free_tokens_per_day ?? defaults.freeTokensPerDay,
  };
  const keyLimits = ownBounds(record);
  if (keyLimits !== undefined) caller.keyLimits = keyLimits;
  if (record.allowed_models !== null) caller.allowedModels = new Set(JSON.parse(record.allowed_models) as string[]);
  return {
    secretHash: Buffer.from(record.secret_hash, "hex"),
    expiresAt: record.expires_at ?? undefined,
    revoked: record.revoked_at !== null,
    disabled: record.account_disabled_at !== null,
    caller,
  };
}

/** Absent for a key that has none, so that its calls pay nothing for them. */
function ownBounds(record: KeyRecord): KeyLimits | undefined {
  const bounds = limitsUsageOf({
    requests_per_minute: record.key_requests_per_minute,
    tokens_per_minute: record.key_tokens_per_minute,
    concurrent_calls: record.key_concurrent_calls,
    budget_nanodollars: record.budget_nanodollars,
  });
  return Object.values(bounds).some((bound) => bound !== undefined) ? bounds : undefined;
}

function refusal(message: string): GatewayError {
  return new GatewayError("invalid_api_key", message);
}
