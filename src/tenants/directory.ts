/** Users and groups as an identity provider manages them. A user is a person whose e-mail is verified. */
import { randomBytes } from "node:crypto";
import type { ExpressionBuilder, Transaction } from "kysely";
import { type Administrator, createAudited, recordAudit } from "../audit/index.ts";
import { GatewayError } from "../contract/index.ts";
import { type Database, inTransaction, type OpenTransaction, type Store, type TransactionScope } from "../db/index.ts";
import { accountActions, toEndedDetail } from "./account-actions.ts";
import { findAccount, parseEmail, takenEmail } from "./accounts.ts";
import { applyGroups, type StoredGroupRole, toNameKey } from "./group-roles.ts";
import { leave } from "./leave.ts";
import { lockOwners } from "./roles.ts";
import { createUser, giveToHolder } from "./users.ts";

/** A person, as an identity provider sees them. */
export interface DirectoryUser {
  /** The id of their own account. */
  readonly id: string;
  readonly email: string;
  readonly name: string | undefined;
  readonly externalId: string | undefined;
  readonly isActive: boolean;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly groups: readonly { readonly id: string; readonly name: string }[];
}

/** Fields that an identity provider sets; absent fields stay as they are, and `null` removes a value. */
export interface DirectoryUserFields {
  readonly email?: string | undefined;
  readonly name?: string | null | undefined;
  readonly externalId?: string | null | undefined;
  readonly isActive?: boolean | undefined;
}

export interface DirectoryGroup {
  readonly id: string;
  readonly name: string;
  readonly externalId: string | undefined;
  readonly createdAt: number;
  readonly members: readonly { readonly id: string; readonly email: string }[];
}

/** The fields of a group that an identity provider sets. */
export interface DirectoryGroupFields {
  readonly name: string;
  readonly externalId: string | null;
  /** The ids of the people's own accounts. */
  readonly memberIds: ReadonlySet<string>;
}

/** A page of a list, by number. */
export interface DirectoryPage {
  readonly offset: number;
  readonly limit: number;
}

export interface DirectoryList<Entry> {
  readonly total: number;
  readonly entries: readonly Entry[];
}

/** Groups of a gateway, and people of a group. */
const groupsMax = 5000;
const groupMembersMax = 5000;

/** Users with a value, or all. */
export interface UserFilter {
  readonly id?: string;
  readonly email?: string;
  readonly externalId?: string;
  readonly name?: string;
}

/** Whether an identity provider sees a person: one that it deleted is gone for it, until somebody enables them. */
function isListed(where: ExpressionBuilder<Database, "users" | "accounts">) {
  return where.and([
    where("users.email_verified", "=", 1),
    where.or([where("users.deprovisioned_at", "is", null), where("accounts.disabled_at", "is", null)]),
  ]);
}

function usersQuery(db: Store["db"], { id, email, externalId, name }: UserFilter) {
  let query = db.selectFrom("users").innerJoin("accounts", "accounts.id", "users.account_id").where(isListed);
  if (id !== undefined) query = query.where("accounts.id", "=", id);
  if (email !== undefined) query = query.where("accounts.email", "=", email.trim().toLowerCase());
  if (externalId !== undefined) query = query.where("users.external_id", "=", externalId);
  if (name !== undefined) query = query.where("accounts.name", "=", name);
  return query;
}

export async function listDirectoryUsers(
  { db }: Pick<Store, "db">,
  filter: UserFilter,
  { offset, limit }: DirectoryPage,
): Promise<DirectoryList<DirectoryUser>> {
  const query = usersQuery(db, filter);
  const { total } = await query.select((select) => select.fn.countAll().as("total")).executeTakeFirstOrThrow();
  const rows = await query
    .select(["users.id as user_id", "users.external_id", "accounts.id", "accounts.email", "accounts.name"])
    .select(["accounts.created_at", "accounts.disabled_at"])
    .orderBy("accounts.created_at")
    .orderBy("accounts.id")
    .offset(offset)
    .limit(limit)
    .execute();
  const groups = await groupsOf(
    db,
    rows.map(({ user_id }) => user_id),
  );
  const entries = rows.map((row) => ({
    id: row.id,
    email: row.email,
    name: row.name ?? undefined,
    externalId: row.external_id ?? undefined,
    isActive: row.disabled_at === null,
    createdAt: row.created_at,
    groups: groups.get(row.user_id) ?? [],
  }));
  return { total: Number(total), entries };
}

async function groupsOf(
  db: Store["db"],
  userIds: readonly string[],
): Promise<ReadonlyMap<string, { id: string; name: string }[]>> {
  const groups = new Map<string, { id: string; name: string }[]>();
  if (userIds.length === 0) return groups;
  const rows = await db
    .selectFrom("directory_members")
    .innerJoin("directory_groups", "directory_groups.id", "directory_members.group_id")
    .select(["directory_members.user_id", "directory_groups.id", "directory_groups.name"])
    .where("directory_members.user_id", "in", userIds)
    .orderBy("directory_groups.id")
    .execute();
  for (const { user_id, id, name } of rows) groups.set(user_id, [...(groups.get(user_id) ?? []), { id, name }]);
  return groups;
}

/** @throws {GatewayError} `not_found` */
export async function readDirectoryUser(store: Pick<Store, "db">, id: string): Promise<DirectoryUser> {
  const [user] = (await listDirectoryUsers(store, { id }, { offset: 0, limit: 1 })).entries;
  if (user === undefined) throw new GatewayError("not_found", "No user has this id");
  return user;
}

/**
 * Makes a user. The identity provider vouches for the e-mail: an account that somebody else only signed up with is taken
 * back from them, an account that nobody signs in to gets its user, and a user that was deleted is there again. Returns the id.
 *
 * @throws {GatewayError} `conflict` when there is such a user, `invalid_request` for a field.
 */
export function createDirectoryUser(
  store: TransactionScope,
  { by, email: text, ...fields }: DirectoryUserFields & { readonly by: Administrator; readonly email: string },
  now: number,
): Promise<string> {
  return inTransaction(store, async (scope) => {
    const { db } = scope;
    const email = parseEmail(text);
    await lockOwners(db);
    const present = await findAccount(scope, email);
    if ((await listDirectoryUsers(scope, { email }, { offset: 0, limit: 1 })).total > 0)
      throw takenEmail(email, undefined);
    if (present?.holder === "claimed") await giveToHolder(db, { accountId: present.id, by: by.accountId }, now);
    const actions = accountActions(
      createAudited(scope, () => now),
      () => now,
    );
    const id = present?.id ?? (await actions.createAccount(by, { email })).id;
    await createUser(db, { accountId: id, role: "member", emailVerified: true }, now);
    await db.updateTable("users").set({ deprovisioned_at: null }).where("account_id", "=", id).execute();
    await recordAudit(
      scope,
      { accountId: by.accountId, action: "account.provision", subject: id, detail: { email } },
      now,
    );
    await change(scope, { by, id, fields }, now);
    return id;
  });
}

/** Changes a user; one that is disabled leaves as {@link leave} describes. @throws {GatewayError} */
export function changeDirectoryUser(
  store: TransactionScope,
  { by, id, fields }: { readonly by: Administrator; readonly id: string; readonly fields: DirectoryUserFields },
  now: number,
): Promise<void> {
  return inTransaction(store, async (scope) => {
    await lockOwners(scope.db);
    await readDirectoryUser(scope, id);
    await change(scope, { by, id, fields }, now);
  });
}

/** Deletes a user for the identity provider. They are disabled: their account and its calls stay. @throws {GatewayError} */
export function deleteDirectoryUser(
  store: TransactionScope,
  { by, id }: { readonly by: Administrator; readonly id: string },
  now: number,
): Promise<void> {
  return inTransaction(store, async (scope) => {
    await changeDirectoryUser(scope, { by, id, fields: { isActive: false, externalId: null } }, now);
    await scope.db.updateTable("users").set({ deprovisioned_at: now }).where("account_id", "=", id).execute();
    const detail = { deleted: true };
    await recordAudit(scope, { accountId: by.accountId, action: "account.provision", subject: id, detail }, now);
  });
}

async function change(
  scope: OpenTransaction,
  {
    by,
    id,
    fields: { email, name, externalId, isActive },
  }: { by: Administrator; id: string; fields: DirectoryUserFields },
  now: number,
): Promise<void> {
  const { db } = scope;
  const actions = accountActions(
    createAudited(scope, () => now),
    () => now,
  );
  if (email !== undefined || name !== undefined) await actions.changeAccount(by, id, { email, name });
  const user = await db
    .selectFrom("users")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .select(["users.external_id", "accounts.disabled_at"])
    .where("users.account_id", "=", id)
    .executeTakeFirstOrThrow();
  if (externalId !== undefined && externalId !== user.external_id) {
    await db.updateTable("users").set({ external_id: externalId }).where("account_id", "=", id).execute();
    const detail = { external_id: externalId };
    await recordAudit(scope, { accountId: by.accountId, action: "account.provision", subject: id, detail }, now);
  }
  if (isActive === true && user.disabled_at !== null) await actions.setDisabled(by, id, false);
  if (isActive === false) await disable(scope, { by, id, isDisabled: user.disabled_at !== null }, now);
}

/** Somebody who was disabled by hand may still have keys, which the identity provider's word ends. */
async function disable(
  scope: OpenTransaction,
  { by, id, isDisabled }: { by: Administrator; id: string; isDisabled: boolean },
  now: number,
): Promise<void> {
  const ended = toEndedDetail(await leave(scope.db, { actor: by, accountId: id, keys: "revoke_by_table" }, now));
  if (isDisabled && Object.keys(ended).length === 0) return;
  const detail = { disabled: true, ...ended };
  await recordAudit(scope, { accountId: by.accountId, action: "account.disabled", subject: id, detail }, now);
}

/** Groups with a value, or all. */
export interface GroupFilter {
  readonly id?: string;
  readonly name?: string;
  readonly externalId?: string;
  /** The id of a person who is in it. */
  readonly memberId?: string;
}

/** Groups, oldest first. @param withMembers Otherwise the lists of members are empty. */
export async function listDirectoryGroups(
  { db }: Pick<Store, "db">,
  { id, name, externalId, memberId }: GroupFilter,
  { offset, limit, withMembers }: DirectoryPage & { readonly withMembers: boolean },
): Promise<DirectoryList<DirectoryGroup>> {
  let query = db.selectFrom("directory_groups");
  if (id !== undefined) query = query.where("id", "=", id);
  if (name !== undefined) query = query.where("name_key", "=", toNameKey(name));
  if (externalId !== undefined) query = query.where("external_id", "=", externalId);
  if (memberId !== undefined) {
    const groups = db
      .selectFrom("directory_members")
      .innerJoin("users", "users.id", "directory_members.user_id")
      .innerJoin("accounts", "accounts.id", "users.account_id")
      .select("directory_members.group_id")
      .where("users.account_id", "=", memberId)
      .where(isListed);
    query = query.where("id", "in", groups);
  }
  const { total } = await query.select((select) => select.fn.countAll().as("total")).executeTakeFirstOrThrow();
  const rows = await query
    .select(["id", "name", "external_id", "created_at"])
    .orderBy("created_at")
    .orderBy("id")
    .offset(offset)
    .limit(limit)
    .execute();
  const shown = withMembers ? await takeFew(db, rows) : rows;
  const members = await membersOf(db, withMembers ? shown.map((row) => row.id) : []);
  const entries = shown.map((row) => ({
    id: row.id,
    name: row.name,
    externalId: row.external_id ?? undefined,
    createdAt: row.created_at,
    members: members.get(row.id) ?? [],
  }));
  return { total: Number(total), entries };
}

/** As many groups as an answer can have with their people: at least one, and then those with few. */
async function takeFew<Row extends { readonly id: string }>(db: Store["db"], rows: readonly Row[]): Promise<Row[]> {
  if (rows.length === 0) return [];
  const counts = await db
    .selectFrom("directory_members")
    .select((select) => ["group_id", select.fn.countAll().as("count")])
    .where(
      "group_id",
      "in",
      rows.map(({ id }) => id),
    )
    .groupBy("group_id")
    .execute();
  const countOf = new Map(counts.map((row) => [row.group_id, Number(row.count)]));
  let sum = 0;
  return rows.filter(({ id }, place) => {
    sum += countOf.get(id) ?? 0;
    return place === 0 || sum <= shownMembersMax;
  });
}

/** People of all groups of one answer. */
const shownMembersMax = 2 * groupMembersMax;

async function membersOf(
  db: Store["db"],
  groupIds: readonly string[],
): Promise<ReadonlyMap<string, { id: string; email: string }[]>> {
  const members = new Map<string, { id: string; email: string }[]>();
  if (groupIds.length === 0) return members;
  const rows = await db
    .selectFrom("directory_members")
    .innerJoin("users", "users.id", "directory_members.user_id")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .select(["directory_members.group_id", "accounts.id", "accounts.email"])
    .where("directory_members.group_id", "in", groupIds)
    .where(isListed)
    .orderBy("accounts.id")
    .execute();
  for (const { group_id, id, email } of rows) {
    const list = members.get(group_id) ?? [];
    list.push({ id, email });
    members.set(group_id, list);
  }
  return members;
}

/** @throws {GatewayError} `not_found` */
export async function readDirectoryGroup(
  store: Pick<Store, "db">,
  id: string,
  withMembers = true,
): Promise<DirectoryGroup> {
  const page = { offset: 0, limit: 1, withMembers };
  const [group] = (await listDirectoryGroups(store, { id }, page)).entries;
  if (group === undefined) throw new GatewayError("not_found", "No group has this id");
  return group;
}

/** Makes a group. Returns its id. @throws {GatewayError} `conflict` when there is such a group, `invalid_request` */
export function createDirectoryGroup(
  store: TransactionScope,
  { by, fields }: { readonly by: Administrator; readonly fields: DirectoryGroupFields },
  now: number,
): Promise<string> {
  return inTransaction(store, async (scope) => {
    const { db } = scope;
    await lockOwners(db);
    const { count } = await db
      .selectFrom("directory_groups")
      .select((select) => select.fn.countAll().as("count"))
      .executeTakeFirstOrThrow();
    if (Number(count) >= groupsMax) {
      throw new GatewayError(
        "conflict",
        `The gateway has ${groupsMax} groups, its limit; push only those that you use`,
      );
    }
    await expectFreeName(db, fields.name);
    const id = `grp_${randomBytes(9).toString("hex")}`;
    const row = { id, name: fields.name, name_key: toNameKey(fields.name), external_id: fields.externalId };
    await db
      .insertInto("directory_groups")
      .values({ ...row, created_at: now })
      .execute();
    await record(scope, { by, id, action: "create", detail: { name: fields.name } }, now);
    await write(scope, { by, id, names: [fields.name], before: new Map(), memberIds: fields.memberIds }, now);
    return id;
  });
}

/**
 * Changes a group, and the roles of its people.
 *
 * @param change Returns the group as it shall be; a group is changed by one request after the other.
 * @throws {GatewayError} `not_found`, `invalid_request`; `conflict` for a name, the last owner, and the last admin of a team.
 */
export function changeDirectoryGroup(
  store: TransactionScope,
  {
    by,
    id,
    change,
  }: { readonly by: Administrator; readonly id: string; change: (group: DirectoryGroupFields) => DirectoryGroupFields },
  now: number,
): Promise<void> {
  return inTransaction(store, async (scope) => {
    const { db } = scope;
    await lockOwners(db);
    const { name, externalId = null } = await readDirectoryGroup(scope, id, false);
    const before = await readMembers(db, id);
    const next = change({ name, externalId, memberIds: new Set(before.keys()) });
    if (toNameKey(next.name) !== toNameKey(name)) await expectFreeName(db, next.name);
    if (next.name !== name || next.externalId !== externalId) {
      await db
        .updateTable("directory_groups")
        .set({ name: next.name, name_key: toNameKey(next.name), external_id: next.externalId })
        .where("id", "=", id)
        .execute();
      const detail = { name: next.name, name_before: name, external_id: next.externalId };
      await record(scope, { by, id, action: "change", detail }, now);
    }
    await write(scope, { by, id, names: [name, next.name], before, memberIds: next.memberIds }, now);
  });
}

/** Deletes a group; its people lose its roles. @throws {GatewayError} `not_found`, `conflict` */
export function deleteDirectoryGroup(
  store: TransactionScope,
  { by, id }: { readonly by: Administrator; readonly id: string },
  now: number,
): Promise<void> {
  return inTransaction(store, async (scope) => {
    const { db } = scope;
    await lockOwners(db);
    const { name } = await readDirectoryGroup(scope, id, false);
    const before = await readMembers(db, id);
    await record(scope, { by, id, action: "delete", detail: { name } }, now);
    await write(scope, { by, id, names: [name], before, memberIds: new Set() }, now);
    await db.deleteFrom("directory_groups").where("id", "=", id).execute();
  });
}

/** The users of a group, by the ids of their accounts. */
async function readMembers(db: Transaction<Database>, groupId: string): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom("directory_members")
    .innerJoin("users", "users.id", "directory_members.user_id")
    .select(["users.id", "users.account_id"])
    .where("directory_members.group_id", "=", groupId)
    .execute();
  return new Map(rows.map((row) => [row.account_id, row.id]));
}

interface MembersChange {
  readonly by: Administrator;
  readonly id: string;
  /** The name of the group, and the one that it had. */
  readonly names: readonly string[];
  readonly before: ReadonlyMap<string, string>;
  readonly memberIds: ReadonlySet<string>;
}

/** Writes who is in a group, and applies the table to those who came or went, or to all when it has another name. */
async function write(
  scope: OpenTransaction,
  { by, id, names, before, memberIds }: MembersChange,
  now: number,
): Promise<void> {
  const { db } = scope;
  if (memberIds.size > groupMembersMax) {
    throw new GatewayError("invalid_request", `members: a group has at most ${groupMembersMax} people`);
  }
  const keys = new Set(names.map(toNameKey));
  const added = await readUserIds(
    db,
    [...memberIds].filter((accountId) => !before.has(accountId)),
  );
  const removed = [...before].flatMap(([accountId, userId]) => (memberIds.has(accountId) ? [] : [userId]));
  if (added.length > 0) {
    await db
      .insertInto("directory_members")
      .values(added.map((user_id) => ({ group_id: id, user_id })))
      .execute();
  }
  if (removed.length > 0) {
    await db.deleteFrom("directory_members").where("group_id", "=", id).where("user_id", "in", removed).execute();
  }
  if (added.length > 0 || removed.length > 0) {
    await record(scope, { by, id, action: "members", detail: { added: added.length, removed: removed.length } }, now);
  }
  const userIds = keys.size > 1 ? [...new Set([...before.values(), ...added])] : [...added, ...removed];
  const rows: StoredGroupRole[] = await db
    .selectFrom("group_roles")
    .selectAll()
    .where("name_key", "in", [...keys])
    .execute();
  await applyGroups(scope, { by, rows, userIds, revokesKeys: true }, now);
}

/** @throws {GatewayError} `invalid_request` for an id of nobody. */
async function readUserIds(db: Transaction<Database>, accountIds: readonly string[]): Promise<string[]> {
  if (accountIds.length === 0) return [];
  const query = db.selectFrom("users").innerJoin("accounts", "accounts.id", "users.account_id").where(isListed);
  const users = await query
    .select(["users.id", "users.account_id"])
    .where("users.account_id", "in", accountIds)
    .execute();
  if (users.length === accountIds.length) return users.map(({ id }) => id);
  const present = new Set(users.map(({ account_id }) => account_id));
  const unknown = accountIds.find((accountId) => !present.has(accountId)) ?? "";
  throw new GatewayError("invalid_request", `members: no user has the id ${JSON.stringify(unknown.slice(0, 100))}`);
}

async function expectFreeName(db: Transaction<Database>, name: string): Promise<void> {
  const query = db.selectFrom("directory_groups").select("id").where("name_key", "=", toNameKey(name));
  if ((await query.executeTakeFirst()) === undefined) return;
  throw new GatewayError("conflict", "There is a group with this name already", { param: "displayName" });
}

function record(
  scope: OpenTransaction,
  {
    by,
    id,
    action,
    detail,
  }: { by: Administrator; id: string; action: string; detail: Record<string, string | number | null> },
  now: number,
): Promise<void> {
  return recordAudit(scope, { accountId: by.accountId, action: `group.${action}`, subject: id, detail }, now);
}
