import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { type Administrator, createAudited, tokenIssuer } from "../../audit/index.ts";
import { type BudgetPeriod, type Caller, GatewayError, parseUsd, quoteValue, toName } from "../../contract/index.ts";
import { ownBudgetId, type Store } from "../../db/index.ts";
import { createTokenKey, type TokenKeys, type TokenSource, tokenKeyId } from "../../keys/index.ts";
import { type Account, accountActions, createProject, findAccounts, giveToHolder } from "../../tenants/index.ts";
import { readClaim, readEmailVerified } from "../read-claim.ts";
import { isToken, refusedToken, type TokenIssuer, type TokenIssuers } from "./issuers.ts";
import type { ReadDocument } from "./signing-keys.ts";
import type { TokenVerifier, VerifiedClaims } from "./token-verifier.ts";

/** Tokens that were verified, by the hash of all of their text. */
const verifiedMax = 20_000;
/** A token is checked again after this time: otherwise a token with a withdrawn key would stay valid to its end. */
const verifiedMsMax = 300_000;
const subjectLengthMax = 300;
const modelsMax = 200;
const budgetPeriod: BudgetPeriod = "month";

/** Rights that a token grants to its calls. */
interface TokenGrant {
  readonly issuers: readonly TokenIssuer[];
  readonly goodUntil: number;
  /** The key that represents its subject in its account. */
  readonly keyId: string;
  readonly models: ReadonlySet<string> | undefined;
  readonly budgetNanodollars: number | undefined;
  readonly token: NonNullable<Caller["token"]>;
  /** The key's caller that {@link TokenGrant.caller} was made of. */
  base?: Caller;
  caller?: Caller;
}

interface TokenOptions extends TokenKeys {
  readonly store: Store;
  readonly issuers: TokenIssuers;
  readonly readDocument: ReadDocument;
  /** Resolves the names of models in a claim to ids; some may be unknown. Absent: claims contain ids. */
  readonly resolveModels?: ((names: readonly string[], issuer: string) => readonly string[]) | undefined;
  readonly now: () => number;
}

/** Accepts the tokens of these issuers: an option of `createAccounts`. */
export function tokenSource(options: Omit<TokenOptions, keyof TokenKeys>): (keys: TokenKeys) => TokenSource {
  return (keys) => new TokenAuthenticator({ ...options, ...keys });
}

/**
 * Accepts tokens (JWT) instead of API keys. Each subject of an issuer has a key in the account named by its claims. It
 * is created at the subject's first call and has no secret. So tokens have the limits, budgets, networks, usage,
 * request log and revocation of keys.
 */
class TokenAuthenticator implements TokenSource {
  readonly isToken = isToken;
  readonly #options: TokenOptions;
  #verifier: Promise<TokenVerifier> | undefined;
  readonly #verified = new LRUCache<string, TokenGrant>({ max: verifiedMax });
  readonly #pending = new Map<string, Promise<TokenGrant>>();

  constructor(options: TokenOptions) {
    this.#options = options;
  }

  /** Returns synchronously for a token that is known, where the store is embedded or its key is cached. */
  authenticate(token: string): Caller | Promise<Caller> {
    const issuers = this.#options.issuers.read();
    if (issuers instanceof Promise) return issuers.then((list) => this.#authenticate(token, list), storeUnavailable);
    return this.#authenticate(token, issuers);
  }

  #authenticate(token: string, issuers: readonly TokenIssuer[]): Caller | Promise<Caller> {
    const hash = createHash("sha256").update(token).digest("base64");
    const grant = this.#verified.get(hash);
    if (grant === undefined || grant.issuers !== issuers || grant.goodUntil <= this.#options.now()) {
      return this.#verify(hash, token, issuers);
    }
    const base = this.#options.callerOf(grant.keyId);
    if (base instanceof Promise) return base.then((caller) => this.#use(hash, token, { grant, base: caller }));
    return this.#use(hash, token, { grant, base });
  }

  #use(
    hash: string,
    token: string,
    { grant, base }: { grant: TokenGrant; base: Caller | undefined },
  ): Caller | Promise<Caller> {
    // Its key was deleted since.
    if (base === undefined) return this.#verify(hash, token, grant.issuers);
    return toCaller(grant, base);
  }

  async #verify(hash: string, token: string, issuers: readonly TokenIssuer[]): Promise<Caller> {
    let pending = this.#pending.get(hash);
    if (pending === undefined) {
      pending = this.#grant(token, issuers).finally(() => this.#pending.delete(hash));
      this.#pending.set(hash, pending);
    }
    const grant = await pending;
    const base = await this.#options.callerOf(grant.keyId);
    if (base === undefined) throw refusedToken("its key has ended; try again");
    this.#verified.set(hash, grant);
    return toCaller(grant, base);
  }

  async #grant(token: string, issuers: readonly TokenIssuer[]): Promise<TokenGrant> {
    const { store, now, keysMax, readDocument, resolveModels } = this.#options;
    // Loaded at the first token, as most gateways never need it.
    this.#verifier ??= import("./token-verifier.ts").then((module) => new module.TokenVerifier(readDocument, now));
    const verified = await (await this.#verifier).verify(token, issuers);
    const { issuer, claims } = verified;
    const read = (use: keyof TokenIssuer["claims"]) => {
      const name = issuer.claims[use];
      return name === undefined ? undefined : readClaim(claims, name);
    };
    const names = toModels(verified, read("models"));
    const models = names && new Set(resolveModels?.(names, issuer.issuer) ?? names);
    const budgetNanodollars = toBudget(verified, read("budget"));
    const accountId = await findAccountOf(this.#options, verified).catch(toStoreError);
    const user = toText(read("user"));
    const subject = { issuer: issuer.issuer, subject: claims.sub };
    const keyId = tokenKeyId({ ...subject, accountId });
    const row = await store.readKey(keyId);
    if (row === undefined) {
      const fields = { ...subject, accountId, name: toName(user ?? claims.sub) ?? "token", by: tokenIssuer.accountId };
      await createTokenKey(store, fields, { now: now(), keysMax }).catch(toStoreError);
    }
    return {
      issuers,
      goodUntil: Math.min(claims.exp * 1000, now() + verifiedMsMax),
      keyId,
      models,
      budgetNanodollars,
      token: { ...subject, user, endUser: toText(read("endUser")) },
    };
  }
}

/** The key's caller, with the rights in its token. Returns the same object as long as the key is unchanged. */
function toCaller(grant: TokenGrant, base: Caller): Caller {
  if (grant.base === base && grant.caller !== undefined) return grant.caller;
  const { models, budgetNanodollars: budget, token } = grant;
  const caller: Caller = { ...base, token };
  if (models !== undefined) {
    caller.allowedModels = base.allowedModels === undefined ? models : models.intersection(base.allowedModels);
  }
  // A budget set for the key is a decision about this subject, but the budget in the claim is about many.
  const id = ownBudgetId(base.keyId);
  const { budgets = [] } = base;
  if (budget !== undefined && !budgets.some((one) => one.id === id)) {
    const ofClaim = { id, subject: "key", name: base.keyId, limitNanodollars: budget, period: budgetPeriod } as const;
    caller.budgets = [...budgets, ofClaim];
  }
  grant.base = base;
  grant.caller = caller;
  return caller;
}

/** The account that pays: the team of the token's claim, if it has one, else its account. */
async function findAccountOf(
  { store, now }: Pick<TokenOptions, "store" | "now">,
  { issuer, claims }: VerifiedClaims,
): Promise<string> {
  const { team, account: person } = issuer.claims;
  const ofTeam = team === undefined ? undefined : toText(readClaim(claims, team));
  const claim = ofTeam === undefined ? person : team;
  const value = ofTeam ?? (person === undefined ? undefined : toText(readClaim(claims, person)));
  if (claim === undefined || value === undefined) {
    throw refusedToken(`its claim ${person ?? team}, which names the account that pays, is missing or not a string`);
  }
  const isVerified = readEmailVerified(claims, claim);
  if (isVerified === false) throw refusedToken(`its claim ${claim}_verified says that its e-mail is not verified`);
  const accounts = issuer.accounts ?? {};
  const name = Object.hasOwn(accounts, value) ? (accounts[value] as string) : value;
  const account = await readAccount(store, issuer, name);
  if (account !== undefined && (account.holder !== "claimed" || account.id === name)) return account.id;
  if (account === undefined && issuer.onUnknown === "create") return createAccountOf(store, { issuer, name, now });
  // As with single sign-on, an account merely claimed by another person counts as missing: if it would be created, it
  // is taken back.
  const isTheirs = isVerified === true && name === value;
  if (account !== undefined && isTheirs && issuer.onUnknown === "create") {
    const { id: accountId } = account;
    await store.change((db) => giveToHolder(db, { accountId, by: tokenIssuer.accountId }, now()));
    return accountId;
  }
  if (account === undefined) throw refusedToken(`its account ${quoteValue(name)} does not exist here`);
  const problem = "is not verified here; an operator can verify it by an invitation";
  throw refusedToken(`the e-mail of its account ${quoteValue(name)} ${problem}`);
}

/**
 * Finds an account by its id or e-mail, or the account that was created for this name. Names of teams are not looked
 * up: any user who may create a team could choose that name and see the calls of others.
 */
async function readAccount(store: Store, issuer: TokenIssuer, name: string): Promise<Account | undefined> {
  const accounts = await findAccounts(store, [name, addressOf(issuer, name)]);
  return accounts.get(name) ?? accounts.get(addressOf(issuer, name));
}

/** The address of an account that was created for a claim's value that is no e-mail. */
function addressOf({ issuer }: TokenIssuer, name: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([issuer, name]))
    .digest("hex")
    .slice(0, 32);
  return `token-${digest}@tokens.invalid`;
}

/**
 * Creates an account for an e-mail, otherwise a team without members or free quota: teams have no quota until an
 * administrator sets one. Two concurrent calls create one account.
 */
async function createAccountOf(
  store: Store,
  { issuer, name, now }: { issuer: TokenIssuer; name: string; now: () => number },
): Promise<string> {
  const by: Administrator = tokenIssuer;
  try {
    if (/^[^@\s]+@[^@\s]+$/.test(name)) {
      const actions = accountActions(createAudited(store, now), now);
      return (await actions.createAccount(by, { email: name, name: undefined })).id;
    }
    return await createProject(
      store,
      { by, name, address: addressOf(issuer, name), changes: { freeTokensPerDay: 0 } },
      now,
    );
  } catch (error) {
    const created = await readAccount(store, issuer, name);
    if (created !== undefined && created.holder !== "claimed") return created.id;
    throw error;
  }
}

/** A claim that is mapped and missing decides nothing, so its token is refused rather than allowed all models. */
function toModels({ issuer }: VerifiedClaims, value: unknown): readonly string[] | undefined {
  const claim = issuer.claims.models;
  if (claim === undefined) return undefined;
  const list = typeof value === "string" ? value.split(/[\s,]+/).filter((id) => id !== "") : value;
  if (!Array.isArray(list) || list.length > modelsMax || !list.every((id) => typeof id === "string")) {
    throw refusedToken(`its claim ${claim} is not a list of models`);
  }
  return list;
}

/** US dollars a month, as a number or a decimal text. */
function toBudget({ issuer }: VerifiedClaims, value: unknown): number | undefined {
  const claim = issuer.claims.budget;
  if (claim === undefined) return undefined;
  const text = typeof value === "number" ? String(value) : value;
  const budget = typeof text === "string" ? parseUsd(text) : undefined;
  if (budget === undefined || budget < 0) throw refusedToken(`its claim ${claim} is not an amount of US dollars`);
  return budget;
}

/** A claim as text; a number counts as one. */
function toText(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  if (typeof value !== "string" || value.trim() === "") return undefined;
  return value.length > subjectLengthMax ? undefined : value.trim();
}

/**
 * A failure of the store is not the token's fault, and the limit on the number of keys does not concern the request's
 * body.
 */
function toStoreError(error: unknown): never {
  if (!(error instanceof GatewayError)) return storeUnavailable(error);
  if (error.code === "conflict") throw new GatewayError("forbidden", error.message, { cause: error });
  throw error;
}

function storeUnavailable(cause: unknown): never {
  if (cause instanceof GatewayError) throw cause;
  throw new GatewayError("unavailable", "The token could not be checked; try again", { retryAfterMs: 1000, cause });
}
