import { randomBytes } from "node:crypto";
import { type RawBuilder, type Selectable, sql, type Transaction } from "kysely";
import { accountLabel, type Budget, checkName, GatewayError, isAmount, toRealEmail } from "../contract/index.ts";
import {
  compareFound,
  type Database,
  type FoundRow,
  findInRanges,
  type IndexOrder,
  inOrderOf,
  isConstraintError,
  isOwnBudget,
  isTeam,
  type Role,
  type Store,
  type TransactionScope,
} from "../db/index.ts";
import { type OwnBudget, toOwnPeriod } from "./account-budget.ts";
import { readAllowedModels } from "./allowed-models.ts";
import { unknownAccount } from "./lock-account.ts";

/**
 * Holder of the e-mail of an account. `verified`: the person behind it, as far as is known. `claimed`: a person who
 * signed up with it and may be anyone. `none`: nobody yet. An operator, an import or an issuer opened the account for
 * the holder of the e-mail, or the account is a team's.
 */
export type Holder = "verified" | "claimed" | "none";

/** Whether the e-mail of an account is verified; undefined if no user signs in to the account. */
export function isVerified({ holder }: Pick<Account, "holder">): boolean | undefined {
  return holder === "none" ? undefined : holder === "verified";
}

/** An account holder. */
export interface Account {
  id: string;
  email: string;
  holder: Holder;
  name: string | undefined;
  /** The account's own daily free quota; absent: the quota of its role, or the configured quota. */
  freeTokensPerDay: number | undefined;
  /** The account's own limits; absent: the limits of its role, or the configured limits. */
  requestsPerMinute: number | undefined;
  tokensPerMinute: number | undefined;
  concurrentCalls: number | undefined;
  /** Ids of the models that it may use with all of its keys; absent: all. */
  allowedModels: string[] | undefined;
  /** Budget of all of its keys together in a period; absent: no bound but the wallet. */
  budget: OwnBudget | undefined;
  /** The budget bounds its premium calls instead of the wallet. */
  isBilledAfterwards: boolean;
  /** Milliseconds since 1970, like all times here. */
  createdAt: number;
  /** When the account was disabled with its keys and users; absent when it is enabled. */
  disabledAt: number | undefined;
}

interface NewAccount {
  readonly email: string;
  readonly name?: string | undefined;
}

const emailLengthMax = 254;

/** @throws {GatewayError} `invalid_request` for an invalid e-mail address, `conflict` when an account with it exists. */
export async function createAccount(store: TransactionScope, fields: NewAccount, now: number): Promise<Account> {
  const row = newAccountRow(fields, now);
  const present = await findAccount(store, row.email);
  if (present !== undefined) expectKnownHolder(present);
  try {
    await store.db.insertInto("accounts").values(row).execute();
  } catch (error) {
    if (!isConstraintError(error)) throw error;
    throw takenEmail(row.email, error);
  }
  return toAccount({ ...row, email_verified: null, budget_nanodollars: null, budget_period: null });
}

/** The row of a new account. @throws {GatewayError} `invalid_request` for an invalid e-mail address or a name that is too long. */
export function newAccountRow({ email, name }: NewAccount, now: number): Selectable<Database["accounts"]> {
  const parsed = { email: parseEmail(email), name: name === undefined || name === "" ? null : parseName(name) };
  return accountRowOf({ id: newAccountId(), ...parsed }, now);
}

export function newAccountId(): string {
  return `acc_${randomBytes(9).toString("hex")}`;
}

/** The row of a new account whose fields are valid. */
export function accountRowOf(
  fields: { id: string; email: string; name: string | null },
  now: number,
): Selectable<Database["accounts"]> {
  return {
    ...fields,
    free_tokens_per_day: null,
    requests_per_minute: null,
    tokens_per_minute: null,
    concurrent_calls: null,
    created_at: now,
    disabled_at: null,
    allowed_models: null,
    founded_by: null,
    billed_afterwards: 0,
  };
}

/**
 * Characters of each side of an address: no character that cannot be seen, or that mail and chat programs read as
 * markup.
 */
const emailForm = /^[^\s\p{C}@<>()[\]\\,;:"]+@[^\s\p{C}@<>()[\]\\,;:"]+$/u;

/**
 * An e-mail address in lower case. Addresses that end in `.invalid`, which nobody can have, are those that the gateway gives
 * to teams and to users whose e-mail better-auth does not take: nobody else may be known by them.
 *
 * @throws {GatewayError} `invalid_request`
 */
export function parseEmail(text: string): string {
  const email = parseTeamAddress(text);
  if (!/[@.]invalid\.?$/.test(email)) return email;
  throw invalidAddress(email);
}

/**
 * Parses the address of a team to lower case; programs find the team by it. Works as {@link parseEmail}, but addresses
 * that end in `.invalid` are valid too.
 *
 * @throws {GatewayError} `invalid_request`
 */
export function parseTeamAddress(text: string): string {
  const address = text.trim().toLowerCase();
  if (address.length <= emailLengthMax && emailForm.test(address)) return address;
  throw invalidAddress(text.slice(0, emailLengthMax));
}

function invalidAddress(text: string): GatewayError {
  const message = `E-mail ${text} is not a valid address: expected name@host`;
  return new GatewayError("invalid_request", message, { param: "email" });
}

/** @throws {GatewayError} `invalid_request` */
export function parseName(name: string): string {
  checkName(name);
  return name;
}

export function takenEmail(email: string, cause: unknown): GatewayError {
  return new GatewayError("conflict", `Account ${email} already exists`, { param: "email", cause });
}

/** Accounts, with their own budgets and whether the e-mail of who signs in to each is verified. */
export function accountsQuery(db: Store["db"]) {
  return db
    .selectFrom("accounts")
    .leftJoin("users", "users.account_id", "accounts.id")
    .leftJoin("budgets as own", (join) => join.on(isOwnBudget("accounts")))
    .selectAll("accounts")
    .select(["users.email_verified", "own.budget_nanodollars", "own.budget_period"]);
}

export async function listAccounts({ db }: Store): Promise<Account[]> {
  const rows = await accountsQuery(db).orderBy("accounts.created_at").orderBy("accounts.id").execute();
  return rows.map(toAccount);
}

/** An account with the details of a list, for administrators. */
export interface AccountRow extends Account {
  balanceNanodollars: number;
  /** Charged in the last 30 days. */
  chargedNanodollars: number;
  /** When one of its keys was last used; absent: never. */
  lastUsedAt: number | undefined;
  /** Absent when the account has no user. */
  role: Role | undefined;
}

/** Orders of accounts: those with the most, or the latest, first, and e-mails by the alphabet. */
export const accountOrders = ["email", "balance", "spend", "last_used", "created"] as const;
/** Filters of a list of accounts: a role, those that nobody signs in to, teams, or those that are disabled. */
export const accountKinds = ["owner", "admin", "viewer", "member", "none", "team", "disabled"] as const;

/** Filter of accounts. */
export interface AccountSearch {
  /** A part of the e-mail, name or id, whatever its case. */
  readonly text: string;
  readonly order: (typeof accountOrders)[number];
  readonly kind?: (typeof accountKinds)[number] | undefined;
  readonly limit: number;
  readonly offset: number;
}

const spendDays = 30;
const dayMs = 86_400_000;

/** Sort column of each order, and the index that serves it, if any. */
const orders: Readonly<Record<AccountSearch["order"], { isDescending: boolean; index?: IndexOrder }>> = {
  email: { isDescending: false, index: { table: "accounts", columns: ["email"] } },
  balance: { isDescending: true },
  spend: { isDescending: true },
  last_used: { isDescending: true },
  created: { isDescending: true, index: { table: "accounts", columns: ["created_at", "id"], isDescending: true } },
};

/** Finds matching accounts, with the details of a list. */
export async function searchAccounts(store: Store, search: AccountSearch, now: number): Promise<AccountRow[]> {
  const { db } = store;
  const firstDay = Math.floor(now / dayMs) - spendDays + 1;
  const charged = sql<number>`(select coalesce(cast(sum(charged_nanodollars) as bigint), 0) from daily_charges
    where daily_charges.account_id = accounts.id and daily_charges.day >= ${firstDay})`;
  const balance = sql<number | null>`(select balance_nanodollars from wallets where wallets.account_id = accounts.id)`;
  const lastUsed = sql<number | null>`(select max(last_used_at) from keys where keys.account_id = accounts.id)`;
  const values = {
    email: sql`accounts.email`,
    balance: sql`coalesce(${balance}, 0)`,
    spend: charged,
    last_used: lastUsed,
    created: sql`accounts.created_at`,
  };
  const ids = await findAccountIds(store, search, values[search.order]);
  if (ids.length === 0) return [];
  const rows = await accountsQuery(db)
    .select([balance.as("balance_nanodollars"), "users.role", charged.as("charged"), lastUsed.as("last_used_at")])
    .where("accounts.id", "in", ids)
    .execute();
  return inOrderOf(ids, rows).map((row) => ({
    ...toAccount(row),
    balanceNanodollars: row.balance_nanodollars ?? 0,
    chargedNanodollars: Number(row.charged),
    lastUsedAt: row.last_used_at ?? undefined,
    role: row.role ?? undefined,
  }));
}

/** The ids of a page of matching accounts, sorted by a value; the details of a list are read only for these. */
async function findAccountIds(store: Store, search: AccountSearch, value: RawBuilder<unknown>): Promise<string[]> {
  const { text, order, kind, limit, offset } = search;
  const pattern = `%${text.replaceAll(/[\\%_]/g, "\\$&")}%`;
  const has = (column: "accounts.email" | "accounts.name" | "accounts.id") =>
    // As it is written too: SQLite's `lower` knows only the letters of ASCII.
    sql<boolean>`(lower(${sql.ref(column)}) like ${pattern.toLowerCase()} escape '\\' or ${sql.ref(column)} like ${pattern} escape '\\')`;
  const { isDescending, index } = orders[order];
  const direction = isDescending ? "desc" : "asc";
  const query = store.db
    .selectFrom("accounts")
    .leftJoin("users", "users.account_id", "accounts.id")
    .select(["accounts.id", value.$castTo<FoundRow["value"]>().as("value")])
    .$if(text !== "", (query) =>
      query.where((where) => where.or([has("accounts.email"), has("accounts.name"), has("accounts.id")])),
    )
    .$if(kind !== undefined, (query) => query.where(isOfKind(kind ?? "member")))
    .$if(order === "last_used", (query) => query.orderBy(sql`${value} is null`))
    .orderBy(value, direction)
    .orderBy("accounts.id", index === undefined ? "asc" : direction);
  if (store.shared) return (await query.limit(limit).offset(offset).execute()).map(({ id }) => id);
  return findInRanges(store.db, {
    by: index ?? { table: "accounts", columns: ["id"] },
    compare: index === undefined ? compareFound(isDescending) : undefined,
    read: (range, rows) => query.where(range).limit(rows).execute(),
    limit,
    offset,
  });
}

function isOfKind(kind: (typeof accountKinds)[number]) {
  if (kind === "disabled") return sql<boolean>`accounts.disabled_at is not null`;
  if (kind === "none") return sql<boolean>`users.role is null`;
  if (kind === "team") return isTeam();
  return sql<boolean>`users.role = ${kind}`;
}

/** Maps the ids of accounts that have a user, or of the one with this id, to roles. */
export async function readRoles({ db }: Store, accountId?: string): Promise<ReadonlyMap<string, Role>> {
  let query = db.selectFrom("users").select(["account_id", "role"]);
  if (accountId !== undefined) query = query.where("account_id", "=", accountId);
  return new Map((await query.execute()).map((row) => [row.account_id, row.role]));
}

/** An account as people read it: see {@link accountLabel}. */
export interface AccountNames {
  readonly label: string;
  readonly name: string | null;
  /** `null`: a team without one of its own. */
  readonly email: string | null;
}

/** Maps account ids to their names; unknown ids are left out. */
export async function namesOf(
  { db }: Pick<Store, "db">,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, AccountNames>> {
  const ids = [...new Set(accountIds)];
  if (ids.length === 0) return new Map();
  const rows = await db.selectFrom("accounts").select(["id", "email", "name"]).where("id", "in", ids).execute();
  return new Map(
    rows.map((row) => [row.id, { label: accountLabel(row), name: row.name, email: toRealEmail(row.email) }]),
  );
}

/** Maps account ids to their names in one line; unknown ids are left out. */
export async function labelsOf(
  store: Pick<Store, "db">,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const names = await namesOf(store, accountIds);
  return new Map([...names].map(([id, { label }]) => [id, label]));
}

/** Maps account ids to e-mails, also those that teams have for programs alone; unknown ids are left out. */
export async function emailsOf({ db }: Store, accountIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(accountIds)];
  if (ids.length === 0) return new Map();
  const rows = await db.selectFrom("accounts").select(["id", "email"]).where("id", "in", ids).execute();
  return new Map(rows.map(({ id, email }) => [id, email]));
}

/** The account with this id or e-mail, even if the e-mail is only claimed: {@link expectKnownHolder} checks that. */
export async function findAccount({ db }: Pick<Store, "db">, idOrEmail: string): Promise<Account | undefined> {
  const [column, value] = isEmail(idOrEmail)
    ? (["accounts.email", idOrEmail.trim().toLowerCase()] as const)
    : (["accounts.id", idOrEmail] as const);
  const row = await accountsQuery(db).where(column, "=", value).executeTakeFirst();
  return row === undefined ? undefined : toAccount(row);
}

function isEmail(idOrEmail: string): boolean {
  return idOrEmail.includes("@");
}

/**
 * Finds the account that will receive something. An id names an account, and an e-mail names a person: if that person
 * has only claimed the e-mail, a stranger could receive it.
 *
 * @throws {GatewayError} `conflict` for an account that is named by an e-mail which is only claimed.
 */
export async function findRecipient(store: Pick<Store, "db">, idOrEmail: string): Promise<Account | undefined> {
  const account = await findAccount(store, idOrEmail);
  if (account !== undefined && isEmail(idOrEmail)) expectKnownHolder(account);
  return account;
}

/**
 * Checks that the holder of an e-mail has not merely signed up with it. Until they verify it they may be anyone, and
 * receive nothing that is meant for the owner of the address.
 *
 * @param param The field of the request that names the account.
 * @throws {GatewayError} `conflict`, with what to do.
 */
export function expectKnownHolder(
  { id, email, holder }: Pick<Account, "id" | "email" | "holder">,
  { param = "email", isPerson = false }: { param?: string | undefined; isPerson?: boolean } = {},
): void {
  if (holder !== "claimed") return;
  const byId = isPerson ? "" : `, or name the account by its id ${id} if you mean whoever signed up`;
  throw new GatewayError(
    "conflict",
    `${email} is only claimed: someone signed up with it without verifying it. Send an invitation, ` +
      `which takes the account back (modelgate account invite ${email}, or POST /organization/invites)${byId}`,
    { param },
  );
}

/**
 * Finds accounts by ids or e-mails, as {@link findAccount} does, keyed by the text given; unknown accounts are left
 * out.
 */
export async function findAccounts(
  { db }: Pick<Store, "db">,
  idsOrEmails: readonly string[],
): Promise<ReadonlyMap<string, Account>> {
  if (idsOrEmails.length === 0) return new Map();
  const toKey = (text: string) => (isEmail(text) ? text.trim().toLowerCase() : text);
  const keys = [...new Set(idsOrEmails.map(toKey))];
  const rows = await accountsQuery(db)
    .where((where) => where.or([where("accounts.email", "in", keys), where("accounts.id", "in", keys)]))
    .execute();
  const accounts = rows.map(toAccount);
  const byKey = new Map(accounts.flatMap((account) => [[account.email, account] as const, [account.id, account]]));
  return new Map(
    idsOrEmails.flatMap((text) => {
      const account = byKey.get(toKey(text));
      return account === undefined ? [] : [[text, account] as const];
    }),
  );
}

/** @throws {GatewayError} `invalid_request` for an invalid number, `not_found` for an unknown account. */
export async function setQuota(store: TransactionScope, accountId: string, tokens: number | undefined): Promise<void> {
  if (tokens !== undefined && !isAmount(tokens)) {
    throw new GatewayError("invalid_request", `Quota ${tokens} is not a whole number of tokens from 0 to 2^53 - 1`, {
      param: "tokens",
    });
  }
  await store.change(async (db) => {
    const { numUpdatedRows } = await db
      .updateTable("accounts")
      .set({ free_tokens_per_day: tokens ?? null })
      .where("id", "=", accountId)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows === 0n) throw unknownAccount(accountId);
  });
}

/** Enables an account that was disabled. @throws {GatewayError} `not_found` */
export async function enableAccount(db: Transaction<Database>, accountId: string): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable("accounts")
    .set({ disabled_at: null })
    .where("id", "=", accountId)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw unknownAccount(accountId);
  await db.updateTable("users").set({ deprovisioned_at: null }).where("account_id", "=", accountId).execute();
}

/** The row of an account with the columns that {@link accountsQuery} adds. */
type ReadAccount = Selectable<Database["accounts"]> & {
  email_verified: number | null;
  budget_nanodollars: number | null;
  budget_period: Budget["period"] | null;
};

export function toAccount(row: ReadAccount): Account {
  return {
    id: row.id,
    email: row.email,
    holder: row.email_verified === null ? "none" : row.email_verified === 0 ? "claimed" : "verified",
    name: row.name ?? undefined,
    freeTokensPerDay: row.free_tokens_per_day ?? undefined,
    requestsPerMinute: row.requests_per_minute ?? undefined,
    tokensPerMinute: row.tokens_per_minute ?? undefined,
    concurrentCalls: row.concurrent_calls ?? undefined,
    allowedModels: readAllowedModels(row.allowed_models),
    budget:
      row.budget_nanodollars === null
        ? undefined
        : { limitNanodollars: row.budget_nanodollars, period: toOwnPeriod(row.budget_period) },
    isBilledAfterwards: row.billed_afterwards === 1,
    createdAt: row.created_at,
    disabledAt: row.disabled_at ?? undefined,
  };
}
