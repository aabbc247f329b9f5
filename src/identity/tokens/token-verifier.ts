import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import { GatewayError, quoteValue } from "../../contract/index.ts";
import { checkTokenBounds } from "../bounded-documents.ts";
import { type CheckedClaims, checkClaims, readClaim } from "../read-claim.ts";
import { algorithms, refusedToken, type TokenIssuer } from "./issuers.ts";
import { type ReadDocument, SigningKeys } from "./signing-keys.ts";

/** Clocks of issuers may be late or early by this. */
const skewSeconds = 60;
/** Maximum number of signatures checked at once; others wait, so made-up tokens use no more CPU than these. */
const runningMax = 8;
const waitingMax = 1_000;
/** Maximum number of keys tried for a token without a key id. */
const triedMax = 5;

/** A token whose signature, issuer, audience and times are valid. */
export interface VerifiedClaims {
  readonly issuer: TokenIssuer;
  readonly claims: CheckedClaims & { readonly exp: number };
}

/** Checks tokens of the issuers that the operator configured. */
export class TokenVerifier {
  readonly #read: ReadDocument;
  readonly #now: () => number;
  readonly #keys = new WeakMap<TokenIssuer, SigningKeys>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(read: ReadDocument, now: () => number) {
    this.#read = read;
    this.#now = now;
  }

  /** @throws {GatewayError} `invalid_api_key`, or `unavailable` when the issuer's keys cannot be had or too many wait. */
  async verify(token: string, issuers: readonly TokenIssuer[]): Promise<VerifiedClaims> {
    const { issuer, alg } = readUnverified(token, issuers);
    const accepted = issuer.algorithms ?? algorithms;
    if (!accepted.includes(alg))
      throw refusedToken(`its algorithm ${quoteValue(alg)} is not accepted from ${issuer.issuer}`);
    await this.#takeTurn();
    try {
      const claims: unknown = await this.#check(token, issuer, [...accepted]);
      checkClaims(claims, refusedToken);
      checkRequired(issuer, claims);
      return { issuer, claims: claims as VerifiedClaims["claims"] };
    } catch (error) {
      throw toRefusal(error, issuer);
    } finally {
      this.#endTurn();
    }
  }

  async #check(token: string, issuer: TokenIssuer, accepted: string[]): Promise<JWTPayload> {
    const options = {
      issuer: issuer.issuer,
      audience: [...issuer.audiences],
      algorithms: accepted,
      clockTolerance: skewSeconds,
      currentDate: new Date(this.#now()),
      requiredClaims: ["exp", "sub"],
    };
    let keys = this.#keys.get(issuer);
    if (keys === undefined) {
      keys = new SigningKeys(issuer, this.#read, this.#now);
      this.#keys.set(issuer, keys);
    }
    try {
      return (await jwtVerify(token, keys.find, options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      let triesLeft = triedMax;
      for await (const key of error) {
        if (triesLeft-- === 0) break;
        const find: JWTVerifyGetKey = async () => key;
        const verified = await jwtVerify(token, find, options).catch((cause) => {
          if (cause instanceof errors.JWSSignatureVerificationFailed) return undefined;
          throw cause;
        });
        if (verified !== undefined) return verified.payload;
      }
      throw new errors.JWSSignatureVerificationFailed();
    }
  }

  #takeTurn(): Promise<void> | undefined {
    if (this.#running < runningMax) {
      this.#running += 1;
      return undefined;
    }
    if (this.#waiting.length >= waitingMax) {
      throw new GatewayError("unavailable", "Too many tokens are being checked; try again", { retryAfterMs: 1000 });
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #endTurn(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }
}

/** Header and issuer of a token that is not verified yet. It decides nothing else before that. */
function readUnverified(token: string, issuers: readonly TokenIssuer[]): { issuer: TokenIssuer; alg: string } {
  let iss: unknown;
  let alg: unknown;
  try {
    checkTokenBounds(token);
    iss = decodeJwt(token).iss;
    alg = decodeProtectedHeader(token).alg;
  } catch {
    throw refusedToken("it is malformed");
  }
  const issuer = issuers.find((one) => one.issuer === iss);
  if (issuer === undefined) throw refusedToken(`its issuer ${quoteValue(iss)} is not accepted by this gateway`);
  return { issuer, alg: typeof alg === "string" ? alg : "none" };
}

function checkRequired(issuer: TokenIssuer, claims: CheckedClaims): void {
  for (const [name, accepted] of Object.entries(issuer.require ?? {})) {
    const value = readClaim(claims, name);
    const values = Array.isArray(value) ? value : [value];
    if (values.some((one) => typeof one !== "object" && accepted.includes(String(one)))) continue;
    throw refusedToken(`its claim ${name} does not have a value that this gateway requires from ${issuer.issuer}`);
  }
}

function toRefusal(error: unknown, { issuer }: TokenIssuer): unknown {
  if (error instanceof errors.JWTExpired) return refusedToken("it has expired; get a new one from its issuer");
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === "nbf") return refusedToken("it is not valid yet");
    if (error.claim === "aud") return refusedToken(`its audience is not accepted from ${issuer}`);
    return refusedToken(`its claim ${error.claim} is ${error.reason === "missing" ? "missing" : "invalid"}`);
  }
  if (error instanceof errors.JWKSNoMatchingKey) return refusedToken(`${issuer} has no key that matches it`);
  if (error instanceof errors.JWSSignatureVerificationFailed) return refusedToken("its signature is wrong");
  if (error instanceof errors.JOSEError || error instanceof TypeError) return refusedToken("it is malformed", error);
  return error;
}
