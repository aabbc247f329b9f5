import { type Administrator, recordAudit } from "../../audit/index.ts";
import { GatewayError, isIssuer } from "../../contract/index.ts";
import type { Store } from "../../db/index.ts";
import { parseJson } from "../../lib/json.ts";

/** Uses of a claim of a token. */
export const claimUses = ["account", "team", "user", "models", "budget", "endUser"] as const;

export type ClaimUse = (typeof claimUses)[number];

/** Signatures by a private key. `none` and those by a shared secret are no proof of anything here. */
export const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
] as const;

/** An issuer whose tokens (JWT) are accepted instead of API keys. */
export interface TokenIssuer {
  /** The claim `iss`, exactly as the tokens have it; https, or http on this machine. */
  readonly issuer: string;
  /** URL of its public keys; absent: the URL in its discovery document. */
  readonly jwksUri?: string;
  /** Its public keys themselves, as a JSON Web Key Set, for an issuer that the gateway cannot reach. */
  readonly jwks?: { readonly keys: readonly Record<string, unknown>[] };
  /** Accepted audiences; the claim `aud` must contain one. */
  readonly audiences: readonly string[];
  /** Accepted signature algorithms; absent: all of {@link algorithms}. */
  readonly algorithms?: readonly string[];
  /** Names of claims, or paths to them with dots, by their use. `account` or `team` is needed. */
  readonly claims: Readonly<Partial<Record<ClaimUse, string>>>;
  /** Accounts by the value of the claim, as ids or e-mails; a value that is not listed names its account itself. */
  readonly accounts?: Readonly<Record<string, string>>;
  /** Claims that must have one of these values. */
  readonly require?: Readonly<Record<string, readonly string[]>>;
  /** Treatment of a token whose account does not exist; absent: `reject`. */
  readonly onUnknown?: "reject" | "create";
}

/** Whether a bearer is a JSON Web Token, well-formed or not, rather than an API key: its header is a JSON object in base64. */
export function isToken(bearer: string): boolean {
  return bearer.startsWith("ey") && bearer.split(".", 4).length === 3;
}

const issuersMax = 50;
const textLengthMax = 65_536;
const listMax = 200;
const fields = new Set([
  "issuer",
  "jwksUri",
  "jwks",
  "audiences",
  "algorithms",
  "claims",
  "accounts",
  "require",
  "onUnknown",
]);

/**
 * Reads a JSON list of issuers.
 *
 * @throws {GatewayError} `invalid_request` with the place of the fault, such as `[0].audiences`.
 */
export function parseTokenIssuers(text: string): readonly TokenIssuer[] {
  if (text.length > textLengthMax) throw fault("", `it has ${text.length} characters, at most ${textLengthMax}`);
  const value = parseJson(text, "file");
  if (value === undefined) throw fault("", "it is not JSON");
  if (!Array.isArray(value)) throw fault("", "it is not a list of issuers");
  if (value.length > issuersMax) throw fault("", `it has ${value.length} issuers, at most ${issuersMax}`);
  const seen = new Set<string>();
  for (const [index, entry] of value.entries()) {
    checkIssuer(`[${index}]`, entry);
    if (seen.has(entry.issuer)) throw fault(`[${index}].issuer`, `${entry.issuer} is listed twice`);
    seen.add(entry.issuer);
  }
  return value;
}

/**
 * Members that only a private or shared JSON Web Key has (RFC 7518, 6.2.2, 6.3.2, 6.4): every reader of the issuers
 * would see them.
 */
const secretMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

function checkIssuer(at: string, entry: unknown): asserts entry is TokenIssuer {
  if (!isObject(entry)) throw fault(at, "it is not an object");
  const unknown = Object.keys(entry).find((name) => !fields.has(name));
  if (unknown !== undefined)
    throw fault(`${at}.${unknown}`, `unknown field; expected one of ${[...fields].join(", ")}`);
  const { issuer, jwksUri, jwks, audiences, claims, accounts, require, onUnknown } = entry;
  const address = "an https address without user name, query or fragment; http only on this machine";
  if (typeof issuer !== "string" || !isIssuer(issuer)) throw fault(`${at}.issuer`, `expected ${address}`);
  if (jwksUri !== undefined && (typeof jwksUri !== "string" || !isKeysAddress(jwksUri))) {
    throw fault(`${at}.jwksUri`, "expected an https address; http only on this machine");
  }
  checkKeys(`${at}.jwks`, jwks);
  if (jwks !== undefined && jwksUri !== undefined) throw fault(`${at}.jwks`, "send jwks or jwksUri, and not both");
  checkTexts(`${at}.audiences`, audiences);
  if (entry.algorithms !== undefined) {
    checkTexts(`${at}.algorithms`, entry.algorithms);
    const wrong = entry.algorithms.find((name) => !(algorithms as readonly string[]).includes(name));
    if (wrong !== undefined) throw fault(`${at}.algorithms`, `${wrong} is not accepted: ${algorithms.join(", ")}`);
  }
  checkMap(`${at}.claims`, claims, (place, value) => checkText(place, value));
  const odd = Object.keys(claims).find((use) => !(claimUses as readonly string[]).includes(use));
  if (odd !== undefined) throw fault(`${at}.claims.${odd}`, `unknown; expected one of ${claimUses.join(", ")}`);
  if (claims.account === undefined && claims.team === undefined) {
    throw fault(`${at}.claims`, "account or team is missing; expected the claim that names the paying account or team");
  }
  if (accounts !== undefined) checkMap(`${at}.accounts`, accounts, (place, value) => checkText(place, value));
  if (require !== undefined) checkMap(`${at}.require`, require, (place, value) => checkTexts(place, value));
  if (onUnknown !== undefined && onUnknown !== "reject" && onUnknown !== "create") {
    throw fault(`${at}.onUnknown`, "expected reject or create");
  }
}

function checkKeys(at: string, jwks: unknown): void {
  if (jwks === undefined) return;
  if (!(isObject(jwks) && Array.isArray(jwks.keys) && jwks.keys.every(isObject))) {
    throw fault(at, 'expected a JSON Web Key Set such as {"keys": […]}');
  }
  const isSecret = jwks.keys.some((key: object) => secretMembers.some((name) => name in key));
  if (isSecret) throw fault(at, "expected public keys alone: one of them is private or shared");
}

/** URLs of key sets may have a query, which some identity providers use. */
function isKeysAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && url.username + url.password + url.hash === "" && isIssuer(url.origin);
}

function checkMap(
  at: string,
  value: unknown,
  check: (place: string, member: unknown) => void,
): asserts value is Record<string, unknown> {
  if (!isObject(value)) throw fault(at, "it is not an object");
  const entries = Object.entries(value);
  if (entries.length > listMax) throw fault(at, `it has ${entries.length} members, at most ${listMax}`);
  for (const [name, member] of entries) check(`${at}.${name}`, member);
}

function checkTexts(at: string, value: unknown): asserts value is string[] {
  if (!Array.isArray(value) || value.length === 0) throw fault(at, "expected a list of at least one text");
  if (value.length > listMax) throw fault(at, `it has ${value.length} members, at most ${listMax}`);
  for (const [index, member] of value.entries()) checkText(`${at}[${index}]`, member);
}

function checkText(at: string, value: unknown): asserts value is string {
  if (typeof value !== "string" || value === "" || value.length > 500) {
    throw fault(at, "expected a text of 1 to 500 characters");
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fault(at: string, problem: string): GatewayError {
  const place = at === "" ? "The list of issuers" : `issuers${at}`;
  return new GatewayError("invalid_request", `${place}: ${problem}`, { param: `issuers${at}` });
}

/** The row of the table `settings` with the issuers that were set on the dashboard. */
const issuersSetting = "jwt_issuers";

/** The active issuers, and whether the environment set them; the dashboard then cannot change them. */
export class TokenIssuers {
  readonly isFromEnvironment: boolean;
  readonly #store: Store;
  #issuers: readonly TokenIssuer[];
  #text = "[]";
  /** The store's revision when the issuers were read. */
  #revision: number | undefined;

  /** @param issuers The issuers of the environment; absent: the issuers in the store apply. */
  constructor(store: Store, issuers: readonly TokenIssuer[] | undefined) {
    this.#store = store;
    this.#issuers = issuers ?? [];
    this.isFromEnvironment = issuers !== undefined;
  }

  /** Returns the same list as long as nothing changed: callers may compare it by identity. */
  read(): readonly TokenIssuer[] | Promise<readonly TokenIssuer[]> {
    if (this.isFromEnvironment || this.#revision === this.#store.revision) return this.#issuers;
    return this.#readStored();
  }

  async #readStored(): Promise<readonly TokenIssuer[]> {
    const { db, revision } = this.#store;
    const query = db.selectFrom("settings").select("value").where("name", "=", issuersSetting);
    const [row] = await this.#store.ask(query.compile());
    const text = row?.value ?? "[]";
    if (text !== this.#text) {
      this.#issuers = parseTokenIssuers(text);
      this.#text = text;
    }
    this.#revision = revision;
    return this.#issuers;
  }

  /**
   * Stores the issuers of the dashboard. An issuer can authorize calls for every account, so only owners may do this.
   *
   * @throws {GatewayError} `invalid_request`, or `conflict` where the environment sets them.
   */
  async write(by: Administrator, text: string, now: number): Promise<readonly TokenIssuer[]> {
    if (this.isFromEnvironment) {
      throw new GatewayError("conflict", "JWT_ISSUERS sets the issuers; change it there");
    }
    const issuers = parseTokenIssuers(text);
    const value = JSON.stringify(issuers);
    const detail = {
      issuers: issuers
        .map(({ issuer }) => issuer)
        .join(", ")
        .slice(0, 500),
    };
    await this.#store.change(async (db) => {
      await db
        .insertInto("settings")
        .values({ name: issuersSetting, value })
        .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
        .execute();
      const entry = { accountId: by.accountId, action: "tokens.issuers", subject: "gateway", detail };
      await recordAudit({ db }, entry, now);
    });
    return this.read();
  }
}

/** LiteLLM takes a 401 for an `AuthenticationError` only if it begins as OpenAI's message does. */
export function refusedToken(problem: string, cause?: unknown): GatewayError {
  return new GatewayError("invalid_api_key", `Incorrect API key provided: the token is refused, ${problem}`, { cause });
}
