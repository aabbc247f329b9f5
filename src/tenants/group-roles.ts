/**
 * The table of groups: which roles the members of a group of the identity provider have, in a team or in the gateway. The
 * table decides: who joins a group gets its roles, and who leaves it loses them, however they got them.
 */
import { randomBytes } from "node:crypto";
import { Type } from "@sinclair/typebox";
import type { Transaction } from "kysely";
import { type Administrator, createAudited, recordAudit } from "../audit/index.ts";
import { GatewayError, optional } from "../contract/index.ts";
import {
  type Database,
  type GroupRolesTable,
  inTransaction,
  type OpenTransaction,
  type Role,
  type Store,
  type TeamRole,
  type TransactionScope,
} from "../db/index.ts";
import { isBehind } from "../db/page.ts";
import { defineFields } from "../lib/fields.ts";
import { accountActions } from "./account-actions.ts";
import { keepingTeams } from "./leave.ts";
import { eachAccount } from "./owned-rows.ts";
import { endInvitationsBy, endMembership, listPeople, peopleMax } from "./people.ts";
import { lockManaged, lockOwners, roles } from "./roles.ts";

/** The fields of a row of the table. */
export const groupRoleFields = defineFields<GroupRolesTable>()({
  group: {
    schema: Type.String({ minLength: 1, maxLength: 200, description: "Name of the group, whatever its case" }),
    column: "group_name",
    form: { hint: "As the identity provider names it, whatever the case" },
  },
  role: {
    schema: Type.Unsafe<Role>(
      Type.Union(
        roles.map((role) => Type.Literal(role)),
        { description: "Role of its members: `admin` or `member` in a team, any role in the gateway" },
      ),
    ),
    column: "role",
    changes: true,
  },
  leavers_keys: {
    schema: optional(
      Type.Literal("keep", {
        description:
          "Keys that a member made in the team stay in force when they leave the group or are disabled; `null`: they are revoked",
      }),
    ),
    column: "leavers_keys",
    changes: true,
    form: { label: "Keys that people made in the team stay when they leave it" },
  },
});

/** A row of the table as it is stored. */
export type StoredGroupRole = GroupRolesTable;
/** Columns of a new row. */
export type NewGroupRole = Pick<GroupRolesTable, "group_name" | "role"> &
  Partial<Pick<GroupRolesTable, "leavers_keys">>;

/** Rows of the table: more groups than a company maps. */
export const groupRolesMax = 1000;

/** Groups are found by their names, whatever the case. */
export function toNameKey(name: string): string {
  return name.trim().toLowerCase();
}

/** @throws {GatewayError} `invalid_request` for a row that cannot be; `forbidden` for owners, whom owners alone make. */
export function checkGroupRole(
  by: Administrator,
  { account_id: accountId, role, leavers_keys: keys }: Partial<GroupRolesTable>,
): void {
  if (accountId !== eachAccount && role !== undefined && role !== "admin" && role !== "member") {
    throw invalid("role", "of a team is admin or member; other roles are for the table of the gateway");
  }
  if (accountId === eachAccount && keys === "keep") {
    throw invalid("leavers_keys", "is for the table of a team");
  }
  if (accountId === eachAccount && role === "owner" && by.role !== "owner") {
    throw new GatewayError("forbidden", "Only owners make somebody an owner", { param: "role" });
  }
}

export async function listGroupRoles(
  { db }: Pick<Store, "db">,
  accountIds: readonly string[] | undefined,
  { limit, after }: { limit: number; after?: Pick<StoredGroupRole, "id" | "created_at"> | undefined },
): Promise<StoredGroupRole[]> {
  if (accountIds?.length === 0) return [];
  let query = db.selectFrom("group_roles").selectAll();
  if (accountIds !== undefined) query = query.where("account_id", "in", accountIds);
  if (after !== undefined) query = query.where(isBehind("created_at", "id", after));
  return await query.orderBy("created_at").orderBy("id").limit(limit).execute();
}

/** A group that the identity provider pushed, with its people. */
export interface PushedGroup {
  readonly name: string;
  readonly nameKey: string;
  readonly members: number;
}

/** The groups that the identity provider pushed, by name. */
export async function listPushedGroups({ db }: Pick<Store, "db">, limit: number): Promise<PushedGroup[]> {
  const rows = await db
    .selectFrom("directory_groups")
    .leftJoin("directory_members", "directory_members.group_id", "directory_groups.id")
    .select(["directory_groups.name", "directory_groups.name_key"])
    .select(({ fn }) => fn.count("directory_members.user_id").as("members"))
    .groupBy(["directory_groups.id", "directory_groups.name", "directory_groups.name_key"])
    .orderBy("directory_groups.name_key")
    .limit(limit)
    .execute();
  return rows.map(({ name, name_key: nameKey, members }) => ({ name, nameKey, members: Number(members) }));
}

/** @param accountId Absent: of any team or the gateway. @throws {GatewayError} `not_found` */
export async function readGroupRole(
  { db }: Pick<Store, "db">,
  accountId: string | undefined,
  id: string,
): Promise<StoredGroupRole> {
  let query = db.selectFrom("group_roles").selectAll().where("id", "=", id);
  if (accountId !== undefined) query = query.where("account_id", "=", accountId);
  const row = await query.executeTakeFirst();
  if (row === undefined) throw new GatewayError("not_found", `There is no group role ${id}`);
  return row;
}

/**
 * Adds a row to the table. Present members of the group get the role.
 *
 * @throws {GatewayError} `invalid_request`, `forbidden`; `conflict` when there is such a row, or a role cannot be given.
 */
export function createGroupRole(
  store: TransactionScope,
  { by, accountId, ...columns }: { readonly by: Administrator; readonly accountId: string } & NewGroupRole,
  now: number,
): Promise<StoredGroupRole> {
  const row: StoredGroupRole = {
    id: `grr_${randomBytes(9).toString("hex")}`,
    account_id: accountId,
    group_name: columns.group_name.trim(),
    name_key: toNameKey(columns.group_name),
    role: columns.role,
    leavers_keys: columns.leavers_keys ?? null,
    created_at: now,
  };
  if (row.name_key === "") throw invalid("group", "is empty");
  checkGroupRole(by, row);
  return inTransaction(store, async (scope) => {
    await lockTable(scope.db, by, accountId);
    const present = await scope.db.selectFrom("group_roles").select(["account_id", "name_key"]).execute();
    if (present.some((one) => one.account_id === accountId && one.name_key === row.name_key)) {
      throw new GatewayError("conflict", "This group has a role here; change it instead");
    }
    if (present.length >= groupRolesMax)
      throw new GatewayError("conflict", `The table has ${groupRolesMax} rows, its limit`);
    await scope.db.insertInto("group_roles").values(row).execute();
    await record(scope, by, "create", row, now);
    await applyRows(scope, { by, rows: [row], revokesKeys: false }, now);
    return row;
  });
}

/** Changes a row of the table, and the role of the members of its group. @throws {GatewayError} */
export function changeGroupRole(
  store: TransactionScope,
  {
    by,
    accountId,
    id,
    changes,
  }: {
    by: Administrator;
    accountId: string;
    id: string;
    changes: Partial<Pick<GroupRolesTable, "role" | "leavers_keys">>;
  },
  now: number,
): Promise<StoredGroupRole> {
  checkGroupRole(by, { ...changes, account_id: accountId });
  return inTransaction(store, async (scope) => {
    await lockTable(scope.db, by, accountId);
    const before = await readGroupRole(scope, accountId, id);
    // Only owners take the role of an owner away, too.
    checkGroupRole(by, before);
    const row = { ...before, ...changes };
    const { role, leavers_keys } = row;
    await scope.db.updateTable("group_roles").set({ role, leavers_keys }).where("id", "=", id).execute();
    await record(scope, by, "change", row, now);
    await applyRows(scope, { by, rows: [row], revokesKeys: false }, now);
    return row;
  });
}

/** Deletes a row of the table. The members of its group lose the role; the keys that they made stay. @throws {GatewayError} */
export function deleteGroupRole(
  store: TransactionScope,
  { by, accountId, id }: { by: Administrator; accountId: string; id: string },
  now: number,
): Promise<void> {
  return inTransaction(store, async (scope) => {
    await lockTable(scope.db, by, accountId);
    const row = await readGroupRole(scope, accountId, id);
    checkGroupRole(by, row);
    await scope.db.deleteFrom("group_roles").where("id", "=", id).execute();
    await record(scope, by, "delete", row, now);
    await applyRows(scope, { by, rows: [row], revokesKeys: false }, now);
  });
}

/** The groups, their members and the table change one after the other. */
async function lockTable(db: Transaction<Database>, by: Administrator, accountId: string): Promise<void> {
  await lockOwners(db);
  if (accountId !== eachAccount) await lockManaged(db, by, accountId);
}

/** Applies rows of the table to all members of their groups. */
async function applyRows(
  scope: OpenTransaction,
  { by, rows, revokesKeys }: { by: Administrator; rows: readonly StoredGroupRole[]; revokesKeys: boolean },
  now: number,
): Promise<void> {
  const members = await scope.db
    .selectFrom("directory_members")
    .innerJoin("directory_groups", "directory_groups.id", "directory_members.group_id")
    .select("directory_members.user_id")
    .distinct()
    .where(
      "directory_groups.name_key",
      "in",
      rows.map(({ name_key }) => name_key),
    )
    .execute();
  await applyGroups(scope, { by, rows, userIds: members.map(({ user_id }) => user_id), revokesKeys }, now);
}

interface Application {
  readonly by: Administrator;
  /** Rows that a change brings into force for other people. */
  readonly rows: readonly StoredGroupRole[];
  /** The people whose roles these rows change. */
  readonly userIds: readonly string[];
  /** Whether people who leave a team lose the keys that they made there, unless the table keeps them. */
  readonly revokesKeys: boolean;
}

/**
 * Gives people the roles that the table says for their groups, in the teams and the gateway that some rows are about.
 * Call it by `Store.change`, after {@link lockOwners} and the change of groups or table.
 *
 * @throws {GatewayError} `conflict` for the last owner, the last admin of a team, and a full team.
 */
export async function applyGroups(
  scope: OpenTransaction,
  { by, rows, userIds, revokesKeys }: Application,
  now: number,
): Promise<void> {
  if (userIds.length === 0 || rows.length === 0) return;
  const { db } = scope;
  const people = await db
    .selectFrom("users")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .select(["users.id", "users.account_id", "users.role", "accounts.email"])
    .where("users.id", "in", userIds)
    .orderBy("users.id")
    .execute();
  const targets = [...new Set(rows.map(({ account_id }) => account_id))].sort();
  const granted = await db
    .selectFrom("directory_members")
    .innerJoin("directory_groups", "directory_groups.id", "directory_members.group_id")
    .innerJoin("group_roles", "group_roles.name_key", "directory_groups.name_key")
    .select(["directory_members.user_id", "group_roles.account_id", "group_roles.role"])
    .where("directory_members.user_id", "in", userIds)
    .where("group_roles.account_id", "in", targets)
    .execute();
  for (const target of targets) {
    const roleByUser = new Map<string, Role>();
    for (const { user_id, role, account_id } of granted) {
      if (account_id !== target) continue;
      const other = roleByUser.get(user_id);
      if (other === undefined || roles.indexOf(role) < roles.indexOf(other)) roleByUser.set(user_id, role);
    }
    if (target === eachAccount) await applyToGateway(scope, { by, people, roleByUser }, now);
    else {
      await applyToTeam(scope, { by, accountId: target, people, roleByUser, revokesKeys }, now);
    }
  }
}

interface DirectoryPerson {
  readonly id: string;
  readonly account_id: string;
  readonly role: Role;
  readonly email: string;
}

async function applyToGateway(
  scope: OpenTransaction,
  {
    by,
    people,
    roleByUser,
  }: { by: Administrator; people: readonly DirectoryPerson[]; roleByUser: ReadonlyMap<string, Role> },
  now: number,
): Promise<void> {
  const actions = accountActions(
    createAudited(scope, () => now),
    () => now,
  );
  for (const person of people) {
    const role = roleByUser.get(person.id) ?? "member";
    if (role !== person.role) await actions.changeAccount(by, person.account_id, { role });
  }
}

interface TeamChange {
  readonly by: Administrator;
  readonly accountId: string;
  readonly people: readonly DirectoryPerson[];
  readonly roleByUser: ReadonlyMap<string, Role>;
  readonly revokesKeys: boolean;
}

async function applyToTeam(
  scope: OpenTransaction,
  { by, accountId, people, roleByUser, revokesKeys }: TeamChange,
  now: number,
): Promise<void> {
  const { db } = scope;
  await lockManaged(db, by, accountId);
  const keeps = await keepingTeams(db).where("account_id", "=", accountId).executeTakeFirst();
  const revokeKeysAt = revokesKeys && keeps === undefined ? now : undefined;
  const before = await listPeople({ db }, accountId);
  const present = new Map(before.map((person) => [person.id, person]));
  for (const { id: user_id, account_id: personId, email } of people) {
    const member = present.get(personId);
    const role = roleByUser.get(user_id) as TeamRole | undefined;
    if (member?.isHolder === true || member?.teamRole === role) continue;
    const entry = { accountId: by.accountId, subject: accountId };
    if (role === undefined) {
      const keys = await endMembership(db, { accountId, personId, revokeKeysAt });
      await recordAudit(scope, { ...entry, action: "team.remove", detail: { email, keys_revoked: keys > 0 } }, now);
    } else if (member === undefined) {
      await db.insertInto("memberships").values({ account_id: accountId, user_id, role, joined_at: now }).execute();
      await recordAudit(scope, { ...entry, action: "team.add", detail: { email, role } }, now);
    } else {
      const ofPerson = db.updateTable("memberships").set({ role }).where("account_id", "=", accountId);
      await ofPerson.where("user_id", "=", user_id).execute();
      if (role === "member") await endInvitationsBy(db, { accountId, personId });
      await recordAudit(scope, { ...entry, action: "team.role", detail: { email, role } }, now);
    }
  }
  const after = await listPeople({ db }, accountId);
  const isLed = (list: typeof after) => list.some(({ teamRole, isDisabled }) => teamRole === "admin" && !isDisabled);
  if (isLed(before) && !isLed(after)) {
    const message = `The team ${accountId} would be without an admin; make somebody else an admin first`;
    throw new GatewayError("conflict", message);
  }
  if (after.length > peopleMax && after.length > before.length) {
    throw new GatewayError("conflict", `The team ${accountId} would have more than ${peopleMax} people, its limit`);
  }
}

function record(
  scope: OpenTransaction,
  by: Administrator,
  what: "create" | "change" | "delete",
  { id, account_id: account, group_name: group, role, leavers_keys }: StoredGroupRole,
  now: number,
): Promise<void> {
  const detail = { account, group, role, leavers_keys };
  return recordAudit(scope, { accountId: by.accountId, action: `group_role.${what}`, subject: id, detail }, now);
}

function invalid(param: string, fault: string): GatewayError {
  return new GatewayError("invalid_request", `${param}: ${fault}`, { param });
}
