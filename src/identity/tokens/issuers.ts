import { Type } from "@sinclair/typebox";
import { type Administrator, recordAudit } from "../../audit/index.ts";
import { GatewayError, isIssuer, optional, quoteValue } from "../../contract/index.ts";
import type { Store } from "../../db/index.ts";
import { defineFields } from "../../lib/fields.ts";
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

/** The issuers that a gateway can have. */
export const issuersMax = 50;
const textLengthMax = 65_536;
const listMax = 200;

const Address = Type.String({ minLength: 1, maxLength: 2000 });
const Text = Type.String({ minLength: 1, maxLength: 500 });
const Texts = Type.Array(Text, { minItems: 1, maxItems: listMax });

/** The fields of an issuer. {@link parseTokenIssuers} says more than these schemas: addresses, and which fields go together. */
export const issuerFields = defineFields<TokenIssuer>()({
  issuer: { schema: Address, column: "issuer" },
  audiences: {
    schema: Type.Array(Text, { minItems: 1, maxItems: listMax, description: "One of them must be in the claim `aud`" }),
    column: "audiences",
    changes: true,
  },
  claims: {
    schema: Type.Record(Type.String(), Text, {
      description: "Names of the claims for the paying account and the attributes of its calls",
    }),
    column: "claims",
    changes: true,
  },
  accounts: {
    schema: optional(Type.Record(Type.String(), Text, { description: "Accounts by the value of the claim" })),
    column: "accounts",
    changes: true,
  },
  require: {
    schema: optional(
      Type.Record(Type.String(), Texts, { description: "Claims that must have one of these values, as lists" }),
    ),
    column: "require",
    changes: true,
  },
  onUnknown: {
    schema: optional(Type.Union([Type.Literal("reject"), Type.Literal("create")])),
    column: "onUnknown",
    changes: true,
    flag: "on_unknown",
  },
  jwksUri: { schema: optional(Address), column: "jwksUri", changes: true, flag: "jwks_uri" },
  jwks: {
    schema: optional(Type.Object({ keys: Type.Array(Type.Record(Type.String(), Type.Unknown())) })),
    column: "jwks",
    changes: true,
  },
  algorithms: { schema: optional(Texts), column: "algorithms", changes: true },
});

/**
 * Reads a JSON list of issuers. A field that is `null` is absent.
 *
 * @throws {GatewayError} `invalid_request` with the place of the fault, such as `issuers[0].audiences`.
 */
export function parseTokenIssuers(text: string): readonly TokenIssuer[] {
  if (text.length > textLengthMax) throw fault("", `it has ${text.length} characters, at most ${textLengthMax}`);
  const value = parseJson(text, "file");
  if (value === undefined) throw fault("", "it is not JSON");
  if (!Array.isArray(value)) throw fault("", "it is not a list of issuers");
  if (value.length > issuersMax) throw fault("", `it has ${value.length} issuers, at most ${issuersMax}`);
  const seen = new Set<string>();
  return value.map((entry, index) => {
    const at = `issuers[${index}]`;
    const read = readIssuer(at, entry);
    if (seen.has(read.issuer)) throw fault(`${at}.issuer`, `${read.issuer} is listed twice`);
    seen.add(read.issuer);
    return read;
  });
}

/**
 * Members that only a private or shared JSON Web Key has (RFC 7518, 6.2.2, 6.3.2, 6.4): every reader of the issuers
 * would see them.
 */
const secretMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

function readIssuer(at: string, given: unknown): TokenIssuer {
  if (!isObject(given)) throw fault(at, "it is not an object");
  const entry = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  checkIssuer(at, entry);
  return entry;
}

function checkIssuer(at: string, entry: object): asserts entry is TokenIssuer {
  const unknown = Object.keys(entry).find((name) => !Object.hasOwn(issuerFields, name));
  if (unknown !== undefined) {
    throw fault(`${at}.${unknown}`, `unknown field; expected one of ${Object.keys(issuerFields).join(", ")}`);
  }
  const {
    issuer,
    jwksUri,
    jwks,
    audiences,
    algorithms: names,
    claims,
    accounts,
    require,
    onUnknown,
  } = entry as Partial<Record<string, unknown>>;
  const address = "an https address without user name, query or fragment; http only on this machine";
  if (typeof issuer !== "string" || !isIssuer(issuer)) throw fault(`${at}.issuer`, `expected ${address}`);
  if (jwksUri !== undefined && (typeof jwksUri !== "string" || !isKeysAddress(jwksUri))) {
    throw fault(`${at}.jwksUri`, "expected an https address; http only on this machine");
  }
  checkKeys(`${at}.jwks`, jwks);
  if (jwks !== undefined && jwksUri !== undefined) throw fault(`${at}.jwks`, "send jwks or jwksUri, and not both");
  checkTexts(`${at}.audiences`, audiences);
  if (names !== undefined) {
    checkTexts(`${at}.algorithms`, names);
    const wrong = names.find((name) => !(algorithms as readonly string[]).includes(name));
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
  const place = at === "" ? "The list of issuers" : at.replace(/^\./, "");
  return new GatewayError("invalid_request", `${place}: ${problem}`, { param: at === "" ? "issuers" : place });
}

/** The row of the table `settings` with the issuers that were set on the dashboard. */
const issuersSetting = "jwt_issuers";

/** The active issuers. Whoever decides whose tokens are accepted may make calls for every account: owners alone change them. */
export class TokenIssuers {
  /** Whether JWT_ISSUERS sets them; nothing else can change them then. */
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

  /** Returns the issuer whose tokens have this claim `iss`. @throws {GatewayError} `not_found` */
  async find(issuer: string): Promise<TokenIssuer> {
    return findIssuer(await this.read(), issuer);
  }

  /** @throws {GatewayError} `forbidden`, or `conflict` where the environment sets them. */
  expectChangeable(by: Administrator): void {
    if (by.role !== "owner") {
      throw new GatewayError("forbidden", "Only owners and their admin keys can change issuers");
    }
    if (this.isFromEnvironment) {
      throw new GatewayError("conflict", "JWT_ISSUERS sets the issuers; change it there");
    }
  }

  /**
   * Stores issuers in place of those that are stored.
   *
   * @param update Returns all of them, given those that are stored.
   * @returns Those that were written.
   * @throws {GatewayError} `invalid_request`, `not_found`, `forbidden`, `conflict`
   */
  async write(
    by: Administrator,
    update: (present: readonly TokenIssuer[]) => readonly unknown[],
    now: number,
  ): Promise<readonly TokenIssuer[]> {
    this.expectChangeable(by);
    return await this.#store.change(async (db) => {
      // The write that changes nothing makes other writers wait for this one.
      const stored = await db
        .insertInto("settings")
        .values({ name: issuersSetting, value: "[]" })
        .onConflict((conflict) => conflict.column("name").doUpdateSet({ name: issuersSetting }))
        .returning("value")
        .executeTakeFirstOrThrow();
      const issuers = parseTokenIssuers(JSON.stringify(update(parseTokenIssuers(stored.value))));
      const value = JSON.stringify(issuers);
      await db.updateTable("settings").set({ value }).where("name", "=", issuersSetting).execute();
      const names = issuers.map(({ issuer }) => issuer).join(", ");
      const detail = { issuers: names.slice(0, 500) };
      const entry = { accountId: by.accountId, action: "tokens.issuers", subject: "gateway", detail };
      await recordAudit({ db }, entry, now);
      return issuers;
    });
  }

  /** Adds an issuer. @throws {GatewayError} As {@link TokenIssuers.write}. */
  async add(by: Administrator, fields: object, now: number): Promise<TokenIssuer> {
    const added = readIssuer("", fields);
    const update = (present: readonly TokenIssuer[]) => {
      if (!present.some(({ issuer }) => issuer === added.issuer)) return [...present, added];
      throw new GatewayError("conflict", `The issuer ${added.issuer} already exists`, { param: "issuer" });
    };
    return findIssuer(await this.write(by, update, now), added.issuer);
  }

  /** Changes fields of an issuer; `null` removes one. @throws {GatewayError} As {@link TokenIssuers.write}. */
  async change(by: Administrator, issuer: string, changes: object, now: number): Promise<TokenIssuer> {
    const update = (present: readonly TokenIssuer[]) => {
      const changed = readIssuer("", { ...findIssuer(present, issuer), ...changes });
      return present.map((one) => (one.issuer === issuer ? changed : one));
    };
    return findIssuer(await this.write(by, update, now), issuer);
  }

  /** Removes an issuer: its tokens are refused at once. @throws {GatewayError} As {@link TokenIssuers.write}. */
  async remove(by: Administrator, issuer: string, now: number): Promise<void> {
    const update = (present: readonly TokenIssuer[]) => {
      const removed = findIssuer(present, issuer);
      return present.filter((one) => one !== removed);
    };
    await this.write(by, update, now);
  }
}

function findIssuer(issuers: readonly TokenIssuer[], issuer: string): TokenIssuer {
  const match = issuers.find((one) => one.issuer === issuer);
  if (match !== undefined) return match;
  throw new GatewayError("not_found", `No issuer is called ${quoteValue(issuer)}`);
}

/** LiteLLM takes a 401 for an `AuthenticationError` only if it begins as OpenAI's message does. */
export function refusedToken(problem: string, cause?: unknown): GatewayError {
  return new GatewayError("invalid_api_key", `Incorrect API key provided: the token is refused, ${problem}`, { cause });
}
