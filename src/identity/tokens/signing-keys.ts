import { createLocalJWKSet, errors, type JWTVerifyGetKey } from "jose";
import { GatewayError, isIssuer } from "../../contract/index.ts";
import type { TokenIssuer } from "./issuers.ts";

/** Reads a JSON document of at most 256 kB from the issuer. Rejects when it cannot be had. */
export type ReadDocument = (url: string) => Promise<unknown>;

/** How long keys are used before they are read again. */
const freshMs = 600_000;
/** How long keys that were read are used while the issuer cannot be reached: a key that was stolen ends after that. */
const staleMsMax = 3_600_000;
/** Between two requests to an issuer, whatever tokens come. */
const pauseMs = 10_000;
const keysMax = 100;
/** 8,192 bits in base64: a longer modulus would take too much time for each signature. */
const modulusLengthMax = 1_366;

interface KeySet {
  readonly find: JWTVerifyGetKey;
  readonly readAt: number;
}

/**
 * The public keys of one issuer: configured, or read when they are needed and kept. Whatever tokens claim, the issuer
 * is queried at most once in ten seconds.
 */
export class SigningKeys {
  readonly #issuer: TokenIssuer;
  readonly #read: ReadDocument;
  readonly #now: () => number;
  #keys: KeySet | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;
  #failure: unknown;
  #pending: Promise<void> | undefined;

  constructor(issuer: TokenIssuer, read: ReadDocument, now: () => number) {
    this.#issuer = issuer;
    this.#read = read;
    this.#now = now;
    if (issuer.jwks !== undefined) this.#keys = { find: toFinder(issuer.jwks), readAt: Number.POSITIVE_INFINITY };
  }

  /**
   * Finds the key of a token by its header, for jose.
   *
   * @throws {GatewayError} `unavailable` when the keys are not known and the issuer does not give them.
   * @throws {errors.JWKSNoMatchingKey} When the issuer has no such key.
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const keys = await this.#get();
    try {
      return await keys.find(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || this.#issuer.jwks !== undefined) throw error;
      // The issuer may have a new key since its keys were read.
      if (this.#mayAsk()) await this.#refresh();
      if (this.#failure !== undefined) throw this.#unreachable();
      const latest = this.#keys ?? keys;
      if (latest === keys) throw error;
      return latest.find(header, token);
    }
  };

  async #get(): Promise<KeySet> {
    const keys = this.#keys;
    const age = keys === undefined ? Number.POSITIVE_INFINITY : this.#now() - keys.readAt;
    if (keys !== undefined && age < freshMs) return keys;
    if (keys !== undefined && age < staleMsMax) {
      // Calls do not wait for keys that are only renewed.
      if (this.#mayAsk()) void this.#refresh();
      return keys;
    }
    if (this.#pending !== undefined || this.#mayAsk()) await this.#refresh();
    const latest = this.#keys;
    if (latest === undefined || this.#now() - latest.readAt >= staleMsMax) throw this.#unreachable();
    return latest;
  }

  #mayAsk(): boolean {
    return this.#pending === undefined && this.#now() - this.#askedAt >= pauseMs;
  }

  /** Reads the keys; concurrent calls share the read. It never rejects: {@link #unreachable} reports a failure. */
  #refresh(): Promise<void> {
    this.#pending ??= this.#ask().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #ask(): Promise<void> {
    this.#askedAt = this.#now();
    try {
      const uri = this.#issuer.jwksUri ?? (await this.#discover());
      this.#keys = { find: toFinder(await this.#read(uri)), readAt: this.#now() };
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error;
    }
  }

  /** The address of the keys by OpenID Connect Discovery. */
  async #discover(): Promise<string> {
    const { issuer } = this.#issuer;
    const document = await this.#read(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
    const { issuer: own, jwks_uri: uri } = (document ?? {}) as Record<string, unknown>;
    if (own !== issuer) throw new Error(`Its discovery document is of ${JSON.stringify(own)}`);
    const url = typeof uri === "string" ? URL.parse(uri) : null;
    if (url === null || !isIssuer(url.origin)) throw new Error(`Its jwks_uri is ${JSON.stringify(uri)}`);
    return url.href;
  }

  #unreachable(): GatewayError {
    const message = `The keys of the issuer ${this.#issuer.issuer} could not be read; try again`;
    const retryAfterMs = Math.max(1000, this.#askedAt + pauseMs - this.#now());
    return new GatewayError("unavailable", message, { retryAfterMs, cause: this.#failure });
  }
}

/** Finds signing keys of a key set: no shared secrets, none for encryption. @throws {Error} */
function toFinder(set: unknown): JWTVerifyGetKey {
  const { keys } = (set ?? {}) as { keys?: unknown };
  if (!Array.isArray(keys)) throw new Error("Its key set has no list of keys");
  const usable = keys.slice(0, keysMax).filter(isUsable);
  return createLocalJWKSet({ keys: usable });
}

function isUsable(key: unknown): boolean {
  if (typeof key !== "object" || key === null) return false;
  const { kty, use, n, d } = key as Record<string, unknown>;
  if (kty !== "RSA" && kty !== "EC" && kty !== "OKP") return false;
  // A set that gives its private keys away proves nothing.
  if (d !== undefined || (use !== undefined && use !== "sig")) return false;
  return kty !== "RSA" || (typeof n === "string" && n.length <= modulusLengthMax);
}
