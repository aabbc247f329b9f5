/**
 * Limits that accounts have by the role of their holder. Each limit of an account is its own, else the one of its role, else the
 * configured one; the look-up of a key decides that, so that a change is in force with the next call.
 */

import { type Administrator, recordAudit } from "../audit/index.ts";
import { GatewayError, isAmount } from "../contract/index.ts";
import { type AccountRole, isRoleOf, type RoleLimitsTable, type Store, type TransactionScope } from "../db/index.ts";
import { roles } from "./roles.ts";

/** Roles that have limits. `none` is that of accounts to which nobody signs in: teams, and accounts of programs. */
export const accountRoles = [...roles, "none"] as const satisfies readonly AccountRole[];

/** Limits of a role; absent: the configured one. */
export interface RoleLimits {
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerMinute: number | undefined;
  readonly concurrentCalls: number | undefined;
  /** The daily free quota, in tokens. */
  readonly freeTokensPerDay: number | undefined;
}

/** Changes of the limits of a role; absent ones stay, and `null` gives back the configured one. */
export type RoleLimitChanges = { readonly [Name in keyof RoleLimits]?: RoleLimits[Name] | null };

/** The column of each limit, and the least that it may be. */
const columns = {
  requestsPerMinute: ["requests_per_minute", 1],
  tokensPerMinute: ["tokens_per_minute", 1],
  concurrentCalls: ["concurrent_calls", 1],
  freeTokensPerDay: ["free_tokens_per_day", 0],
} as const satisfies Record<keyof RoleLimits, readonly [keyof RoleLimitsTable, number]>;

/** The limits of all roles, from the one with the most rights on. */
export async function listRoleLimits({
  db,
}: Pick<Store, "db">): Promise<({ readonly role: AccountRole } & RoleLimits)[]> {
  const rows = new Map((await db.selectFrom("role_limits").selectAll().execute()).map((row) => [row.role, row]));
  return accountRoles.map((role) => ({ role, ...toRoleLimits(rows.get(role)) }));
}

/** The limits that an account has by its role, where it has none of its own. */
export async function readRoleLimits({ db }: Pick<Store, "db">, accountId: string): Promise<RoleLimits> {
  const row = await db
    .selectFrom("accounts")
    .leftJoin("users", "users.account_id", "accounts.id")
    .innerJoin("role_limits", (join) => join.on(isRoleOf("users")))
    .selectAll("role_limits")
    .where("accounts.id", "=", accountId)
    .executeTakeFirst();
  return toRoleLimits(row);
}

/** @throws {GatewayError} `invalid_request`; `forbidden` for the limits of owners, which owners alone change. */
export function checkRoleLimits(
  { role: actorRole }: Administrator,
  role: AccountRole,
  changes: RoleLimitChanges,
): void {
  if (role === "owner" && actorRole !== "owner") {
    throw new GatewayError("forbidden", "These are the limits of owners; only owners may change them");
  }
  for (const [name, [column, least]] of Object.entries(columns)) {
    const limit = changes[name as keyof RoleLimits];
    if (limit == null || (isAmount(limit) && limit >= least)) continue;
    const message = `${column}: is ${limit}, expected a whole number from ${least} to 2^53 - 1`;
    throw new GatewayError("invalid_request", message, { param: column });
  }
}

/** Changes the limits of all accounts of a role that have none of their own. @throws {GatewayError} as {@link checkRoleLimits} */
export async function changeRoleLimits(
  store: TransactionScope,
  { by, role, changes }: { readonly by: Administrator; readonly role: AccountRole; readonly changes: RoleLimitChanges },
  now: number,
): Promise<RoleLimits> {
  checkRoleLimits(by, role, changes);
  const changed = Object.fromEntries(
    Object.entries(columns).flatMap(([name, [column]]) => {
      const limit = changes[name as keyof RoleLimits];
      return limit === undefined ? [] : [[column, limit]];
    }),
  );
  return await store.change(async (db) => {
    const row = await db
      .insertInto("role_limits")
      .values({ ...emptyRow, ...changed, role })
      .onConflict((conflict) => conflict.column("role").doUpdateSet({ role, ...changed }))
      .returningAll()
      .executeTakeFirstOrThrow();
    const entry = { accountId: by.accountId, action: "role_limit.set", subject: role, detail: changed };
    await recordAudit({ db }, entry, now);
    return toRoleLimits(row);
  });
}

const emptyRow = {
  requests_per_minute: null,
  tokens_per_minute: null,
  concurrent_calls: null,
  free_tokens_per_day: null,
};

function toRoleLimits(row: RoleLimitsTable | undefined): RoleLimits {
  return {
    requestsPerMinute: row?.requests_per_minute ?? undefined,
    tokensPerMinute: row?.tokens_per_minute ?? undefined,
    concurrentCalls: row?.concurrent_calls ?? undefined,
    freeTokensPerDay: row?.free_tokens_per_day ?? undefined,
  };
}
