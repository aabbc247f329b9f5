import { type Caller, GatewayError, isAccessToken, parseAccessToken } from "../../contract/index.ts";
import type { Store } from "../../db/index.ts";
import { hasChecksum, RefusedKeyError, readIdSecret, type TokenKeys, type TokenSource } from "../../keys/index.ts";
import { LruMap } from "../../lib/lru-map.ts";
import { findAccess, grantQuery, isGood } from "./grants.ts";

const verifiedMax = 20_000;

/** An access token that was verified. */
interface Verified {
  readonly keyId: string;
  readonly expiresAt: number;
  /** The key's caller when the sign-in was last read: a change of the key or the accounts makes another one. */
  readonly base: Caller;
}

interface AccessTokenOptions extends TokenKeys {
  readonly store: Store;
  readonly now: () => number;
}

/** Accepts the access tokens of programs that are signed in: an option of `createAccounts`. */
export function accessTokenSource(
  options: Omit<AccessTokenOptions, keyof TokenKeys>,
): (keys: TokenKeys) => TokenSource {
  return (keys) => new AccessTokens({ ...options, ...keys });
}

/**
 * Accepts access tokens instead of API keys. Each stands for a key, so the key's limits, budgets and networks apply. A
 * sign-in is read again whenever its key is: everything that ends it is announced to all nodes as a change of the key
 * or of accounts.
 */
class AccessTokens implements TokenSource {
  readonly isToken = isAccessToken;
  readonly #options: AccessTokenOptions;
  readonly #verified = new LruMap<Verified>(verifiedMax);
  #idSecret: Promise<string> | undefined;

  constructor(options: AccessTokenOptions) {
    this.#options = options;
  }

  /** Returns synchronously for a token that was verified, where the store is embedded or its key is cached. */
  authenticate(token: string): Caller | Promise<Caller> {
    const verified = this.#verified.get(token);
    if (verified === undefined) return this.#find(token);
    if (verified.expiresAt <= this.#options.now()) throw expired(verified.base);
    const base = this.#options.callerOf(verified.keyId);
    if (base instanceof Promise) return base.then((base) => this.#use(token, verified, base));
    return this.#use(token, verified, base);
  }

  #use(token: string, { base: before }: Verified, base: Caller | undefined): Caller | Promise<Caller> {
    if (base === undefined) throw unknownToken();
    return base === before ? base : this.#check(token, base);
  }

  /** Made-up ids have no checksum of this store, and are refused without a look-up. */
  async #find(token: string): Promise<Caller> {
    const { store, callerOf } = this.#options;
    const parts = parseAccessToken(token);
    if (parts === undefined || !hasChecksum(parts.id, await this.#readIdSecret())) throw unknownToken();
    const grant = await this.#read(store, parts.id);
    const base = grant === undefined ? undefined : await callerOf(grant.key_id);
    if (base === undefined) throw unknownToken();
    return this.#check(token, base);
  }

  /** Reads the sign-in after its key: what ends it later makes that key stale. */
  async #check(token: string, base: Caller): Promise<Caller> {
    const { store, now } = this.#options;
    const { id = "", secret = "" } = parseAccessToken(token) ?? {};
    const grant = await this.#read(store, id);
    const expiresAt = grant && findAccess(grant, secret);
    if (grant === undefined || expiresAt === undefined || grant.key_id !== base.keyId) throw unknownToken();
    if (expiresAt <= now()) throw expired(base);
    if (!isGood(grant, now())) {
      throw new RefusedKeyError("Your sign-in has ended: you or your account were disabled or removed", base);
    }
    this.#verified.set(token, { keyId: base.keyId, expiresAt, base });
    return base;
  }

  async #read(store: Store, id: string) {
    try {
      return (await store.ask(grantQuery(store.db, id).compile()))[0];
    } catch (cause) {
      throw new GatewayError("unavailable", "The token could not be checked; try again", {
        retryAfterMs: 1000,
        cause,
      });
    }
  }

  #readIdSecret(): Promise<string> {
    this.#idSecret ??= readIdSecret(this.#options.store).catch((error) => {
      this.#idSecret = undefined;
      throw error;
    });
    return this.#idSecret;
  }
}

function expired(owner: Caller): GatewayError {
  return new RefusedKeyError("The access token has expired; refresh it, or sign in again", owner);
}

/** It says nothing of whether the token was ever good. */
function unknownToken(): GatewayError {
  return new GatewayError("invalid_api_key", "The access token is wrong or its sign-in has ended; sign in again");
}
