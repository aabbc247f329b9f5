import type { Administrator, Audited } from "../audit/index.ts";
import { type Account, createAccount, enableAccount, setQuota } from "./accounts.ts";
import { type AccountChanges, changeAccount } from "./change-account.ts";
import { invite } from "./invitations.ts";
import { type Ended, type LeaversKeys, leave } from "./leave.ts";
import { lockManaged, lockOwners } from "./roles.ts";

/** The actions of administrators; each writes an audit entry with who did it (`by`). */
export function accountActions(audited: Audited, now: () => number) {
  return {
    createAccount: (by: Administrator, fields: { email: string; name?: string | undefined }): Promise<Account> =>
      audited(
        (scope) => createAccount(scope, fields, now()),
        ({ id, email }) => ({ accountId: by.accountId, action: "account.create", subject: id, detail: { email } }),
      ),
    invite: (by: Administrator, accountId: string) =>
      audited(
        async (scope) => {
          await scope.change((db) => lockManaged(db, by, accountId));
          return await invite(scope, { accountId, by: by.accountId }, now());
        },
        () => ({ accountId: by.accountId, action: "account.invite", subject: accountId, detail: {} }),
      ),
    /** Sets the daily free quota of an account; `undefined` restores the configured one. */
    setQuota: (by: Administrator, accountId: string, tokens: number | undefined) =>
      audited(
        (scope) => setQuota(scope, accountId, tokens),
        () => ({
          accountId: by.accountId,
          action: "account.quota",
          subject: accountId,
          detail: { tokens: tokens ?? null },
        }),
      ),
    /**
     * Disables an account with its keys and its user, as {@link leave} does, or enables it again. Nobody disables their
     * own. Returns what ended.
     */
    setDisabled: (by: Administrator, accountId: string, disabled: boolean, keys: LeaversKeys = "keep") =>
      audited(
        async (scope): Promise<Ended | undefined> => {
          if (disabled) return await scope.change((db) => leave(db, { actor: by, accountId, keys }, now()));
          return await scope.change(async (db) => {
            await lockOwners(db);
            await lockManaged(db, by, accountId);
            await enableAccount(db, accountId);
            return undefined;
          });
        },
        (ended) => ({
          accountId: by.accountId,
          action: "account.disabled",
          subject: accountId,
          detail: { disabled, ...toEndedDetail(ended) },
        }),
      ),
    /** Changes name, e-mail or role; an entry is written only when something is different afterwards. */
    changeAccount: (by: Administrator, accountId: string, changes: AccountChanges) =>
      audited(
        (scope) => changeAccount(scope, { actor: by, accountId, changes }, now()),
        (detail) => {
          const entry = { accountId: by.accountId, action: "account.change", subject: accountId, detail };
          return Object.keys(detail).length === 0 ? undefined : entry;
        },
      ),
    /** Ends the sessions of an account's user, and returns how many there were. */
    endSessions: (by: Administrator, accountId: string) =>
      audited(
        async (scope) => {
          await scope.change((db) => lockManaged(db, by, accountId));
          const users = scope.db.selectFrom("users").select("id").where("account_id", "=", accountId);
          const ended = await scope.db.deleteFrom("sessions").where("user_id", "in", users).executeTakeFirstOrThrow();
          return Number(ended.numDeletedRows);
        },
        (sessions) => ({
          accountId: by.accountId,
          action: "account.sign_out",
          subject: accountId,
          detail: { sessions },
        }),
      ),
  };
}

/** The counts that are not 0, for the audit log. */
export function toEndedDetail(ended: Ended | undefined): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(ended ?? {}).filter(([, count]) => count > 0));
}
