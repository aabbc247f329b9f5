/**
 * Limits of accounts by the role of their holder. An account's own limit comes first, then the limit of its role, then
 * the configured limit. The look-up of a key decides that, so a change takes effect with the next call.
 */

import { Type } from "@sinclair/typebox";
import { type Administrator, recordAudit } from "../audit/index.ts";
import { GatewayError, isAmount, optional, quoteValue } from "../contract/index.ts";
import { type AccountRole, isRoleOf, type RoleLimitsTable, type Store, type TransactionScope } from "../db/index.ts";
import { type ColumnsOf, defineFields, emptyColumns } from "../lib/fields.ts";
import { limitFields } from "./limit-fields.ts";
import { roles } from "./roles.ts";

/** Roles that have limits. `none` is for accounts that no user signs in to: teams, and accounts of programs. */
export const accountRoles = [...roles, "none"] as const satisfies readonly AccountRole[];

const Role = Type.Union(
  accountRoles.map((role) => Type.Literal(role)),
  { description: "The role of the holder of an account; `none`: the account has no user, such as a team" },
);

/** The fields that can be changed; `null` is the configured limit. */
const boundFields = defineFields<RoleLimitsTable>()({
  ...limitFields,
  free_tokens_per_day: {
    schema: optional(
      Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: "The daily free quota in tokens" }),
    ),
    column: "free_tokens_per_day",
    changes: true,
    form: { label: "Free tokens per day" },
  },
});
export const roleLimitFields = defineFields<RoleLimitsTable>()({
  role: {
    schema: Role,
    column: "role",
    form: { choices: { admin: "Administrator", none: "Teams and programs" } },
  },
  ...boundFields,
});

/** Limits of a role; `null`: the configured one. */
export type RoleLimits = ColumnsOf<RoleLimitsTable, typeof boundFields>;
/** Limits of a role, with the role's name as their id. */
export type StoredRoleLimits = RoleLimitsTable & { readonly id: AccountRole };

const configured = emptyColumns(boundFields);

/** The limits of all roles, starting with the role that has the most rights. */
export async function listRoleLimits({ db }: Pick<Store, "db">): Promise<StoredRoleLimits[]> {
  const rows = new Map((await db.selectFrom("role_limits").selectAll().execute()).map((row) => [row.role, row]));
  return accountRoles.map((role) => ({ id: role, ...configured, role, ...rows.get(role) }));
}

/** @throws {GatewayError} `not_found` */
export async function readRoleLimitsOf(store: Pick<Store, "db">, role: string): Promise<StoredRoleLimits> {
  const limits = (await listRoleLimits(store)).find(({ id }) => id === role);
  if (limits !== undefined) return limits;
  throw new GatewayError("not_found", `Unknown role ${quoteValue(role)}, expected one of ${accountRoles.join(", ")}`);
}

/** The limits of an account's role, which apply where the account sets no limit itself. */
export async function readRoleLimits({ db }: Pick<Store, "db">, accountId: string): Promise<RoleLimits> {
  const row = await db
    .selectFrom("accounts")
    .leftJoin("users", "users.account_id", "accounts.id")
    .innerJoin("role_limits", (join) => join.on(isRoleOf("users")))
    .selectAll("role_limits")
    .where("accounts.id", "=", accountId)
    .executeTakeFirst();
  return row ?? configured;
}

/** @throws {GatewayError} `invalid_request`; `forbidden` for the limits of owners, which owners alone change. */
export function checkRoleLimits(
  { role: actorRole }: Administrator,
  role: AccountRole,
  changes: Partial<RoleLimits>,
): void {
  if (role === "owner" && actorRole !== "owner") {
    throw new GatewayError("forbidden", "These are the limits of owners; only owners may change them");
  }
  for (const { column } of Object.values(boundFields)) {
    const [limit, least] = [changes[column] ?? undefined, column === "free_tokens_per_day" ? 0 : 1];
    if (limit === undefined || (isAmount(limit) && limit >= least)) continue;
    const message = `${column}: is ${limit}, expected a whole number from ${least} to 2^53 - 1`;
    throw new GatewayError("invalid_request", message, { param: column });
  }
}

/**
 * Changes the limits of a role, for all its accounts that set no limits. @throws {GatewayError} as
 * {@link checkRoleLimits}
 */
export async function changeRoleLimits(
  store: TransactionScope,
  { by, role, changes }: { readonly by: Administrator; readonly role: string; readonly changes: Partial<RoleLimits> },
  now: number,
): Promise<StoredRoleLimits> {
  const { id } = await readRoleLimitsOf(store, role);
  checkRoleLimits(by, id, changes);
  return await store.change(async (db) => {
    const row = await db
      .insertInto("role_limits")
      .values({ ...configured, ...changes, role: id })
      .onConflict((conflict) => conflict.column("role").doUpdateSet({ role: id, ...changes }))
      .returningAll()
      .executeTakeFirstOrThrow();
    const entry = { accountId: by.accountId, action: "role_limit.set", subject: id, detail: changes };
    await recordAudit({ db }, entry, now);
    return { id, ...row };
  });
}
