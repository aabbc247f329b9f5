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
import { equalHashes, hashSecret } from "./api-key.ts";
import { toKeyLimits } from "./key-fields.ts";
import type { LastUsedTracker } from "./last-used.ts";

/** Limits of accounts that have none of their own. */
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
/** Ids that do not exist are cached apart, so that guessing does not evict real keys. */
const unknownMax = 5_000;
/** Compared with when an id does not exist, so that it takes as long as a wrong secret. */
const noHash = new Uint8Array(32);

/** Checks API keys against a cache in memory, which is cleared whenever the store reports a change. */
export class Authenticator {
  readonly #store: Store;
  readonly #defaults: AccountDefaults;
  readonly #now: () => number;
  readonly #use: LastUsedTracker;
  readonly #known = new LRUCache<string, KnownKey>({ max: keysMax });
  /** Tokens whose secret was verified, so that a key is not hashed again for each call. */
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

  /** Returns synchronously when the key is cached or the store is embedded. */
  authenticate(token: string): Caller | Promise<Caller> {
    this.#dropStale();
    const verified = this.#verified.get(token);
    if (verified !== undefined) return this.#getCaller(verified);
    if (token === "") throw invalidKey("Missing API key: send the header Authorization: Bearer <API key>");
    const key = parseApiKey(token);
    if (key === undefined) throw incorrectKey(maskKey(token), `is malformed; expected ${apiKeyForm}`);
    const found = this.#find(key);
    if (found instanceof Promise) return found.then((known) => this.#check(token, key, known));
    return this.#check(token, key, found);
  }

  #check(token: string, { secret }: KeyParts, known: KnownKey | undefined): Caller {
    const matches = equalHashes(hashSecret(secret), known === undefined ? noHash : known.secretHash);
    if (known === undefined || !matches) {
      throw incorrectKey(maskKey(token), "does not exist; check that it was copied completely, or create a new one");
    }
    if (this.#known.get(known.caller.keyId) === known) this.#verified.set(token, known);
    return this.#getCaller(known);
  }

  #getCaller({ revoked, disabled, expiresAt, caller }: KnownKey): Caller {
    if (revoked) throw incorrectKey(caller.keyId, "was revoked; use another key");
    if (expiresAt !== undefined && expiresAt <= this.#now()) {
      throw incorrectKey(caller.keyId, `expired at ${new Date(expiresAt).toISOString()}; use another key`);
    }
    if (disabled) throw invalidKey("The account of this API key is disabled; contact the operator of this gateway");
    this.#use.note(caller.keyId);
    return caller;
  }

  /** Clears the caches when the store has changed. */
  #dropStale(): void {
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
      return record.then((read) => this.#keep(id, read, revision), storeUnavailable);
    } catch (cause) {
      return storeUnavailable(cause);
    }
  }

  /** A record that was read before a change answers this request and is not cached. */
  #keep(id: string, record: KeyRecord | undefined, revision: number): KnownKey | undefined {
    const found = record === undefined ? undefined : toKnownKey(record, this.#defaults);
    if (revision !== this.#store.revision) return found;
    if (found === undefined) this.#unknown.set(id, true);
    else this.#known.set(id, found);
    return found;
  }
}

/** When the store cannot answer, the caller gets 503 and not 401, and nothing is cached. */
function storeUnavailable(cause: unknown): never {
  throw new GatewayError("unavailable", "The API key could not be checked; try again", { retryAfterMs: 1000, cause });
}

function toKnownKey(record: KeyRecord, defaults: AccountDefaults): KnownKey {
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
  const keyLimits = readKeyLimits(record);
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

/** `undefined` for a key without limits, so that its calls skip the checks. */
function readKeyLimits(record: KeyRecord): KeyLimits | undefined {
  const bounds = toKeyLimits({
    requests_per_minute: record.key_requests_per_minute,
    tokens_per_minute: record.key_tokens_per_minute,
    concurrent_calls: record.key_concurrent_calls,
    budget_nanodollars: record.budget_nanodollars,
  });
  return Object.values(bounds).some((bound) => bound !== undefined) ? bounds : undefined;
}

function invalidKey(message: string): GatewayError {
  return new GatewayError("invalid_api_key", message);
}

/** LiteLLM takes a 401 for an `AuthenticationError` only if it begins as OpenAI's sentence does. */
function incorrectKey(shown: string, problem: string): GatewayError {
  return invalidKey(`Incorrect API key provided: ${shown} ${problem}`);
}

/** A key as OpenAI shows it: enough to tell which one it is. */
function maskKey(token: string): string {
  const end = token.length < 20 ? "" : token.slice(-4);
  return `${token.slice(0, end === "" ? 3 : 8)}***${end}`.replace(/[^\w*-]/g, "?");
}
