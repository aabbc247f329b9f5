import type { Store } from "../db/index.ts";
import { recordAudit } from "./record-audit.ts";
import { beginInChosenAccount } from "./teams/switch-account.ts";

/** Begins a session in the account that its user chose last, and writes the sign-ins of those who may see more than their own account; members sign in too often to keep them all. */
export function recordSignIns({ store, now }: { readonly store: Store; readonly now: () => number }) {
  return async ({ id, userId }: { id: string; userId: string }, context: { path?: string } | null): Promise<void> => {
    // It replaces the session of the user who is signed in already.
    if (context?.path === "/change-password") return;
    await beginInChosenAccount(store, { id, userId });
    const user = await store.db
      .selectFrom("users")
      .select(["account_id", "role"])
      .where("id", "=", userId)
      .executeTakeFirst();
    if (user === undefined || user.role === "member") return;
    const entry = { accountId: user.account_id, action: "user.sign_in", subject: user.account_id, detail: {} };
    await recordAudit(store, entry, now());
  };
}
