import { createAudited, identityProvider } from "../../audit/index.ts";
import { GatewayError } from "../../contract/index.ts";
import type { Role, Store } from "../../db/index.ts";
import { accountActions, roles } from "../../tenants/index.ts";

/** How the identity provider decides roles. */
export interface RoleClaim {
  /** `groups`, or `realm_access.roles` for a claim within another. */
  readonly claim: string;
  /** `value=role` each. */
  readonly pairs: readonly string[];
}

/** The role with the most rights that a claim's values map to; `member` if they map to no role. */
export function toRole({ pairs }: RoleClaim, value: unknown): Role {
  const values = Array.isArray(value) ? value : [value];
  return (
    roles.find((role) => values.some((one) => typeof one === "string" && pairs.includes(`${one}=${role}`))) ?? "member"
  );
}

/** Gives a user the role reported by the identity provider, except that the last owner remains an owner. */
export async function changeRoleAtSignIn(
  store: Store,
  { userId, role }: { userId: string; role: Role },
  now: number,
): Promise<void> {
  const user = await store.db
    .selectFrom("users")
    .select(["account_id", "role"])
    .where("id", "=", userId)
    .executeTakeFirst();
  if (user === undefined || user.role === role) return;
  const { changeAccount } = accountActions(
    createAudited(store, () => now),
    () => now,
  );
  try {
    await changeAccount(identityProvider, user.account_id, { role });
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== "conflict") throw error;
  }
}
