import type { Transaction } from "kysely";
import { recordAudit } from "../audit/index.ts";
import { formatUsd } from "../contract/index.ts";
import type { Database, Store, TeamRole } from "../db/index.ts";
import { type OwnBudget, setOwnBudget } from "./account-budget.ts";
import { expectKnownHolder, findAccount, parseEmail } from "./accounts.ts";
import { createTeam, renameTeam } from "./create-team.ts";
import { lockAccount } from "./lock-account.ts";
import { lockTeam, removePerson, setTeamRole, type TeamAdministrator } from "./people.ts";
import { createTeamInvitation, deleteTeamInvitation, type NewTeamInvitation } from "./team-invitations.ts";

interface TeamEntry {
  readonly by: string;
  readonly action: string;
  readonly accountId: string;
  readonly detail?: Record<string, string | boolean | null>;
}

/** Wraps a change so that it writes its audit entry, if there is one, in its transaction. */
function audit(now: () => number) {
  return <Result>(
    work: (db: Transaction<Database>) => Promise<Result>,
    toEntry: (result: Result) => TeamEntry | undefined,
  ) =>
    async (db: Transaction<Database>): Promise<Result> => {
      const result = await work(db);
      const entry = toEntry(result);
      if (entry === undefined) return result;
      const { by, action, accountId, detail = {} } = entry;
      await recordAudit({ db }, { accountId: by, action: `team.${action}`, subject: accountId, detail }, now());
      return result;
    };
}

/** Makes a change of a team and writes its audit entry, if there is one, in the same transaction. */
type WriteTeam = <Result>(
  work: (db: Transaction<Database>) => Promise<Result>,
  toEntry: (result: Result) => TeamEntry | undefined,
) => Promise<Result>;

/** Writes data that no cached key depends on, unlike writes by `store.change`. */
export function teamWriter(store: Pick<Store, "db">, now: () => number): WriteTeam {
  return (...change) => store.db.transaction().execute(audit(now)(...change));
}

/** Changes of teams, each with its audit entry in the same transaction. */
export function teamActions(store: Store, now: () => number) {
  const audited = audit(now);
  const write = teamWriter(store, now);
  return {
    invite: (by: TeamAdministrator, fields: Omit<NewTeamInvitation, "by">) =>
      write(
        async (db) => {
          await lockTeam(db, by, fields.accountId);
          if (by.isOperator && fields.email !== undefined) await expectReachable(db, fields.email);
          return await createTeamInvitation(db, { ...fields, by: by.accountId }, now());
        },
        () => {
          const { accountId, role, email = null } = fields;
          return { by: by.accountId, action: "invite", accountId, detail: { role, email } };
        },
      ),
    deleteInvitation: (by: TeamAdministrator, accountId: string, id: string) =>
      write(
        async (db) => {
          await lockTeam(db, by, accountId);
          await deleteTeamInvitation(db, accountId, id);
        },
        () => ({ by: by.accountId, action: "invitation_delete", accountId }),
      ),
    setRole: (
      by: TeamAdministrator,
      { accountId, ...person }: { accountId: string; personId: string; role: TeamRole },
    ) =>
      write(
        async (db) => {
          await lockTeam(db, by, accountId);
          return await setTeamRole(db, { accountId, ...person });
        },
        ({ email }) => ({ by: by.accountId, action: "role", accountId, detail: { email, role: person.role } }),
      ),
    /** Removes a person from a team; everybody may remove themselves. */
    remove: (by: TeamAdministrator, person: { accountId: string; personId: string; revokesKeys: boolean }) => {
      const { accountId, personId, revokesKeys } = person;
      const remove = audited(
        async (db) => {
          if (personId === by.accountId && !by.isOperator) await lockAccount(db, accountId);
          else await lockTeam(db, by, accountId);
          const revokeKeysAt = revokesKeys ? now() : undefined;
          return await removePerson(db, { accountId, personId, revokeKeysAt, actor: by });
        },
        ({ email }) => ({
          by: by.accountId,
          action: "remove",
          accountId,
          detail: { email, keys_revoked: revokesKeys },
        }),
      );
      // Programs that the person has signed in to the account end with the membership.
      return store.change(remove);
    },
    rename: (by: TeamAdministrator, accountId: string, name: string) =>
      write(
        async (db) => {
          await lockTeam(db, by, accountId);
          return await renameTeam(db, { accountId, name });
        },
        ({ name, before }) => ({
          by: by.accountId,
          action: "rename",
          accountId,
          detail: { name, name_before: before },
        }),
      ),
    /** Sets the budget of the account, or removes it. */
    setBudget: (by: TeamAdministrator, accountId: string, budget: OwnBudget | undefined) => {
      const set = audited(
        async (db) => {
          await lockTeam(db, by, accountId);
          await setOwnBudget(db, { accountId }, budget, now());
        },
        () => {
          const detail = { usd: budget ? formatUsd(budget.limitNanodollars) : null, period: budget?.period ?? null };
          return { by: by.accountId, action: "budget", accountId, detail };
        },
      );
      return store.change(set);
    },
    /** Creates a team of a person. */
    create: (by: TeamAdministrator, name: string) =>
      write(
        (db) => createTeam(db, { founder: by.accountId, name }, now()),
        ({ accountId, name }) => ({ by: by.accountId, action: "create", accountId, detail: { name } }),
      ),
  };
}

/**
 * Checks that the holder of an e-mail can take an invitation, which they cannot if a stranger has signed up with it.
 * Admins of teams get no such error, because they may not learn which e-mails have an account.
 *
 * @throws {GatewayError} `conflict`
 */
async function expectReachable(db: Transaction<Database>, email: string): Promise<void> {
  const account = await findAccount({ db }, parseEmail(email));
  if (account !== undefined) expectKnownHolder(account, { isPerson: true });
}
