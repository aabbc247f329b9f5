import type { Transaction } from "kysely";
import { LRUCache } from "lru-cache";
import { type Administrator, recordAudit, toAdminKeyActor } from "../audit/index.ts";
import {
  adminKeyForm,
  createNetworkList,
  formatAdminKey,
  GatewayError,
  isAdminKey,
  parseAdminKey,
} from "../contract/index.ts";
import type { AdminKeysTable, Database, Role, Store, TransactionScope } from "../db/index.ts";
import {
  type AdminKeyArea,
  type AdminScope,
  adminKeyAreas,
  adminScopes,
  findKeyEnd,
  hasScope,
  type KeyLine,
  mayAdminister,
  maySeeAll,
  readKeyLine,
  readVouchedRole,
  scopesOfOwners,
  toKeyLines,
} from "../tenants/index.ts";
import { equalHashes, hasChecksum, hashSecret, makeApiKey, readIdSecret } from "./api-key.ts";
import { checkKeyFields, readNetworks, toNetworksColumn } from "./key-fields.ts";
import { compareSecret, isUsable, type LeakedSecret, type SecretState } from "./keys.ts";

/** A stored admin key, without its secret. */
export interface AdminKey {
  /** The public part, which appears in the audit log. */
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly AdminScope[];
  /** Addresses and CIDR ranges; absent: any. */
  readonly allowedNetworks: readonly string[] | undefined;
  /** The account of the person who made it, `cli`, or another admin key. */
  readonly createdBy: string;
  /** Milliseconds since 1970, like all times here. */
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  /** When it was revoked, or ended with the admin key that made it. */
  readonly revokedAt: number | undefined;
  /** Accurate to a minute; absent when it was never used. */
  readonly lastUsedAt: number | undefined;
}

/**
 * The caller of the management API: an admin key, which has the rights of the person who vouches for it as far as its
 * scopes go, or a person in their session.
 */
export interface ApiAdministrator extends Administrator {
  readonly scopes: readonly AdminScope[];
  /** Absent: a session. */
  readonly key: AdminKey | undefined;
  readonly vouchedBy: string;
}

/**
 * The rights of people in their session: administrators may do everything that their role allows, and viewers read it.
 */
export function scopesOfRole(role: Role): readonly AdminScope[] {
  if (mayAdminister(role)) return ["all"];
  return maySeeAll(role) ? adminKeyAreas.map((area) => `${area}:read` as const) : [];
}

export interface NewAdminKey {
  readonly name: string;
  /** As the caller wrote them. */
  readonly scopes: readonly string[];
  readonly expiresAt?: number | undefined;
  readonly allowedNetworks?: readonly string[] | undefined;
}

/** Maximum number of usable admin keys of a gateway: the operator has to keep an eye on each. */
const usableMax = 200;
const usedMs = 60_000;

/**
 * Creates an admin key. The key is returned only here; the store has its hash. Nobody makes one that can do more than they may:
 * owners any, administrators those that reach neither money nor roles, and an admin key those within its own scopes, expiry
 * and networks.
 *
 * @throws {GatewayError} `invalid_request` for a name, scope, time or network, `forbidden`, `conflict` when there are too many.
 */
export async function createAdminKey(
  store: Store,
  by: Administrator | ApiAdministrator,
  fields: NewAdminKey,
  now: number,
): Promise<{ id: string; key: string }> {
  checkKeyFields(fields, now);
  const scopes = parseScopes(fields.scopes);
  const parent = "key" in by ? by.key : undefined;
  const { expiresAt, allowedNetworks } = parent === undefined ? fields : limitToParent(parent, scopes, fields);
  checkRights(by.role, scopes);
  const parts = makeApiKey(await readIdSecret(store));
  const row: AdminKeysTable = {
    id: parts.id,
    name: fields.name,
    secret_hash: hashSecret(parts.secret).toString("hex"),
    scopes: JSON.stringify(scopes),
    allowed_networks: toNetworksColumn(allowedNetworks),
    created_by: by.accountId,
    vouched_by: "vouchedBy" in by ? by.vouchedBy : by.accountId,
    created_at: now,
    expires_at: expiresAt ?? null,
    revoked_at: null,
    last_used_at: null,
  };
  await store.db.transaction().execute(async (db) => {
    await expectRoom({ db }, now);
    await db.insertInto("admin_keys").values(row).execute();
    const detail = { name: row.name, scopes: scopes.join(" ") };
    await recordAudit({ db }, { accountId: by.accountId, action: "admin_key.create", subject: row.id, detail }, now);
  });
  return { id: parts.id, key: formatAdminKey(parts) };
}

/** @throws {GatewayError} `invalid_request` */
function parseScopes(texts: readonly string[]): AdminScope[] {
  const scopes = adminScopes.filter((scope) => texts.includes(scope));
  const unknown = texts.find((text) => !scopes.includes(text as AdminScope));
  const problem = unknown === undefined ? "scopes is empty" : `Unknown scope ${JSON.stringify(unknown.slice(0, 50))}`;
  if (unknown === undefined && scopes.length > 0) return scopes;
  const message = `${problem}: expected some of ${adminScopes.join(", ")}`;
  throw new GatewayError("invalid_request", message, { param: "scopes" });
}

/** @throws {GatewayError} `forbidden` */
function checkRights(role: Role, scopes: readonly AdminScope[]): void {
  const reserved = scopes.filter((scope) => scopesOfOwners.has(scope));
  if (role === "owner" || (mayAdminister(role) && reserved.length === 0)) return;
  const what =
    reserved.length === 0
      ? "Only administrators can create admin keys"
      : `${reserved.join(", ")} allow changes to money or roles`;
  throw new GatewayError("forbidden", `${what}; ask an owner of this gateway`, { param: "scopes" });
}

/** Returns the expiry and networks of a key that an admin key creates, at most its own. @throws {GatewayError} */
function limitToParent(
  parent: AdminKey,
  scopes: readonly AdminScope[],
  { expiresAt = parent.expiresAt, allowedNetworks = parent.allowedNetworks }: NewAdminKey,
): Pick<NewAdminKey, "expiresAt" | "allowedNetworks"> {
  const refuse = (param: string, problem: string) => {
    return new GatewayError("forbidden", `An admin key cannot create a key with more rights than its own: ${problem}`, {
      param,
    });
  };
  const lacking = scopes.filter((scope) => !parent.scopes.includes(scope) && !isCovered(parent, scope));
  if (lacking.length > 0) throw refuse("scopes", `it lacks ${lacking.join(", ")}`);
  if (parent.expiresAt !== undefined && (expiresAt === undefined || expiresAt > parent.expiresAt)) {
    throw refuse("expires_at", `it expires at ${new Date(parent.expiresAt).toISOString()}`);
  }
  const outside = allowedNetworks?.filter((network) => parent.allowedNetworks?.includes(network) === false) ?? [];
  if (outside.length > 0) throw refuse("allowed_networks", `it is not allowed from ${outside.join(", ")}`);
  return { expiresAt, allowedNetworks };
}

function isCovered({ scopes }: AdminKey, scope: AdminScope): boolean {
  const [area, access] = scope.split(":") as [AdminKeyArea, "read" | "write"];
  return scope !== "all" && hasScope(scopes, area, access);
}

async function expectRoom({ db }: Pick<TransactionScope, "db">, now: number): Promise<void> {
  const lines = toKeyLines(await db.selectFrom("admin_keys").selectAll().execute());
  if (lines.filter((line) => findKeyEnd(line, now) === undefined).length < usableMax) return;
  throw new GatewayError("conflict", `There are ${usableMax} admin keys, the limit; revoke one that is not in use`);
}

/** All admin keys, also those that have ended, oldest first. */
export async function listAdminKeys({ db }: Pick<Store, "db">, now: number): Promise<AdminKey[]> {
  const rows = await db.selectFrom("admin_keys").selectAll().orderBy("created_at").orderBy("id").execute();
  return toKeyLines(rows).map((line) => toAdminKey(line, now));
}

/** @throws {GatewayError} `not_found` */
export async function readAdminKey({ db }: Pick<Store, "db">, id: string, now: number): Promise<AdminKey> {
  const line = await readKeyLine(db, id);
  if (line === undefined) throw unknownAdminKey(id);
  return toAdminKey(line, now);
}

/** Finds the admin key that a leaked secret belongs to, without the secret itself, or `undefined`. */
export async function checkAdminSecret(
  { db }: Pick<Store, "db">,
  { id = "", sha256 }: LeakedSecret,
  now: number,
): Promise<{ readonly key: AdminKey; readonly secret: SecretState } | undefined> {
  const line = await readKeyLine(db, id);
  if (line === undefined) return undefined;
  const secret =
    sha256 === undefined ? "unchecked" : compareSecret(sha256, { current: line[0].secret_hash, previous: null });
  return { key: toAdminKey(line, now), secret };
}

/** The rights that ended with an admin key, and the rights that it granted and that remain. */
export interface RevokedAdminKey {
  /** Number of admin keys that ended: this key, the keys that it created, and the keys that those created. */
  readonly adminKeys: number;
  /** Open invitations of these keys, which ended too. */
  readonly invitations: number;
  /**
   * API keys that were created or rotated with these keys: a holder of an admin key has their secrets. Revoked on
   * request.
   */
  readonly apiKeys: readonly { readonly id: string; readonly name: string; readonly accountId: string }[];
}

interface Revocation {
  readonly by: Administrator;
  readonly id: string;
  /** Also revoke the API keys whose secrets were returned to it. */
  readonly revokesApiKeys?: boolean | undefined;
}

/**
 * Revokes an admin key, and with it all admin keys that it made, and that these made; revoking it again changes nothing. It
 * ends at once on all nodes, because none caches it.
 *
 * @throws {GatewayError} `not_found`
 */
export async function revokeAdminKey(
  store: Pick<Store, "change">,
  { by, id, revokesApiKeys = false }: Revocation,
  now: number,
): Promise<RevokedAdminKey> {
  return await store.change(async (db) => {
    const lines = toKeyLines(await db.selectFrom("admin_keys").selectAll().execute());
    const ofKey = lines.filter((line) => line.some((key) => key.id === id));
    const [name] = ofKey.flatMap(([key]) => (key.id === id ? [key.name] : []));
    if (name === undefined) throw unknownAdminKey(id);
    const ended = ofKey.filter((line) => findKeyEnd(line, now) === undefined).map(([key]) => key.id);
    const actors = ofKey.map(([key]) => toAdminKeyActor(key.id));
    await db
      .updateTable("admin_keys")
      .set({ revoked_at: now })
      .where("id", "=", id)
      .where("revoked_at", "is", null)
      .execute();
    const invitations = await deleteInvitations(db, ended.map(toAdminKeyActor), now);
    const apiKeys = await readGivenKeys(db, actors, now);
    if (revokesApiKeys && apiKeys.length > 0) {
      const ids = apiKeys.map((key) => key.id);
      await db.updateTable("keys").set({ revoked_at: now }).where("id", "in", ids).execute();
    }
    const counts = {
      admin_keys: ended.length,
      invitations,
      api_keys: apiKeys.length,
      api_keys_revoked: revokesApiKeys,
    };
    const entry = { accountId: by.accountId, action: "admin_key.revoke", subject: id, detail: { name, ...counts } };
    await recordAudit({ db }, entry, now);
    return { adminKeys: ended.length, invitations, apiKeys };
  });
}

/** Deletes the open invitations that these actors made, which are good for nobody any more. Returns how many. */
async function deleteInvitations(db: Transaction<Database>, actors: readonly string[], now: number): Promise<number> {
  if (actors.length === 0) return 0;
  const ofAccounts = db.deleteFrom("invitations").where("created_by", "in", actors).where("expires_at", ">", now);
  const ofTeams = db.deleteFrom("team_invitations").where("created_by", "in", actors).where("expires_at", ">", now);
  const { numDeletedRows: accounts } = await ofAccounts.where("used_at", "is", null).executeTakeFirstOrThrow();
  const { numDeletedRows: teams } = await ofTeams.where("used_by", "is", null).executeTakeFirstOrThrow();
  return Number(accounts + teams);
}

/** Usable API keys whose secret one of these actors was given. */
function readGivenKeys(db: Transaction<Database>, actors: readonly string[], now: number) {
  return db
    .selectFrom("keys")
    .select(["id", "name", "account_id as accountId"])
    .where((where) => where.or([where("created_by", "in", actors), where("rotated_by", "in", actors)]))
    .where(isUsable(now))
    .orderBy("created_at")
    .orderBy("id")
    .execute();
}

/** Maps the ids of admin keys to their names, for lists of who did something. */
export async function namesOfAdminKeys(
  { db }: Pick<Store, "db">,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const unique = [...new Set(ids)];
  const rows = await db.selectFrom("admin_keys").select(["id", "name"]).where("id", "in", unique).execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Checks admin keys against the store, without a cache: they are few and used rarely. */
export class AdminAuthenticator {
  readonly #store: Store;
  readonly #now: () => number;
  /** When the use of a key was last written down. */
  readonly #used = new LRUCache<string, number>({ max: 2 * usableMax });

  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /**
   * Returns the actor of an admin key.
   *
   * @throws {GatewayError} `invalid_api_key` for a key that is missing, malformed, incorrect, revoked, expired, not allowed from
   * this address, or whose maker may not have it any more.
   */
  async authenticate(token: string, address: string): Promise<ApiAdministrator & { readonly key: AdminKey }> {
    if (!isAdminKey(token)) {
      const problem =
        token === "" ? "No admin key was sent" : "This is not an admin key, and API keys can only make calls";
      throw invalid(`${problem}: send the header 'Authorization: Bearer ${adminKeyForm}'`);
    }
    const parts = parseAdminKey(token);
    // Made-up ids have no valid checksum and cost no query.
    if (parts === undefined || !hasChecksum(parts.id, await readIdSecret(this.#store))) throw incorrect();
    const { db } = this.#store;
    const line = await readKeyLine(db, parts.id);
    if (line === undefined || !equalHashes(hashSecret(parts.secret), Buffer.from(line[0].secret_hash, "hex"))) {
      throw incorrect();
    }
    const now = this.#now();
    checkLine(line, now);
    const key = toAdminKey(line, now);
    checkNetworks(line, address);
    const role = await readVouchedRole(db, line[0]);
    if (role === undefined) {
      throw invalid(
        `The person who created the admin key ${key.id} may no longer have one; ask an owner for another key`,
      );
    }
    await this.#noteUse(key.id);
    return { accountId: toAdminKeyActor(key.id), role, scopes: key.scopes, key, vouchedBy: line[0].vouched_by };
  }

  async #noteUse(id: string): Promise<void> {
    const now = this.#now();
    if (now < (this.#used.get(id) ?? 0) + usedMs) return;
    this.#used.set(id, now);
    await this.#store.db.updateTable("admin_keys").set({ last_used_at: now }).where("id", "=", id).execute();
  }
}

/** @throws {GatewayError} `invalid_api_key` when the key has ended, by itself or with one that made it. */
function checkLine(line: KeyLine, now: number): void {
  const end = findKeyEnd(line, now);
  if (end === undefined) return;
  const [{ id }] = line;
  const how = {
    revoked: "was revoked",
    expired: `expired at ${new Date(end.at).toISOString()}`,
    unknown: "was created by an admin key that no longer exists",
  }[end.kind];
  const whose = end.keyId === id ? "" : `ended with the admin key ${end.keyId} that it descends from, which `;
  throw invalid(`The admin key ${id} ${whose}${how}; use another key`);
}

/** Checks that all keys of the line allow the address. @throws {GatewayError} `invalid_api_key` */
function checkNetworks(line: KeyLine, address: string): void {
  for (const { allowed_networks } of line) {
    const networks = readNetworks(allowed_networks);
    if (networks === undefined || createNetworkList(networks).has(address)) continue;
    throw invalid(`The admin key ${line[0].id} is not allowed from the address ${address}`);
  }
}

function toAdminKey(line: KeyLine, now: number): AdminKey {
  const [row] = line;
  const end = findKeyEnd(line, now);
  return {
    id: row.id,
    name: row.name,
    scopes: JSON.parse(row.scopes) as AdminScope[],
    allowedNetworks: readNetworks(row.allowed_networks),
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
    // A key that expired by itself says so; one that ended with another was ended by it.
    revokedAt: row.revoked_at ?? (end !== undefined && end.keyId !== row.id ? end.at : undefined),
    lastUsedAt: row.last_used_at ?? undefined,
  };
}

function unknownAdminKey(id: string): GatewayError {
  return new GatewayError("not_found", `No admin key has the id ${JSON.stringify(id.slice(0, 100))}`);
}

function incorrect(): GatewayError {
  return invalid("Incorrect admin key: it does not exist; check that it was copied completely, or create a new one");
}

function invalid(message: string): GatewayError {
  return new GatewayError("invalid_api_key", message);
}
